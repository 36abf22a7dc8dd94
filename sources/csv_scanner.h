// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Cuts a stream of CSV (RFC 4180), given piece by piece, at the newlines outside quotes. A quote
/// counts only at the beginning of a field. Has the calls of `LineScanner`; rows are returned
/// without their line end.
///
/// Errors: without file and offset: `record_too_large`, after which the next call continues behind
///         that row (never holds more than the limit); `malformed_input` if the input ends in a
///         quoted field.
class CsvScanner {
 public:
  CsvScanner(char delimiter, std::uint32_t max_row_bytes)
      : delimiter_(static_cast<std::byte>(delimiter)), max_row_bytes_(max_row_bytes) {}

  void feed(ByteView piece) noexcept { piece_ = piece; }
  Result<std::optional<ByteView>> next();
  Result<std::optional<ByteView>> finish();
  std::uint64_t records() const noexcept { return rows_; }
  std::uint64_t record_offset() const noexcept { return row_offset_; }
  /// Number of the line on which that row begins, from 1.
  std::uint64_t row_line() const noexcept { return row_line_; }
  bool goes_on() const noexcept { return goes_on_; }

 private:
  enum class Place : std::uint8_t { field_begin, plain, quoted, quote };

  bool find_end(std::size_t& at) noexcept;
  bool leave_row() noexcept;
  bool fits(ByteView part) const noexcept { return part.size() <= max_row_bytes_ - held_.size(); }
  Error too_long();
  ByteView give(ByteView row) noexcept;

  std::byte delimiter_;
  std::uint32_t max_row_bytes_;
  ByteView piece_;
  Place place_ = Place::field_begin;  // place after `held_`
  std::vector<std::byte> held_;       // the beginning of an incomplete row
  bool given_ = false;                // `held_` is lent to the caller until the next call
  bool leaving_ = false;              // skipping the rest of a row that was too long
  bool goes_on_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t newlines_ = 0;  // newlines so far, including those in quotes
  std::uint64_t row_line_ = 1;
  std::uint64_t row_offset_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace dovetail::detail
