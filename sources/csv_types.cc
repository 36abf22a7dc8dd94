// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_types.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "format/text/utf8.h"
#include "format/try.h"
#include "sources/detect.h"

namespace dovetail::detail {

namespace {

/// The guesses for columns without a given type.
class ColumnGuesses {
 public:
  ColumnGuesses(std::vector<std::size_t> open, const CsvOptions& options) : open_(std::move(open)), options_(options) {
    guesses_.resize(open_.empty() ? 0 : open_.back() + 1);
  }
  void look_at(const CsvRows& rows) {
    std::erase_if(open_, [&](std::size_t column) {
      const std::string_view field = rows.field(column);
      ColumnGuess& guess = guesses_[column];
      const bool numbers = guess.any();
      guess.look_at(is_missing(field, options_) ? std::string_view() : field);
      if (numbers && guess.settled()) reasons_[column] = reason_for_bytes(field, rows);
      return guess.settled();
    });
  }
  /// Returns whether further rows cannot change the types.
  bool settled() const noexcept { return open_.empty(); }
  const ColumnGuess& of(std::size_t column) const { return guesses_[column]; }
  /// See `CsvColumn::reason`.
  std::string take_reason(std::size_t column) {
    const auto found = reasons_.find(column);
    return found == reasons_.end() ? std::string() : std::move(found->second);
  }

 private:
  static std::string reason_for_bytes(std::string_view field, const CsvRows& rows) {
    const std::string text =
        '"' + format::shortened(field, kShownName) + "\" in line " + std::to_string(rows.line()) + " of " + rows.path();
    // A number makes the column bytes only beside fractions.
    return parse_real(field) ? text + " (a float would round whole numbers of the column)" : text;
  }

  std::vector<std::size_t> open_;  // ascending
  const CsvOptions& options_;
  std::vector<ColumnGuess> guesses_;
  std::map<std::size_t, std::string> reasons_;
};

// Limit of the bytes of names in a message.
constexpr std::size_t kNamesShown = 200;

// A single column that contains another usual delimiter is most likely several columns.
std::optional<char> other_delimiter(const std::vector<std::string_view>& fields, char taken) {
  if (fields.size() != 1) return std::nullopt;
  for (const char delimiter : {';', '\t', ',', '|'}) {
    if (delimiter == taken) continue;  // it can only occur in quotes
    if (fields.front().find(delimiter) != std::string_view::npos) return delimiter;
  }
  return std::nullopt;
}

Error doubtful_delimiter(char other, char taken) {
  const auto word = [](char delimiter) { return delimiter == '\t' ? "tab" : '\'' + std::string(1, delimiter) + '\''; };
  return Error(Errc::invalid_option,
               "with the delimiter that its name suggests there is only one column, and its name contains a " +
                   word(other) + "; give --csv-delimiter " + word(other) +
                   " if that separates the columns, or --csv-delimiter " + word(taken) + " if there is only one");
}

// A first row of numbers is most likely data. As a header it would be lost.
bool has_numbers_only(const std::vector<std::string_view>& fields, const CsvOptions& options) {
  const auto is_number = [](std::string_view field) { return parse_real(field).has_value(); };
  const auto has_digit = [&](std::string_view field) {  // "inf" and "nan" alone may name columns
    return is_number(field) && field.find_first_of("0123456789") != std::string_view::npos;
  };
  const auto fits = [&](std::string_view field) { return is_missing(field, options) || is_number(field); };
  return std::any_of(fields.begin(), fields.end(), has_digit) && std::all_of(fields.begin(), fields.end(), fits);
}

Error doubtful_header() {
  return Error(Errc::invalid_option,
               "the first row has only numbers, but would name the columns; say that there is no header "
               "(--csv-no-header) if it is data, give the type of a column (--csv-type) if these are names, or read it "
               "as lines (--from lines)");
}

/// Walks over the files of a source.
class LayoutFinder {
 public:
  LayoutFinder(const SourceListing& listing, const SourceOptions& options) : listing_(listing), options_(options) {}

  Result<CsvLayout> run() {
    for (std::size_t i = 0; i != listing_.files.size() && !ended_; ++i) {
      auto looked = look_into(i);
      if (looked) continue;
      const ErrorKind kind = looked.error().kind();
      if (!skips() || kind == ErrorKind::cancelled || kind == ErrorKind::usage) return looked.error();
      if (!passed_over_) passed_over_ = looked.error();
    }
    if (!layout_ && passed_over_) return *passed_over_;
    if (!layout_) return CsvLayout{};
    for (const std::size_t column : untyped_) {
      const ColumnGuess& guess = guesses_->of(column);
      layout_->columns[column].type = guess.type();
      layout_->columns[column].empty = !guess.any();
      layout_->columns[column].inexact = guess.inexact();
      layout_->columns[column].missing = guess.missing();
      layout_->columns[column].negative = guess.negative();
      layout_->columns[column].reason = guesses_->take_reason(column);
    }
    return std::move(*layout_);
  }

 private:
  bool skips() const noexcept { return options_.on_error == OnError::skip; }
  // Raw rows have no types.
  bool raw() const noexcept { return options_.records == RecordForm::raw; }

