// SPDX-License-Identifier: Apache-2.0
#include "reader/features/features_report.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

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

/// What rows get whose record lacks the feature.
std::string fallback_of(const FeatureStats& stats, bool ragged) {
  if (ragged || stats.kind == ValueKind::bytes) return {};
  if (stats.kind == ValueKind::floats) return "nan";
  return stats.least_int >= 0 ? "-1" : "0";
}

/// The column that reads all lists of a feature; nothing where there is none.
std::optional<Column> column_of(const FeatureStats& stats, std::uint64_t records) {
  if (stats.values == 0) return std::nullopt;
  Column column{.name = stats.name};
  switch (stats.kind) {
    case ValueKind::bytes:
      column.dtype = Dtype::bytes;
      break;
    case ValueKind::floats:
      column.dtype = Dtype::f32;
      break;
    default:
      column.dtype = Dtype::i64;
  }
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

}  // namespace

void add_schema(FeaturesReport& report) {
  if (report.json_objects > 0) return;
  const std::vector<FeatureStats>& features = report.features;
  for (std::size_t begin = 0, end = 0; begin < features.size(); begin = end) {
    const FeatureStats* only = nullptr;
    std::size_t kinds = 0;
    for (end = begin; end < features.size() && features[end].name == features[begin].name; ++end) {
      if (features[end].kind == ValueKind::none) continue;  // as if it were missing
      only = &features[end];
      ++kinds;
    }
    std::optional<Column> column;
    if (kinds == 1 && report.schema.columns.size() < kMaxColumns) column = column_of(*only, report.records);
    if (column) {
      report.schema.columns.push_back(std::move(*column));
    } else {
      report.without_column.push_back(features[begin].name);
    }
  }
}

}  // namespace detail
}  // namespace dovetail
