// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/text/visible.h"
#include "format/try.h"
#include "sources/changed_number.h"
#include "sources/csv_layout.h"
#include "sources/csv_rows.h"
#include "sources/csv_types.h"
#include "sources/example_builder.h"
#include "sources/number_columns.h"
#include "sources/openers.h"

namespace dovetail::detail {

namespace {

/// The state that all files of a source share.
struct CsvShape {
  CsvLayout layout;
  CsvOptions options;
  bool raw = false;
  ExampleBuilder builder{0};
};

class CsvRecords final : public FileRecords {
 public:
  CsvRecords(CsvRows rows, CsvShape& shape) : rows_(std::move(rows)), shape_(shape) {}

  Result<std::optional<ByteView>> next() override {
    if (std::exchange(at_header_, false) && shape_.options.header) {
      DOVETAIL_ASSIGN(auto header, check_header());
      if (!header) return std::nullopt;
    }
    DOVETAIL_ASSIGN(auto more, rows_.next());
    if (!more) return std::nullopt;
    const std::vector<CsvColumn>& columns = shape_.layout.columns;
    if (rows_.count() != columns.size()) {
      return rows_.fault("the row has " + format::count_of(rows_.count(), "field") + " for " +
                         format::count_of(columns.size(), "column"));
    }
    if (shape_.raw) return as_bytes(rows_.row());
    shape_.builder.begin();
    changed_.clear();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!add(columns[i], rows_.field(i))) return rows_.fault(wrong_type(i, rows_.field(i)));
    }
    auto example = shape_.builder.finish();
    if (!example) return rows_.fault(example.error());
    return *example;
  }

  Result<void> skip_to(std::uint64_t consumed) override {
    return at_header_ ? Result<void>() : rows_.skip_to(consumed);
  }
  bool jumps_over_damage() const override { return true; }

  RecordPlace place() const override { return rows_.place(); }
  std::uint64_t line() const override { return rows_.line(); }
  std::string changed_number() const override { return changed_.to_text(); }
  bool goes_on() const override { return header_is_good_ && rows_.goes_on(); }
  std::uint64_t ignored() const override { return rows_.ignored(); }

 private:
  Result<bool> check_header() {
    header_is_good_ = false;
    auto more = rows_.next();
    if (!more) return more.error();
    if (*more) {
      auto places = places_of(shape_.layout, columns_of(rows_, true), shape_.raw);
      if (!places) return rows_.fault(places.error());
      rows_.arrange(std::move(*places));
    }
    header_is_good_ = true;
    return *more;
  }

  // A field that marks a missing number: a value in a column of bytes, no value in a column of
  // numbers.
  bool add(const CsvColumn& column, std::string_view field) {
    const bool missing = column.type != ColumnType::bytes && is_missing(field, shape_.options);
    switch (column.type) {
      case ColumnType::bytes:
        shape_.builder.add_bytes(column.name, as_bytes(field));
        return true;
      case ColumnType::int64: {
        const auto value = missing ? std::nullopt : parse_int(field);
        if (value) shape_.builder.add_int(column.name, *value);
        if (missing) shape_.builder.add_ints(column.name, {});
        return value || missing;
      }
      case ColumnType::real: {
        const auto value = missing ? std::nullopt : parse_real(field);
        if (value) add_real(column.name, field, *value);
        if (missing) shape_.builder.add_floats(column.name, {});
        return value || missing;
      }
    }
    return false;
  }

  void add_real(const std::string& name, std::string_view field, float value) {
    shape_.builder.add_float(name, value);
    if (std::isfinite(value)) changed_.look_at(name, format::parse_number<double>(field).value_or(value));
  }

  std::string wrong_type(std::size_t number, std::string_view field) const {
    const CsvColumn& column = shape_.layout.columns[number];
    const ColumnType holds_it = parse_real(field) ? ColumnType::real : ColumnType::bytes;
    std::string what = "column " + std::to_string(rows_.place_of(number) + 1) + ", " + quoted_name(column.name) + ": " +
                       quoted_name(field) + " is not of type " + std::string(to_string(column.type));
    if (column.name.size() > kShownName) return what;
    what += "; give --csv-type " + column.name + '=' + std::string(to_string(holds_it)) + " to accept it";
    if (holds_it == ColumnType::real || field.size() > kShownName) return what;
    return what + ", or --csv-null " + format::visible(field) + " if it means a missing number";
  }

  CsvRows rows_;
  CsvShape& shape_;
  ChangedNumber changed_;
  bool at_header_ = true;
  bool header_is_good_ = true;
};

}  // namespace

Result<FileOpener> make_csv_opener(const SourceListing& listing, const SourceOptions& options) {
  const char delimiter = options.csv.delimiter;
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r' || static_cast<signed char>(delimiter) < 0) {
    return Error(Errc::invalid_option, "the CSV delimiter must be one ASCII character other than a quote or a newline");
  }
  DOVETAIL_ASSIGN(auto layout, find_csv_layout(listing, options));
  const NumberColumns numbers(options.records == RecordForm::raw ? std::nullopt : options.schema);
  for (CsvColumn& column : layout.columns) {
    if (column.type != ColumnType::bytes) continue;
    const Dtype wanted = numbers.type_of(column.name);
    if (column.empty && wanted != Dtype::bytes) {  // no value: rows get the fallback of the schema
      column.type = ColumnType::int64;
      continue;
    }
    const std::string texts = column.reason.empty() ? "texts" : "texts, because of " + column.reason;
    if (auto fits = numbers.check_column(column.name, texts); !fits) return fits.error().in_file(layout.file);
  }
  const bool raw = options.records == RecordForm::raw;
  auto shape = std::make_shared<CsvShape>(
      CsvShape{std::move(layout), options.csv, raw, ExampleBuilder(options.max_record_bytes)});
  FileOpener opener{.makes_examples = !raw, .columns = [shape] { return shape->layout.columns; }};
  if (!raw) opener.schema = [shape] { return schema_of(shape->layout.columns); };
  opener.open = [shape, &options](std::size_t /*file*/, SourceFile bytes,
                                  Compression compression) -> Result<std::unique_ptr<FileRecords>> {
    DOVETAIL_ASSIGN(auto rows, CsvRows::open(std::move(bytes), compression, options));
    return std::make_unique<CsvRecords>(std::move(rows), *shape);
  };
  return opener;
}

}  // namespace dovetail::detail