  Result<void> look_into(std::size_t number) {
    DOVETAIL_ASSIGN(auto rows, open(number));
    DOVETAIL_ASSIGN(auto more, first_row(rows));
    if (!more) return {};
    if (!layout_) {
      DOVETAIL_TRY(take(rows, columns_of(rows, options_.csv.header)));
      rows.keep(layout_->columns.size());
    }
    if (!options_.csv.header) guesses_->look_at(rows);
    return look_through(rows);
  }

  // Without a header, the first row is a row like all others. If it is bad, it is skipped here, and
  // reported when it is read as a record.
  Result<bool> first_row(CsvRows& rows) {
    for (;;) {
      auto more = rows.next();
      if (more && *more) {
        if (auto checked = check_first(rows); !checked) more = checked.error();
      }
      if (more || options_.csv.header || !skips() || !rows.goes_on()) return more;
      if (!passed_over_) passed_over_ = more.error();
    }
  }

  Result<void> check_first(CsvRows& rows) const {
    if (rows.count() > kMaxColumns) {
      return rows.fault("the row has " + std::to_string(rows.count()) + " columns; the limit is " +
                        std::to_string(kMaxColumns));
    }
    if (!layout_) return {};
    auto places = places_of(*layout_, columns_of(rows, options_.csv.header), raw());
    if (!places) return rows.fault(places.error());
    rows.arrange(std::move(*places));
    return {};
  }

  Result<CsvRows> open(std::size_t number) const {
    DOVETAIL_ASSIGN(auto file, SourceFile::open(listing_.path_of(number)));
    file.watch(options_.cancelled);
    DOVETAIL_ASSIGN(auto kind, detect_file(file, SourceFormat::csv));
    return CsvRows::open(std::move(file), kind.compression, options_);
  }

  // Takes the columns of the first file.
  Result<void> take(CsvRows& rows, std::vector<CsvColumn> columns) {
    if (options_.csv.delimiter == 0) {
      if (const auto other = other_delimiter(rows.fields(), rows.delimiter()))
        return rows.fault(doubtful_delimiter(*other, rows.delimiter()));
    }
    if (options_.csv.header && options_.csv.types.empty() && has_numbers_only(rows.fields(), options_.csv)) {
      return rows.fault(doubtful_header());
    }
    if (auto checked = check_names(columns); !checked) return rows.fault(checked.error());
    std::size_t given = 0;
    for (std::size_t i = 0; i != columns.size(); ++i) {
      const auto type = options_.csv.types.find(columns[i].name);
      if (type == options_.csv.types.end()) {
        if (!raw()) untyped_.push_back(i);
      } else {
        columns[i].type = type->second;
        columns[i].missing = true;
        ++given;
      }
    }
    layout_ = {rows.path(), std::move(columns)};
    guesses_.emplace(untyped_, options_.csv);
    ended_ = given == layout_->columns.size();
    if (given == options_.csv.types.size()) return {};
    return unknown_column().in_file(rows.path());
  }

  Error unknown_column() const {
    const auto& known = layout_->columns;
    const auto unknown = std::find_if(options_.csv.types.begin(), options_.csv.types.end(), [&](const auto& type) {
      return std::none_of(known.begin(), known.end(),
                          [&](const CsvColumn& column) { return column.name == type.first; });
    });
    std::string names;
    for (const CsvColumn& column : known) {
      if (names.size() > kNamesShown) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + quoted_name(column.name);
    }
    return Error(Errc::invalid_option, "no column is named " + quoted_name(unknown->first) +
                                           ", for which a type is given; the columns are " + names);
  }

  // Reads to the end of the file, as long as further rows can change the types.
  Result<void> look_through(CsvRows& rows) {
    while (!guesses_->settled()) {
      auto more = rows.next();
      if (!more && more.error().kind() == ErrorKind::cancelled) return more.error();
      if (!more) {
        ended_ = !skips();  // reading records ends there, too
        if (ended_ || !rows.goes_on()) return {};
        continue;
      }
      if (!*more) return {};
      if (rows.count() == layout_->columns.size()) guesses_->look_at(rows);
    }
    return {};
  }

  const SourceListing& listing_;
  const SourceOptions& options_;
  std::optional<CsvLayout> layout_;
  std::vector<std::size_t> untyped_;
  std::optional<ColumnGuesses> guesses_;
  std::optional<Error> passed_over_;  // the first error
  bool ended_ = false;
};

}  // namespace

std::vector<CsvColumn> columns_of(const CsvRows& first_row, bool header) {
  std::vector<CsvColumn> columns;
  columns.reserve(first_row.fields().size());
  for (std::size_t i = 0; i != first_row.fields().size(); ++i) {
    columns.push_back({header ? std::string(first_row.fields()[i]) : "c" + std::to_string(i)});
  }
  return columns;
}

Result<CsvLayout> find_csv_layout(const SourceListing& listing, const SourceOptions& options) {
  return LayoutFinder(listing, options).run();
}

}  // namespace dovetail::detail
