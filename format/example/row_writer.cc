// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <dovetail/transform.h>

#include "format/example/column_layout.h"
#include "format/example/column_rows.h"

namespace dovetail {

namespace {

Error refused(const Schema& schema, std::size_t column, const std::string& why) {
  if (column >= schema.columns.size()) {
    return Error(Errc::invalid_option, "column " + std::to_string(column) + " is set, but the schema has " +
                                           std::to_string(schema.columns.size()));
  }
  return Error(Errc::invalid_option, "column \"" + schema.columns[column].name + "\": " + why);
}

}  // namespace

const Schema& RowWriter::schema() const noexcept {
  return schema_;
}

std::span<std::byte> RowWriter::bytes(std::size_t column) noexcept {
  if (column >= schema_.columns.size()) return {};
  const std::span<std::byte> row = rows_.fixed_row(column, row_);
  if (!row.empty()) is_set_[column] = true;
  return row;
}

Result<void> RowWriter::set(std::size_t column, ByteView row) {
  const Column* const given = column < schema_.columns.size() ? &schema_.columns[column] : nullptr;
  if (given == nullptr || (given->ragged && format::is_text(*given))) {
    return refused(schema_, column, "it has several texts per row; use set_texts");
  }
  if (!rows_.put_copy(column, row_, row)) {
    return refused(schema_, column,
                   std::to_string(row.size()) + " bytes, expected " + (given->ragged ? "a multiple of " : "") +
                       std::to_string(format::item_bytes(*given)));
  }
  is_set_[column] = true;
  return {};
}

Result<void> RowWriter::set_texts(std::size_t column, std::span<const std::string_view> texts) {
  const Column* const given = column < schema_.columns.size() ? &schema_.columns[column] : nullptr;
  if (given == nullptr || !given->ragged || !format::is_text(*given)) {
    return refused(schema_, column, "it does not have a list of texts per row; only bytes[*] does");
  }
  rows_.put_copies(column, row_, texts);
  is_set_[column] = true;
  return {};
}

}  // namespace dovetail
