// SPDX-License-Identifier: Apache-2.0
#include "convert/infer_schema.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/try.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kShownName = 60;

Error cannot_infer(const std::string& why) {
  return Error(Errc::invalid_option, "schema: cannot be inferred: " + why);
}

/// Returns whether the record is a valid Example without features.
bool has_no_features(ByteView record) {
  format::ExampleCursor cursor(record);
  ByteView entry;
  return !cursor.next(entry) && cursor.fault().what == nullptr;
}

/// Empty for a feature without values, which needs no column.
std::string why_no_column(const FeaturesReport& report, const std::string& name) {
  std::string found;
  std::size_t kinds = 0;
  bool numbers = true;
  for (const FeatureStats& stats : report.features) {
    if (stats.name != name || stats.values == 0) continue;
    ++kinds;
    numbers = numbers && stats.kind != ValueKind::bytes;
    found += (found.empty() ? "" : ", ") + std::string(to_text(stats.kind)) + " in " +
             format::count_of(stats.records, "record");
    if (stats.kind != ValueKind::ints) continue;
    found += " (" + std::to_string(stats.least_int) + " to " + std::to_string(stats.most_int) + ')';
  }
  if (kinds == 0) return {};
  if (kinds == 1) {
    return found + "; a schema has at most " + std::to_string(kMaxColumns) +
           " columns; name the columns that you need in a schema";
  }
  if (numbers) found += "; a column of both needs lists of one length, and no number beyond 2^53";
  return found + "; name the columns in a schema, or give the feature one kind";
}

}  // namespace

Result<Schema> infer_schema(const InputLine& line, const std::function<bool()>& cancelled) {
  FeatureCollector collector;
  LineCursor cursor(line);
  cursor.watch(cancelled);
  DOVETAIL_TRY(cursor.seek(0));
  std::optional<std::uint64_t> without_features;
  for (std::uint64_t id = 0; cursor.has_record(); ++id) {
    if (has_no_features(cursor.record())) {
      without_features = id;
    } else {
      collector.add(id, cursor.record());
    }
    DOVETAIL_TRY(cursor.advance());
  }
  FeaturesReport report = collector.report();
  if (report.first_other) return cannot_infer(report.first_other->detail());
  if (without_features) {
    collector.add(*without_features, {});
    report = collector.report();  // now its columns have fallbacks
  }
  if (report.json_objects > 0) {
    return cannot_infer(format::count_of(report.json_objects, "record") +
                        " of JSON; convert it with --records example");
  }
  if (report.names_left_out > 0) {
    return cannot_infer("there are more than " + std::to_string(kMaxReportedFeatures) +
                        " features, or names of more than " + std::to_string(kMaxColumnNameBytes) +
                        " bytes; name the columns that you need in a schema");
  }
  for (const std::string& name : report.without_column) {
    const std::string reason = why_no_column(report, name);
    if (reason.empty()) continue;
    return cannot_infer("the feature \"" + format::visible(format::shortened(name, kShownName)) +
                        "\" cannot be a column: " + reason);
  }
  if (report.schema.columns.empty()) return cannot_infer("no record has a feature with values");
  return std::move(report.schema);
}

}  // namespace dovetail::detail
