// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "sources/file_records.h"

namespace dovetail::detail {

/// Maps offsets in a decoded stream to places in the file, for a reader that runs ahead of the
/// records that it has returned.
/// Cost: one entry per piece between the two ends.
class StreamPlaces {
 public:
  /// Adds the next piece of the stream. Does not keep its bytes.
  void add(const StreamPiece& piece) {
    pieces_.push_back({decoded_end_, piece});
    decoded_end_ += piece.bytes.size();
  }
  /// Drops pieces before the offset.
  void forget_before(std::uint64_t decoded_offset) {
    while (pieces_.size() > 1 && pieces_[1].decoded_begin <= decoded_offset) pieces_.pop_front();
  }
  /// Needs: an offset that was not dropped.
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
