// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "reader/features/feature_collector.h"

namespace dovetail {

std::string_view to_text(ValueKind kind) noexcept {
  constexpr std::string_view kTexts[] = {"none", "bytes", "float", "int64"};
  return kTexts[static_cast<std::size_t>(kind)];
}

double FeatureStats::mean_values() const noexcept {
  const std::uint64_t lists = records - empty_lists;
  return lists == 0 ? 0 : static_cast<double>(values) / static_cast<double>(lists);
}

namespace detail {
namespace {

/// The value of rows whose record lacks the feature.
std::string fallback_of(const FeatureStats& stats, bool ragged) {
  if (ragged || stats.kind == ValueKind::bytes) return {};
  if (stats.kind == ValueKind::floats) return "nan";
  return stats.least_int >= 0 ? "-1" : "0";
}

Dtype dtype_of(ValueKind kind) {
  if (kind == ValueKind::bytes) return Dtype::bytes;
  return kind == ValueKind::floats ? Dtype::f32 : Dtype::i64;
}

/// The column of this dtype that reads all lists of a feature; empty if there is none.
std::optional<Column> column_of(const FeatureStats& stats, Dtype dtype, std::uint64_t records) {
  if (stats.values == 0) return std::nullopt;
  Column column{.name = stats.name, .dtype = dtype};
  const bool single = stats.fixed() && stats.most_values == 1;
  column.ragged = !single && (column.dtype == Dtype::bytes || !stats.fixed());
  if (!single && !column.ragged) {
    if (stats.most_values > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    column.shape = {static_cast<std::uint32_t>(stats.most_values)};
  }
  const std::uint64_t lists = stats.records - stats.empty_lists;
  // An empty list is an empty row of a ragged column.
  const bool complete = column.ragged ? stats.records == records : lists == records;
  if (!complete) column.fallback = fallback_of(stats, column.ragged);
  if (!validate(Schema{{column}})) return std::nullopt;
  return column;
}

/// Up to these limits, every integer is exact as a float, or as a double.
constexpr std::int64_t kExactInFloat = std::int64_t{1} << 24;
constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

bool is_within(const FeatureStats& ints, std::int64_t limit) {
  return ints.values == 0 || (ints.least_int >= -limit && ints.most_int <= limit);
}

/// The column of floats that reads these integer lists, too. Empty if it would round a number, or
/// if rows differ in length.
std::optional<Column> widened(const FeatureStats& floats, const FeatureStats& ints, std::uint64_t records) {
  if (!is_within(ints, kExactInDouble)) return std::nullopt;
  // The floats may include integers of JSON that do not fit an int64.
  constexpr auto kExact = static_cast<double>(kExactInDouble);
  if (floats.values > 0 && (floats.least < -kExact || floats.most > kExact)) return std::nullopt;
  FeatureStats both = floats;
  both.records += ints.records;
  both.empty_lists += ints.empty_lists;
  both.values += ints.values;
  if (ints.values > 0) {
    both.least_values = floats.values > 0 ? std::min(floats.least_values, ints.least_values) : ints.least_values;
    both.most_values = std::max(floats.most_values, ints.most_values);
  }
  if (!both.fixed()) return std::nullopt;
  return column_of(both, is_within(ints, kExactInFloat) ? Dtype::f32 : Dtype::f64, records);
}

}  // namespace

void add_schema(FeaturesReport& report) {
  if (report.json_objects > 0) return;
  const std::vector<FeatureStats>& features = report.features;
  for (std::size_t begin = 0, end = 0; begin < features.size(); begin = end) {
    std::vector<const FeatureStats*> kinds;  // bytes, floats, ints
    for (end = begin; end < features.size() && features[end].name == features[begin].name; ++end) {
      // Otherwise as if missing.
      if (features[end].kind != ValueKind::none) kinds.push_back(&features[end]);
    }
    std::optional<Column> column;
    if (kinds.size() == 1) {
      column = column_of(*kinds[0], dtype_of(kinds[0]->kind), report.records);
    } else if (kinds.size() == 2 && kinds[0]->kind == ValueKind::floats) {
      column = widened(*kinds[0], *kinds[1], report.records);
    }
    if (column && report.schema.columns.size() < kMaxColumns) {
      report.schema.columns.push_back(std::move(*column));
    } else {
      report.without_column.push_back(features[begin].name);
    }
  }
}

}  // namespace detail
}  // namespace dovetail
