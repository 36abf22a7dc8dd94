// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "format/text/utf8.h"
#include "format/try.h"

namespace dovetail::detail {

/// What `find` of the ends returns for a piece without one.
inline constexpr std::size_t kNoEnd = SIZE_MAX;

/// Cuts records that end with a newline out of a stream of bytes that arrives in pieces. A UTF-8
/// byte order mark before the first one is no part of it. Does no I/O. Has the calls of
/// `format::TfrecordScanner`, and `goes_on()`: whether `next()` can be called again after it failed.
///
/// `Ends` finds the newlines that end records: `find(piece)` continues from the pieces before,
/// `begin()` is called where a record begins, `check_last(number)` where the input ends in a record.
/// `kRecord` and `kAdvice` are for the error of a record that is too long.
///
/// Ownership: borrows the current piece; copies only records that span pieces. A returned record is
///            valid until the next call.
/// Errors:    without file and offset: those of `check_last`; `record_too_large`, after which the
///            next call continues behind that record. Never holds more than the limit of a record and one
///            byte.
template <class Ends>
class DelimitedScanner {
 public:
  explicit DelimitedScanner(std::uint32_t max_record_bytes, Ends ends = {})
      : ends_(std::move(ends)), max_record_bytes_(max_record_bytes) {}

  /// Passes the next bytes. Needs: `next()` has returned nothing.
  void feed(ByteView piece) noexcept { piece_ = piece; }

  /// The next record without its `\n` or `\r\n`, or nothing if the bytes so far have no more ends.
  Result<std::optional<ByteView>> next() {
    goes_on_ = false;
    if (std::exchange(given_, false)) held_.clear();
    const bool left = leave_record();
    record_offset_ = next_offset_;
    if (!left) return std::nullopt;
    if (held_.empty()) ends_.begin();
    const std::size_t end = ends_.find(piece_);
    if (end == kNoEnd) {
      const ByteView part = std::exchange(piece_, {});
      if (fits(part)) {
        held_.insert(held_.end(), part.begin(), part.end());
        return std::nullopt;
      }
      next_offset_ += held_.size() + part.size();
      leaving_ = true;
      return too_long();
    }
    ByteView record = piece_.first(end);
    piece_ = piece_.subspan(end + 1);
    next_offset_ += held_.size() + record.size() + 1;
    if (!fits(record)) return too_long();
    if (!held_.empty()) {
      held_.insert(held_.end(), record.begin(), record.end());
      record = held_;
      given_ = true;
    }
    return give(record);
  }

  /// Call it when no bytes are left: returns the last record, if it has no newline, without a `\r`
  /// at its end.
  Result<std::optional<ByteView>> finish() {
    record_offset_ = next_offset_;
    if (given_ || held_.empty()) return std::nullopt;  // also if the rest of a record was skipped
    DOVETAIL_TRY(ends_.check_last(records_ + 1));
    next_offset_ += held_.size();
    given_ = true;
    return give(held_);
  }

  /// Records so far, including those that were too long.
  std::uint64_t records() const noexcept { return records_; }
  bool goes_on() const noexcept { return goes_on_; }
  /// Offset in the stream of the record that was requested last; while the rest of a record is
  /// skipped, of the bytes after it.
  std::uint64_t record_offset() const noexcept { return record_offset_; }
  const Ends& ends() const noexcept { return ends_; }

 private:
  // A record may be one byte longer than the limit while its `\r` is not cut off.
  bool fits(ByteView part) const noexcept { return part.size() <= std::size_t{max_record_bytes_} + 1 - held_.size(); }

  // Skips the rest of a record that was too long. Returns whether the record has ended in the
  // current piece.
  bool leave_record() noexcept {
    if (!leaving_) return true;
    const std::size_t end = ends_.find(piece_);
    leaving_ = end == kNoEnd;
    const std::size_t left = leaving_ ? piece_.size() : end + 1;
    piece_ = piece_.subspan(left);
    next_offset_ += left;
    return !leaving_;
  }

  Error too_long() {
    held_.clear();
    goes_on_ = true;
    return Error(Errc::record_too_large, std::string(Ends::kRecord) + ' ' + std::to_string(++records_) +
                                             " is longer than " + std::to_string(max_record_bytes_) + " bytes" +
                                             Ends::kAdvice);
  }

  Result<std::optional<ByteView>> give(ByteView record) {
    if (records_ == 0) record = as_bytes(format::without_byte_order_mark(as_chars(record)));
    if (!record.empty() && record.back() == std::byte{'\r'}) record = record.first(record.size() - 1);
    if (record.size() > max_record_bytes_) return too_long();
    ++records_;
    return record;
  }

  Ends ends_;
  std::uint32_t max_record_bytes_;
  ByteView piece_;
  std::vector<std::byte> held_;  // the beginning of an incomplete record
  bool given_ = false;           // `held_` is lent to the caller until the next call
  bool leaving_ = false;         // skipping the rest of a record that was too long
  bool goes_on_ = false;
  std::uint64_t records_ = 0;
  std::uint64_t record_offset_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace dovetail::detail
