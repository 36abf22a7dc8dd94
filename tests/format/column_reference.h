// SPDX-License-Identifier: Apache-2.0
// Columns the slow way: through the classes that protobuf generates, one value after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/columns.h>
#include <dovetail/schema.h>

#include "tests/support/sample_records.h"

namespace dovetail::test {

/// One column of a batch, as bytes.
struct ReferenceColumn {
  std::string values;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> text_offsets;

  friend bool operator==(const ReferenceColumn&, const ReferenceColumn&) = default;
};

/// All columns, or nothing where a record does not parse or does not fit. A record that is not
/// there is an empty row.
std::optional<std::vector<ReferenceColumn>> reference_columns(const Schema& schema,
                                                              const std::vector<std::optional<std::string>>& records);

/// The same of what was decoded.
std::vector<ReferenceColumn> decoded_columns(const Schema& schema, const ColumnLayout& layout, ByteView slab);

/// A schema of some columns of any kind.
Schema random_schema(Draws& draws);
/// A record that nearly always fits the schema, in forms that writers use, and in others.
std::string random_record(const Schema& schema, Draws& draws);

}  // namespace dovetail::test
