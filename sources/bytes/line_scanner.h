// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Cuts a stream of bytes, given piece by piece, at newlines. Its calls are those of `format::TfrecordScanner`, and
/// `goes_on()`: whether `next()` can be asked again after it failed.
///
/// Ownership: borrows the piece that was fed; copies only lines that span pieces. A line that was given is valid until
///            the next call.
/// Errors:    `record_too_large`, without file and offset. The next call goes on behind that line, of which no more than
///            the limit is ever held.
class LineScanner {
 public:
  explicit LineScanner(std::uint32_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  /// Gives the bytes that follow. Needs: `next()` has asked for them by returning nothing.
  void feed(ByteView piece) noexcept { piece_ = piece; }
  /// The next line without its newline, or nothing where no newline is left in what was fed.
  Result<std::optional<ByteView>> next();
  /// To be asked once no bytes are left to feed: the last line, where it has no newline.
  Result<std::optional<ByteView>> finish();

  /// Lines given so far, and those that were too long.
  std::uint64_t records() const noexcept { return lines_; }
  bool goes_on() const noexcept { return true; }
  /// Offset in the stream of the line that was last asked for; while the rest of a line is left out, of what follows.
  std::uint64_t record_offset() const noexcept { return line_offset_; }

 private:
  bool fits(ByteView part) const noexcept { return part.size() <= max_line_bytes_ - held_.size(); }
  bool leave_line() noexcept;
  Error too_long() const;

  std::uint32_t max_line_bytes_;
  ByteView piece_;
  std::vector<std::byte> held_;  // the beginning of a line whose end is yet to come
  bool given_ = false;           // what is held belongs to the caller until the next call
  bool leaving_ = false;         // what comes is the rest of a line that was too long
  std::uint64_t lines_ = 0;
  std::uint64_t line_offset_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace dovetail::detail
