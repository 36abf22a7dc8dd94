// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Cuts a stream of CSV (RFC 4180), given piece by piece, at the newlines that are not in quotes. A quote counts at the
/// beginning of a field only. Its calls are those of `LineScanner`; a row is given without what ends it.
///
/// Errors: `record_too_large`, `malformed_input` where the input ends in a quoted field; without file and offset. Final.
class CsvScanner {
 public:
  CsvScanner(char delimiter, std::uint32_t max_row_bytes)
      : delimiter_(static_cast<std::byte>(delimiter)), max_row_bytes_(max_row_bytes) {}

  void feed(ByteView piece) noexcept { piece_ = piece; }
  Result<std::optional<ByteView>> next();
  Result<std::optional<ByteView>> finish();
  std::uint64_t records() const noexcept { return rows_; }
  std::uint64_t record_offset() const noexcept { return row_offset_; }
  bool goes_on() const noexcept { return false; }

 private:
  enum class Place : std::uint8_t { field_begin, plain, quoted, quote };

  bool find_end(std::size_t& at) noexcept;
  Result<void> hold(ByteView part);
  ByteView give(ByteView row) noexcept;

  std::byte delimiter_;
  std::uint32_t max_row_bytes_;
  ByteView piece_;
  Place place_ = Place::field_begin;  // behind what is held
  std::vector<std::byte> held_;       // the beginning of a row whose end is yet to come
  bool given_ = false;                // what is held belongs to the caller until the next call
  std::uint64_t rows_ = 0;
  std::uint64_t row_offset_ = 0;
  std::uint64_t next_offset_ = 0;
};

}  // namespace dovetail::detail
