// SPDX-License-Identifier: Apache-2.0
#include "sources/number_columns.h"

#include <cstddef>

#include "format/text/utf8.h"
#include "format/text/visible.h"

namespace dovetail::detail {

namespace {

std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 60;
  return '"' + format::visible(format::shortened(text, kMostShown)) + '"';
}

}  // namespace

NumberColumns::NumberColumns(const std::optional<Schema>& schema) {
  if (!schema) return;
  for (const Column& column : schema->columns) {
    if (column.dtype != Dtype::bytes) types_.emplace(column.name, column.dtype);
  }
}

Result<void> NumberColumns::check_text(std::string_view name, ByteView text, std::string_view what) const {
  const auto found = types_.find(name);
  if (found == types_.end()) return {};
  return Error(Errc::malformed_input, quoted(name) + " is " + quoted(as_chars(text)) + ", " + std::string(what) +
                                          "; the schema wants " + std::string(to_text(found->second)));
}

Result<void> NumberColumns::check_column(std::string_view name, const std::string& holds) const {
  const auto found = types_.find(name);
  if (found == types_.end()) return {};
  return Error(Errc::invalid_option, "column " + quoted(name) + " holds " + holds + ", but the schema wants " +
                                         std::string(to_text(found->second)) +
                                         "; store it as bytes, or mend the values");
}

Dtype NumberColumns::type_of(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? Dtype::bytes : found->second;
}

}  // namespace dovetail::detail
