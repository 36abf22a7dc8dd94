// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/schema.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// The state of a column takes some hundred times the memory of its comma. This limit stays far
/// below the memory limit for sources in SECURITY.md.
constexpr std::size_t kMaxColumns = std::size_t{1} << 16;

/// Bytes of a name or value shown in messages.
constexpr std::size_t kShownName = 40;

/// A name for messages, cut if it is longer.
std::string quoted_name(std::string_view name);

/// The fields of one row, without quotes. Ownership: copies fields that had quotes, borrows the
/// rest.
class CsvFields {
 public:
  /// Keeps the first `most` fields, and checks and counts the others.
  /// Errors: `malformed_input` without file and offset, for text after a closing quote and for
  ///         bytes that are not UTF-8.
  Result<void> parse(std::string_view row, char delimiter, std::size_t most = kMaxColumns);
  const std::vector<std::string_view>& kept() const noexcept { return fields_; }
  /// Number of fields of the row.
  std::uint64_t count() const noexcept { return count_; }

 private:
  void add(std::string_view field, std::size_t most) {
    if (count_++ < most) fields_.push_back(field);
  }
  std::size_t take_quoted(std::string_view row, std::size_t begin, std::string_view& field);

  std::vector<std::string_view> fields_;
  std::string unquoted_;
  std::uint64_t count_ = 0;
};

/// Parses a decimal number that fits, without leading zeros or a plus sign.
std::optional<std::int64_t> parse_int(std::string_view text) noexcept;
/// Parses a decimal number, perhaps with a point and an exponent, or inf or nan, to the nearest
/// float. Empty if it is out of range.
std::optional<float> parse_real(std::string_view text) noexcept;

/// Whether the value means a missing number.
bool is_missing(std::string_view field, const CsvOptions& options) noexcept;

/// The type that the values of a column imply: all whole numbers, all numbers, or anything else.
class ColumnGuess {
 public:
  void look_at(std::string_view value) noexcept;
  bool any() const noexcept { return any_; }
  /// Whether the type is `bytes`, and further values cannot change it.
  bool settled() const noexcept { return any_ && type() == ColumnType::bytes; }
  /// Whether it has whole numbers that a float would round.
  bool inexact() const noexcept { return ints_ && !exact_; }
  bool missing() const noexcept { return missing_; }
  bool negative() const noexcept { return negative_; }
  ColumnType type() const noexcept;

 private:
  bool any_ = false;
  bool missing_ = false;
  bool negative_ = false;
  bool ints_ = true;
  bool reals_ = true;
  bool exact_ = true;  // floats hold all whole numbers exactly
};

/// The columns of CSV files.
struct CsvLayout {
  std::string file;  ///< The first file that has them.
  std::vector<CsvColumn> columns;
};

/// Errors: `malformed_input` without file and offset, for an empty or duplicate name.
Result<void> check_names(const std::vector<CsvColumn>& columns);

/// Returns where each column of the layout is among other columns, by name. Raw rows have no names,
/// so their columns must also have the same order.
/// Errors: `malformed_input` without file and offset, naming the file of the layout and the
///         difference.
Result<std::vector<std::size_t>> places_of(const CsvLayout& layout, const std::vector<CsvColumn>& columns, bool raw);

/// Widens the types of the layout to hold the values of both; takes the columns if it has none yet.
/// Errors: as `places_of`.
Result<void> join(CsvLayout& layout, const std::string& file, const std::vector<CsvColumn>& columns, bool raw);

/// The schema of Examples with these columns. Missing real numbers become NaN; missing whole ones -1,
/// or 0 if some are negative. Empty if a schema cannot express it.
std::optional<Schema> schema_of(const std::vector<CsvColumn>& columns);

}  // namespace dovetail::detail
