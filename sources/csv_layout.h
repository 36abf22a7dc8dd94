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
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// What is kept of a column takes some hundred times the memory of its comma: so many stay far below what reading a source may
/// take, which SECURITY.md says.
constexpr std::size_t kMaxColumns = std::size_t{1} << 16;

/// Bytes of a name, or of a value, in messages.
constexpr std::size_t kShownName = 40;

/// A name as messages have it, which is cut where it is longer.
std::string quoted_name(std::string_view name);

/// The fields of one row, their quotes taken away. Ownership: keeps copies where there were quotes, borrows the rest.
class CsvFields {
 public:
  /// Keeps the first `most` fields, and checks and counts the others.
  /// Errors: `malformed_input` without file and offset, for what follows a closing quote and for what is not UTF-8.
  Result<void> parse(std::string_view row, char delimiter, std::size_t most = kMaxColumns);
  const std::vector<std::string_view>& kept() const noexcept { return fields_; }
  /// Of the row.
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

/// Whether a text is a decimal number that fits, without zeros or a plus sign in front.
std::optional<std::int64_t> parse_int(std::string_view text) noexcept;
/// A decimal number, perhaps with a point and an exponent, or inf or nan, as the nearest float. Nothing where none is
/// near.
std::optional<float> parse_real(std::string_view text) noexcept;

/// Whether it says that a number is missing.
bool is_missing(std::string_view field, const CsvOptions& options) noexcept;

/// What the values of a column say about its type: all whole numbers, all numbers, or anything else.
class ColumnGuess {
 public:
  void look_at(std::string_view value) noexcept;
  bool any() const noexcept { return any_; }
  /// Of `bytes`, whatever comes.
  bool settled() const noexcept { return any_ && type() == ColumnType::bytes; }
  /// Whether it holds whole numbers of which one is no float.
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
  bool exact_ = true;  // all whole numbers as floats
};

/// The columns of CSV files.
struct CsvLayout {
  std::string file;  ///< The first that has them.
  std::vector<CsvColumn> columns;

  /// "column 3, \"name\"".
  std::string name_of(std::size_t column) const;
};

/// Errors: `malformed_input` without file and offset, for a name that is empty or comes twice.
Result<void> check_names(const std::vector<CsvColumn>& columns);

/// Whether other columns have the same names in the same order.
/// Errors: `malformed_input` without file and offset, naming the file of the layout, and what differs.
Result<void> check_same_names(const CsvLayout& layout, const std::vector<CsvColumn>& columns);

/// Gives the layout types that hold the values of both, and takes the columns where it has none yet.
/// Errors: as `check_same_names`.
Result<void> join(CsvLayout& layout, const std::string& file, const std::vector<CsvColumn>& columns);

}  // namespace dovetail::detail
