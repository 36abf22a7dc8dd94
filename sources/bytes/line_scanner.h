// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Cuts a stream of bytes, given piece by piece, at newlines, which may be those of Windows. Has
/// the calls of `format::TfrecordScanner`, and `goes_on()`: whether `next()` can be called again
/// after it failed.
///
/// Ownership: borrows the current piece; copies only lines that span pieces. A returned line is
///            valid until the next call.
/// Errors:    `record_too_large`, without file and offset. The next call continues after that line.
///            Never holds more than the limit of a line and one byte.
class LineScanner {
 public:
  explicit LineScanner(std::uint32_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  /// Passes the next bytes. Needs: `next()` has returned nothing.
  void feed(ByteView piece) noexcept { piece_ = piece; }
  /// The next line without its `\n` or `\r\n`, or nothing if the bytes so far have no more
  /// newlines.
  Result<std::optional<ByteView>> next();
  /// Call it when no bytes are left: returns the last line, if it has no newline, without a `\r` at
  /// its end.
  Result<std::optional<ByteView>> finish();

  /// Lines so far, including those that were too long.
  std::uint64_t records() const noexcept { return lines_; }
  bool goes_on() const noexcept { return true; }
  /// Offset in the stream of the line that was requested last; while the rest of a line is skipped,
  /// of the bytes after it.
  std::uint64_t record_offset() const noexcept { return line_offset_; }

 private:
  bool fits(ByteView part) const noexcept;
  bool leave_line() noexcept;
  /// Counts a line that is too long, and drops it.
  Error refuse();

  std::uint32_t max_line_bytes_;
  ByteView piece_;
  std::vector<std::byte> held_;  // the beginning of an incomplete line
  bool given_ = false;           // `held_` is lent to the caller until the next call
  bool leaving_ = false;         // skipping the rest of a line that was too long
  std::uint64_t lines_ = 0;
  std::uint64_t line_offset_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace dovetail::detail
