// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/csv_layout.h"
#include "sources/csv_scanner.h"
#include "sources/scanned_file.h"

namespace dovetail::detail {

/// The non-blank rows of one CSV file, in fields.
///
/// Errors: `malformed_input` and `record_too_large` with file, offset and line, after which the
///         next row can be read; those of `ByteStream`.
class CsvRows {
 public:
  static Result<CsvRows> open(SourceFile file, Compression compression, const SourceOptions& options);

  /// False at the end.
  Result<bool> next();
  /// See `FileRecords`. Does not look at the fields of the rows that it skips.
  Result<void> skip_to(std::uint64_t consumed) { return records_->skip_to(consumed); }
  /// The error for the current row; the next row can still be read.
  Error fault(const Error& error);
  Error fault(const std::string& reason) { return fault(Error(Errc::malformed_input, reason)); }

  const std::string& path() const noexcept { return path_; }
  char delimiter() const noexcept { return delimiter_; }
  std::string_view row() const noexcept { return row_; }
  /// Number of the line that the row begins in, from 1.
  std::uint64_t line() const noexcept { return records_->scanner().row_line(); }
  /// At most `keep()` fields, in the order of the file.
  const std::vector<std::string_view>& fields() const noexcept { return fields_.kept(); }
  std::string_view field(std::size_t column) const { return fields_.kept()[place_of(column)]; }
  /// Number of fields in the row.
  std::uint64_t count() const noexcept { return fields_.count(); }
  void keep(std::size_t fields) noexcept { kept_ = fields; }
  /// Numbers the columns anew: column i is the field at `places[i]`. Keeps only these.
  void arrange(std::vector<std::size_t> places) noexcept {
    keep(places.size());
    places_ = std::move(places);
  }
  /// Where a column is in the file.
  std::size_t place_of(std::size_t column) const noexcept { return places_.empty() ? column : places_[column]; }
  RecordPlace place() const { return records_->place(); }
  bool goes_on() const noexcept { return bad_row_; }
  std::uint64_t ignored() const noexcept { return ignored_; }

 private:
  CsvRows() = default;

  std::string path_;
  char delimiter_ = ',';
  std::unique_ptr<ScannedFile<CsvScanner>> records_;
  CsvFields fields_;
  std::size_t kept_ = kMaxColumns;
  std::vector<std::size_t> places_;  // empty where columns are numbered as in the file
  std::string_view row_;
  std::uint64_t ignored_ = 0;
  bool bad_row_ = false;
};

}  // namespace dovetail::detail
