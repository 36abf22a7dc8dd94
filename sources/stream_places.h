// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Where in the file the bytes of a decoded stream lie, for a reader that looks at a stream by its own offsets and runs
/// ahead of what it has given out.
/// Cost: one entry per piece between the two ends.
class StreamPlaces {
 public:
  /// The piece that follows in the stream. Its bytes are not kept.
  void add(const StreamPiece& piece) {
    pieces_.push_back({decoded_end_, piece});
    decoded_end_ += piece.bytes.size();
  }
  /// Drops what lies before.
  void forget_before(std::uint64_t decoded_offset) {
    while (pieces_.size() > 1 && pieces_[1].decoded_begin <= decoded_offset) pieces_.pop_front();
  }
  /// Needs: not before what was dropped.
  RecordPlace at(std::uint64_t decoded_offset) const {
    std::size_t i = pieces_.size();
    while (i-- > 0) {
      const Entry& entry = pieces_[i];
      if (entry.decoded_begin <= decoded_offset) return place_in(entry.piece, decoded_offset - entry.decoded_begin);
    }
    return {};
  }
  std::uint64_t decoded_end() const noexcept { return decoded_end_; }

 private:
  struct Entry {
    std::uint64_t decoded_begin = 0;
    StreamPiece piece;
  };
  std::deque<Entry> pieces_;
  std::uint64_t decoded_end_ = 0;
};

}  // namespace dovetail::detail
