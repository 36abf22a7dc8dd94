// SPDX-License-Identifier: Apache-2.0
#include "sources/csv_rows.h"

#include <utility>

#include "format/text/utf8.h"
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

Result<std::optional<ByteView>> CsvRows::next_row() {
  for (;; ++ignored_) {
    auto row = records_->next();
    if (!row || !*row) return row;
    std::string_view text = as_chars(**row);
    if (std::exchange(first_, false)) text = format::without_byte_order_mark(text);
    if (!text.empty()) return as_bytes(text);
  }
}

void CsvRows::skip_to(std::uint64_t consumed) {
  if (!skipped_to_) skipped_to_ = next_row();
  while (*skipped_to_ && **skipped_to_ && place().consumed < consumed) skipped_to_ = next_row();
}

Result<bool> CsvRows::next() {
  bad_row_ = false;
  row_ = {};
  auto row = skipped_to_ ? *std::exchange(skipped_to_, std::nullopt) : next_row();
  if (!row) {
    bad_row_ = records_->goes_on();
    return row.error();
  }
  if (!*row) return false;
  row_ = as_chars(**row);
  if (auto parsed = fields_.parse(row_, delimiter_, kept_); !parsed) return fault(parsed.error());
  return true;
}

Error CsvRows::fault(const Error& error) {
  bad_row_ = true;
  return Error(error.code(), "line " + std::to_string(line()) + ": " + error.detail())
      .at(path_, records_->place().offset);
}

}  // namespace dovetail::detail
