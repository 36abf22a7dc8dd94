// SPDX-License-Identifier: Apache-2.0
#include "convert/csv_records.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "convert/csv_layout.h"
#include "convert/csv_scanner.h"
#include "convert/detect.h"
#include "convert/example_builder.h"
#include "convert/names.h"
#include "convert/scanned_file.h"
#include "format/count_of.h"

namespace dovetail::detail {

namespace {

// As many rows say what type a column has, or as many as there are in so many bytes.
constexpr std::uint64_t kGuessRows = 1000;
constexpr std::uint64_t kGuessBytes = std::uint64_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The rows of one file that are not blank, in fields.
class CsvRows {
 public:
  static Result<CsvRows> open(SourceFile file, Compression compression, const SourceOptions& options) {
    CsvRows rows;
    rows.path_ = file.path();
    rows.delimiter_ = options.csv.delimiter;
    if (rows.delimiter_ == 0) rows.delimiter_ = has_tsv_name(rows.path_) ? '\t' : ',';
    auto records = open_scanned(std::move(file), compression, CsvScanner(rows.delimiter_, options.max_record_bytes));
    if (!records) return records.error();
    rows.records_ = std::move(*records);
    return rows;
  }

  /// False at the end.
  Result<bool> next() {
    bad_row_ = false;
    for (;;) {
      auto row = records_->next();
      if (!row) {
        bad_row_ = records_->goes_on();
        row_ = {};
        return row.error();
      }
      if (!*row) return false;
      row_ = as_chars(**row);
      if (std::exchange(first_, false) && row_.starts_with(kByteOrderMark)) row_.remove_prefix(kByteOrderMark.size());
      if (!row_.empty()) break;
      ++ignored_;
    }
    if (auto parsed = fields_.parse(row_, delimiter_, kept_); !parsed) return fault(parsed.error());
    return true;
  }

  /// A failure of the present row, by which the next one is not hit.
  Error fault(const Error& error) {
    bad_row_ = true;
    return Error(error.code(), "line " + std::to_string(records_->scanner().row_line()) + ": " + error.detail())
        .at(path_, records_->place().offset);
  }
  Error fault(const std::string& reason) { return fault(Error(Errc::malformed_input, reason)); }

  const std::string& path() const noexcept { return path_; }
  std::string_view row() const noexcept { return row_; }
  /// No more than are to be kept.
  const std::vector<std::string_view>& fields() const noexcept { return fields_.kept(); }
  /// Fields of the row.
  std::uint64_t count() const noexcept { return fields_.count(); }
  void keep(std::size_t fields) noexcept { kept_ = fields; }
  RecordPlace place() const { return records_->place(); }
  bool goes_on() const noexcept { return bad_row_; }
  std::uint64_t ignored() const noexcept { return ignored_; }

 private:
  std::string path_;
  char delimiter_ = ',';
  std::unique_ptr<ScannedFile<CsvScanner>> records_;
  CsvFields fields_;
  std::size_t kept_ = kMaxColumns;
  std::string_view row_;
  std::uint64_t ignored_ = 0;
  bool first_ = true;
  bool bad_row_ = false;
};

/// What the files of a source share.
struct CsvShape {
  CsvLayout layout;
  bool header = true;
  bool raw = false;
  ExampleBuilder builder{0};
};

class CsvRecords final : public FileRecords {
 public:
  CsvRecords(CsvRows rows, CsvShape& shape) : rows_(std::move(rows)), shape_(shape) {}

  Result<std::optional<ByteView>> next() override {
    if (std::exchange(at_header_, false) && shape_.header) {
      auto header = check_header();
      if (!header) return header.error();
      if (!*header) return std::nullopt;
    }
    auto more = rows_.next();
    if (!more) return more.error();
    if (!*more) return std::nullopt;
    const CsvLayout& layout = shape_.layout;
    if (rows_.count() != layout.columns()) {
      return rows_.fault("the row has " + format::count_of(rows_.count(), "field") + " for " +
                         format::count_of(layout.columns(), "column"));
    }
    if (shape_.raw) return as_bytes(rows_.row());
    shape_.builder.begin();
    for (std::size_t i = 0; i < layout.columns(); ++i) {
      if (!add(i, rows_.fields()[i])) {
        return rows_.fault(layout.name_of(i) + ": \"" + std::string(rows_.fields()[i].substr(0, 40)) +
                           "\" is not of type " + std::string(to_string(layout.types[i])));
      }
    }
    auto example = shape_.builder.finish();
    if (!example) return rows_.fault(example.error());
    return *example;
  }

  RecordPlace place() const override { return rows_.place(); }
  bool goes_on() const override { return header_is_good_ && rows_.goes_on(); }
  std::uint64_t ignored() const override { return rows_.ignored(); }

 private:
  Result<bool> check_header() {
    header_is_good_ = false;
    auto more = rows_.next();
    if (!more) return more.error();
    const auto& names = shape_.layout.names;
    if (*more && (rows_.count() != names.size() ||
                  !std::equal(names.begin(), names.end(), rows_.fields().begin(), rows_.fields().end()))) {
      return rows_.fault("the columns are not those of the first file");
    }
    header_is_good_ = true;
    return *more;
  }

  // An empty field is a value of bytes, and none of a number.
  bool add(std::size_t column, std::string_view field) {
    const std::string& name = shape_.layout.names[column];
    switch (shape_.layout.types[column]) {
      case ColumnType::bytes:
        shape_.builder.add_bytes(name, as_bytes(field));
        return true;
      case ColumnType::int64: {
        const auto value = parse_int(field);
        if (value) shape_.builder.add_int(name, *value);
        if (field.empty()) shape_.builder.add_ints(name, {});
        return value || field.empty();
      }
      case ColumnType::real: {
        const auto value = parse_real(field);
        if (value) shape_.builder.add_float(name, *value);
        if (field.empty()) shape_.builder.add_floats(name, {});
        return value || field.empty();
      }
    }
    return false;
  }

