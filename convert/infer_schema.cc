// SPDX-License-Identifier: Apache-2.0
#include "convert/infer_schema.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <dovetail/features.h>

#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/try.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kShownName = 60;

Error cannot_infer(const std::string& why) {
  return Error(Errc::invalid_option, "schema: cannot be inferred: " + why);
}

}  // namespace

Result<Schema> infer_schema(const InputLine& line, const std::function<bool()>& cancelled) {
  FeatureCollector collector;
  LineCursor cursor(line);
  cursor.watch(cancelled);
  DOVETAIL_TRY(cursor.seek(0));
  for (std::uint64_t id = 0; cursor.has_record(); ++id) {
    collector.add(id, cursor.record());
    DOVETAIL_TRY(cursor.advance());
  }
  FeaturesReport report = collector.report();
  if (report.first_other) return cannot_infer(report.first_other->detail());
  if (report.json_objects > 0) {
    return cannot_infer(std::to_string(report.json_objects) + " records are JSON and no Examples");
  }
  if (report.names_left_out > 0) {
    return cannot_infer("there are more than " + std::to_string(kMaxReportedFeatures) + " features");
  }
  const auto has_values = [&](const std::string& name) {
    return std::any_of(report.features.begin(), report.features.end(),
                       [&](const FeatureStats& stats) { return stats.values > 0 && stats.name == name; });
  };
  const auto& without = report.without_column;
  if (const auto name = std::find_if(without.begin(), without.end(), has_values); name != without.end()) {
    return cannot_infer(
        "no column reads the feature \"" + format::visible(format::shortened(*name, kShownName)) +
        "\", whose lists have several kinds, or are too many or too long: name the columns in a schema");
  }
  if (report.schema.columns.empty()) return cannot_infer("no record has a feature with values");
  return std::move(report.schema);
}

}  // namespace dovetail::detail
