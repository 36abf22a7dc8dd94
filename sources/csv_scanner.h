// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "sources/bytes/delimited_scanner.h"

namespace dovetail::detail {

/// Finds the newlines that end CSV rows. A quoted field may contain newlines. A quote counts only at
/// the beginning of a field.
class CsvEnds {
 public:
  static constexpr char kRecord[] = "row";
  static constexpr char kAdvice[] = "; a quote that does not end?";

  explicit CsvEnds(char delimiter) : delimiter_(static_cast<std::byte>(delimiter)) {}

  void begin() noexcept { row_line_ = newlines_ + 1; }
  std::size_t find(ByteView piece) noexcept;
  /// Errors: `malformed_input` if the input ends in a quoted field.
  Result<void> check_last(std::uint64_t number) const;
  /// Number of the line on which the row begins, from 1.
  std::uint64_t row_line() const noexcept { return row_line_; }

 private:
  enum class Place : std::uint8_t { field_begin, plain, quoted, quote };

  std::byte delimiter_;
  Place place_ = Place::field_begin;  // at the end of the pieces so far
  std::uint64_t newlines_ = 0;        // newlines so far, including those in quotes
  std::uint64_t row_line_ = 1;
};

/// Cuts the rows of a CSV file.
class CsvScanner : public DelimitedScanner<CsvEnds> {
 public:
  CsvScanner(char delimiter, std::uint32_t max_row_bytes) : DelimitedScanner(max_row_bytes, CsvEnds(delimiter)) {}
  std::uint64_t row_line() const noexcept { return ends().row_line(); }
};

}  // namespace dovetail::detail