  CsvRows rows_;
  CsvShape& shape_;
  bool at_header_ = true;
  bool header_is_good_ = true;
};

class CsvOpener final : public FileOpener {
 public:
  CsvOpener(CsvShape shape, const SourceOptions& options) : shape_(std::move(shape)), options_(options) {}
  Result<std::unique_ptr<FileRecords>> open(std::size_t /*file*/, SourceFile bytes, Compression compression) override {
    auto rows = CsvRows::open(std::move(bytes), compression, options_);
    if (!rows) return rows.error();
    rows->keep(shape_.layout.columns());
    return std::unique_ptr<FileRecords>(std::make_unique<CsvRecords>(std::move(*rows), shape_));
  }
  bool makes_examples() const override { return !shape_.raw; }
  std::vector<CsvColumn> columns() const override {
    std::vector<CsvColumn> columns;
    for (std::size_t i = 0; i < shape_.layout.columns(); ++i) {
      columns.push_back({shape_.layout.names[i], shape_.layout.types[i]});
    }
    return columns;
  }

 private:
  CsvShape shape_;
  const SourceOptions& options_;
};

// A single column with another usual delimiter in it is most likely several that were taken for one.
std::optional<char> other_delimiter(const std::vector<std::string_view>& fields, char taken) {
  if (fields.size() != 1) return std::nullopt;
  for (const char delimiter : {';', '\t', ',', '|'}) {
    if (delimiter == taken) continue;  // in quotes: it separates nothing
    if (fields.front().find(delimiter) != std::string_view::npos) return delimiter;
  }
  return std::nullopt;
}

Error doubtful_delimiter(char other, char taken) {
  const auto word = [](char delimiter) { return delimiter == '\t' ? "tab" : '\'' + std::string(1, delimiter) + '\''; };
  return Error(Errc::invalid_option,
               "there is only one column by the delimiter that its name suggests, and it holds a " + word(other) +
                   "; say --csv-delimiter " + word(other) + " if that separates the columns, or --csv-delimiter " +
                   word(taken) + " if there is only one");
}

// Rows that cannot be read say nothing about types: they are told where they are read as records.
Result<CsvLayout> find_layout(const SourceListing& listing, const SourceOptions& options) {
  auto file = SourceFile::open(listing.path_of(0));
  if (!file) return file.error();
  auto kind = detect_file(*file, SourceFormat::csv);
  if (!kind) return kind.error();
  auto rows = CsvRows::open(std::move(*file), kind->compression, options);
  if (!rows) return rows.error();
  auto more = rows->next();
  if (!more) return more.error();
  CsvLayout layout;
  if (!*more) return layout;
  if (rows->count() > kMaxColumns) {
    return rows->fault("the row has " + std::to_string(rows->count()) + " columns; the limit is " +
                       std::to_string(kMaxColumns));
  }
  if (options.csv.delimiter == 0) {
    const char taken = has_tsv_name(rows->path()) ? '\t' : ',';
    if (const auto other = other_delimiter(rows->fields(), taken))
      return rows->fault(doubtful_delimiter(*other, taken));
  }
  layout.names.reserve(rows->fields().size());
  for (std::size_t i = 0; i < rows->fields().size(); ++i) {
    layout.names.push_back(options.csv.header ? std::string(rows->fields()[i]) : "c" + std::to_string(i));
  }
  if (auto checked = check_names(layout.names); !checked) return rows->fault(checked.error());
  std::vector<ColumnGuess> guesses(layout.columns());
  rows->keep(layout.columns());
  const auto look = [&guesses, &rows] {
    if (rows->count() != guesses.size()) return;
    for (std::size_t i = 0; i < guesses.size(); ++i) guesses[i].look_at(rows->fields()[i]);
  };
  if (!options.csv.header) look();
  std::uint64_t bytes = 0;
  for (std::uint64_t row = 0; row < kGuessRows && bytes < kGuessBytes; ++row) {
    more = rows->next();
    // Behind a row that is too long the file is read for this only where it is read at all.
    if (!more && (!rows->goes_on() || (options.on_error == OnError::fail && more.error().is(Errc::record_too_large)))) {
      break;
    }
    if (more && !*more) break;
    bytes += rows->row().size();
    if (more) look();
  }
  for (const ColumnGuess& guess : guesses) layout.types.push_back(guess.type());
  return layout;
}

}  // namespace

Result<std::unique_ptr<FileOpener>> make_csv_opener(const SourceListing& listing, const SourceOptions& options) {
  const char delimiter = options.csv.delimiter;
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || static_cast<signed char>(delimiter) < 0) {
    return Error(Errc::invalid_option, "the delimiter of CSV is one ASCII character, no quote and no newline");
  }
  auto layout = find_layout(listing, options);
  if (!layout) return layout.error();
  for (const auto& [name, type] : options.csv.types) {
    const auto found = std::find(layout->names.begin(), layout->names.end(), name);
    if (found == layout->names.end()) {
      return Error(Errc::invalid_option, "there is no column \"" + name + "\", whose type is given")
          .in_file(listing.path_of(0));
    }
    layout->types[static_cast<std::size_t>(found - layout->names.begin())] = type;
  }
  CsvShape shape{std::move(*layout), options.csv.header, options.records == RecordForm::raw,
                 ExampleBuilder(options.max_record_bytes)};
  return std::unique_ptr<FileOpener>(std::make_unique<CsvOpener>(std::move(shape), options));
}

}  // namespace dovetail::detail
