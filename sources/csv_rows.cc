// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_rows.h"

#include <utility>

#include "format/try.h"
#include "sources/bytes/names.h"

namespace dovetail::detail {

Result<CsvRows> CsvRows::open(SourceFile file, Compression compression, const SourceOptions& options) {
  CsvRows rows;
  rows.path_ = file.path();
  rows.delimiter_ = options.csv.delimiter;
  if (rows.delimiter_ == 0) rows.delimiter_ = has_tsv_name(rows.path_) ? '\t' : ',';
  DOVETAIL_ASSIGN(auto records,
                  open_scanned(std::move(file), compression, CsvScanner(rows.delimiter_, options.max_record_bytes)));
  rows.records_ = std::move(records);
  return rows;
}

Result<bool> CsvRows::next() {
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
    if (!row_.empty()) break;
    ++ignored_;
  }
  if (auto parsed = fields_.parse(row_, delimiter_, kept_); !parsed) return fault(parsed.error());
  return true;
}

Error CsvRows::fault(const Error& error) {
  bad_row_ = true;
  return Error(error.code(), "line " + std::to_string(line()) + ": " + error.detail())
      .at(path_, records_->place().offset);
}

}  // namespace dovetail::detail
