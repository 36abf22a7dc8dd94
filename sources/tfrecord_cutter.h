// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "format/tfrecord/tfrecord.h"
#include "format/try.h"

namespace dovetail::detail {

/// `format::TfrecordScanner` with the calls that `ScannedFile` needs.
class TfrecordCutter {
 public:
  explicit TfrecordCutter(std::uint32_t max_record_bytes) : scanner_(max_record_bytes) {}
  void feed(ByteView piece) noexcept { scanner_.feed(piece); }
  Result<std::optional<ByteView>> next() {
    if (scanner_.can_skip()) scanner_.skip_record();
    return scanner_.next();
  }
  Result<std::optional<ByteView>> finish() {
    DOVETAIL_TRY(scanner_.finish());
    return std::nullopt;
  }
  std::uint64_t records() const noexcept { return scanner_.records(); }
  std::uint64_t record_offset() const noexcept { return scanner_.record_offset(); }
  bool goes_on() const noexcept { return scanner_.can_skip(); }

 private:
  format::TfrecordScanner scanner_;
};

}  // namespace dovetail::detail
