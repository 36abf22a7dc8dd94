// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

// Number of column names shown in a message.
constexpr std::size_t kShownNames = 3;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Numbers are not written with a zero before another digit. Such a text is a code, and would lose
// its zeros as a number.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}

bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::vector<std::string_view> sorted_names(const std::vector<CsvColumn>& columns) {
  std::vector<std::string_view> names;
  names.reserve(columns.size());
  for (const CsvColumn& column : columns) names.push_back(column.name);
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the first few names that only `these` have, and the number of further ones.
std::string names_only_in(const std::vector<CsvColumn>& these, const std::vector<CsvColumn>& others) {
  const std::vector<std::string_view> known = sorted_names(others);
  std::string text;
  std::size_t found = 0;
  for (const CsvColumn& column : these) {
    if (std::binary_search(known.begin(), known.end(), std::string_view(column.name))) continue;
    if (found++ < kShownNames) text += (text.empty() ? "" : ", ") + quoted_name(column.name);
  }
  if (found > kShownNames) text += " and " + std::to_string(found - kShownNames) + " more";
  return text;
}

bool is_exact_as_float(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = value < 0 ? 0 - bits : bits;
  return static_cast<int>(std::bit_width(magnitude)) - std::countr_zero(magnitude) <=
         std::numeric_limits<float>::digits;
}

// Returns the type that holds both columns. A whole number becomes a real number if a float holds
// it exactly. All else becomes bytes.
ColumnType wider(const CsvColumn& a, const CsvColumn& b) {
  if (a.type == b.type) return a.type;
  const bool bytes = a.type == ColumnType::bytes || b.type == ColumnType::bytes || a.inexact || b.inexact;
  return bytes ? ColumnType::bytes : ColumnType::real;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  return '"' + format::shortened(name, kShownName) + '"';
}

Result<void> CsvFields::parse(std::string_view row, char delimiter, std::size_t most) {
  fields_.clear();
  unquoted_.clear();
  count_ = 0;
  const auto malformed = [this](const char* what) {
    return Error(Errc::malformed_input, "column " + std::to_string(count_ + 1) + what);
  };
  for (std::size_t at = 0;; ++at) {
    std::string_view field;
    if (at < row.size() && row[at] == '"') {
      at = take_quoted(row, at + 1, field);
      if (at > row.size()) return malformed(": a quoted field does not end");
      if (at < row.size() && row[at] != delimiter) return malformed(": text follows the closing quote");
    } else {
      const std::size_t end = std::min(row.find(delimiter, at), row.size());
      field = row.substr(at, end - at);
      at = end;
    }
    if (!format::is_utf8(field)) return malformed(" is not UTF-8");
    add(field, most);
    if (at == row.size()) return {};
  }
}

// Returns the end of the field, behind its closing quote, or a position beyond the row if there is
// no quote.
std::size_t CsvFields::take_quoted(std::string_view row, std::size_t begin, std::string_view& field) {
  unquoted_.reserve(row.size());  // views into `unquoted_` must stay valid
  const std::size_t out = unquoted_.size();
  for (std::size_t at = begin;;) {
    const std::size_t quote = row.find('"', at);
    if (quote == std::string_view::npos) return row.size() + 1;
    unquoted_.append(row.substr(at, quote - at));
    at = quote + 1;
    if (at == row.size() || row[at] != '"') {
      field = std::string_view(unquoted_).substr(out);
      return at;
    }
    unquoted_ += '"';
    ++at;
  }
}

std::optional<std::int64_t> parse_int(std::string_view text) noexcept {
  return has_leading_zero(text) ? std::nullopt : format::parse_number<std::int64_t>(text);
}

std::optional<float> parse_real(std::string_view text) noexcept {
  const auto value = format::parse_number<double>(text);
  if (!value || has_leading_zero(text)) return std::nullopt;
  const auto nearest = static_cast<float>(*value);
  if (std::isinf(nearest) && !std::isinf(*value)) return std::nullopt;
  return nearest;
}

bool is_missing(std::string_view field, const CsvOptions& options) noexcept {
  return field.empty() || std::find(options.nulls.begin(), options.nulls.end(), field) != options.nulls.end();
}

void ColumnGuess::look_at(std::string_view value) noexcept {
  missing_ = missing_ || value.empty();
  if (value.empty()) return;
  any_ = true;
  const auto whole = parse_int(value);
  ints_ = ints_ && whole.has_value();
  negative_ = negative_ || value.front() == '-';
  exact_ = exact_ && (!whole || is_exact_as_float(*whole));
  // A whole number too large for int64 would lose most of its digits as a float.
  reals_ = reals_ && (whole.has_value() || (!is_whole(value) && parse_real(value).has_value()));
}

ColumnType ColumnGuess::type() const noexcept {
  if (!any_ || !reals_) return ColumnType::bytes;
  if (ints_) return ColumnType::int64;
  return exact_ ? ColumnType::real : ColumnType::bytes;
}

Result<void> check_names(const std::vector<CsvColumn>& columns) {
  const std::vector<std::string_view> sorted = sorted_names(columns);
  if (!sorted.empty() && sorted.front().empty())
    return Error(Errc::malformed_input,
                 "a column has no name; write one into the first line, such as with sed '1s/^,/index,/'");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return Error(Errc::malformed_input, "two columns are named " + quoted_name(*twice));
}

Result<std::vector<std::size_t>> places_of(const CsvLayout& layout, const std::vector<CsvColumn>& columns, bool raw) {
  const auto& known = layout.columns;
  const auto differ = [&layout](const std::string& how) {
    return Error(Errc::malformed_input, "the columns are not those of " + layout.file + ": " + how);
  };
  const std::string lacks = names_only_in(known, columns);
  const std::string has = names_only_in(columns, known);
  std::string how = lacks.empty() ? "" : "it lacks " + lacks;
  if (!has.empty()) how += (how.empty() ? "it also has " : ", and has ") + has;
  if (!how.empty()) return differ(how);
  DOVETAIL_TRY(check_names(columns));
  std::unordered_map<std::string_view, std::size_t> found;
  for (std::size_t i = 0; i != columns.size(); ++i) found.emplace(columns[i].name, i);
  std::vector<std::size_t> places;
  places.reserve(known.size());
  for (std::size_t i = 0; i != known.size(); ++i) {
    places.push_back(found.at(known[i].name));
    if (raw && places.back() != i) {
      return differ("column " + std::to_string(i + 1) + " is " + quoted_name(columns[i].name) + ", but " +
                    quoted_name(known[i].name) + " there; raw rows need one order");
    }
  }
  return places;
}

Result<void> join(CsvLayout& layout, const std::string& file, const std::vector<CsvColumn>& columns, bool raw) {
  if (columns.empty()) return {};
  if (layout.columns.empty()) {
    layout = {file, columns};
    return {};
  }
  DOVETAIL_ASSIGN(const auto places, places_of(layout, columns, raw));
  for (std::size_t i = 0; i != places.size(); ++i) {
    CsvColumn& column = layout.columns[i];
    const CsvColumn& other = columns[places[i]];
    column.missing = column.missing || other.missing;
    column.negative = column.negative || other.negative;
    if (other.empty) continue;
    const ColumnType both = column.empty ? other.type : wider(column, other);
    if (both == ColumnType::bytes && (column.empty || column.type != ColumnType::bytes)) {
      column.reason = other.reason;
      if (!column.empty && column.reason.empty()) column.reason = "the values in " + file;
    }
    column.type = both;
    column.inexact = column.inexact || other.inexact;
    column.empty = false;
  }
  return {};
}

std::optional<Schema> schema_of(const std::vector<CsvColumn>& columns) {
  Schema schema;
  for (const CsvColumn& column : columns) {
    const bool real = column.type == ColumnType::real;
    const Dtype number = real ? Dtype::f32 : Dtype::i64;
    schema.columns.push_back({.name = column.name, .dtype = column.type == ColumnType::bytes ? Dtype::bytes : number});
    if (real) schema.columns.back().fallback = "nan";
    if (column.type == ColumnType::int64 && column.missing) {
      schema.columns.back().fallback = column.negative ? "0" : "-1";  // as in inferred schemas
    }
  }
  if (!validate(schema)) return std::nullopt;
  return schema;
}

}  // namespace dovetail::detail
