// SPDX-License-Identifier: Apache-2.0
#include "sources/known_schema.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "sources/mds_array.h"

namespace dovetail::detail {

namespace {

Column column_of(const MdsColumn& column, const std::optional<MdsArrayType>& array) {
  switch (column.kind) {
    case MdsKind::int_le:
      return {.name = column.name, .dtype = Dtype::i64};
    case MdsKind::uint_le:
      return {.name = column.name, .dtype = column.size == 8u ? Dtype::u64 : Dtype::i64};
    case MdsKind::float_le:
      return {.name = column.name, .dtype = Dtype::f32};
    case MdsKind::bytes:
      break;
  }
  Column made{.name = column.name, .dtype = Dtype::bytes};
  if (array) {
    made.dtype = array->dtype;
    made.shape = array->shape;
    made.ragged = array->shape.empty();
  }
  return made;
}

}  // namespace

Column column_of(const IdxLayout& layout) {
  if (layout.sizes.size() == 1) {
    const bool real = layout.dtype == Dtype::f32 || layout.dtype == Dtype::f64;
    return {.name = "label", .dtype = real ? Dtype::f32 : Dtype::i64};
  }
  return {.name = "image", .dtype = layout.dtype, .shape = {layout.sizes.begin() + 1, layout.sizes.end()}};
}

std::optional<Schema> schema_of(const MdsIndex& index) {
  if (index.shards.empty()) return std::nullopt;
  const std::vector<MdsColumn>& columns = index.shards.front().columns;
  for (const MdsShard& shard : index.shards) {
    if (shard.columns != columns) return std::nullopt;
  }
  Schema schema;
  const auto arrays = mds_array_types(columns);
  for (std::size_t i = 0; i < columns.size(); ++i) schema.columns.push_back(column_of(columns[i], arrays[i]));
  if (!validate(schema)) return std::nullopt;
  return schema;
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

Schema schema_of_files(bool labels) {
  Schema schema;
  schema.columns.push_back({.name = "__key__", .dtype = Dtype::bytes});
  if (labels) {
    schema.columns.push_back({.name = "class", .dtype = Dtype::bytes});
    schema.columns.push_back({.name = "label", .dtype = Dtype::i64});
  }
  schema.columns.push_back({.name = "data", .dtype = Dtype::bytes});
  return schema;
}

}  // namespace dovetail::detail
