// SPDX-License-Identifier: Apache-2.0
#include "convert/infer_schema.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

std::string shown(std::string_view name) {
  return '"' + format::visible(format::shortened(name, kShownName)) + '"';
}

/// The statistics of a feature, in the order bytes, floats, integers, without those of lists
/// without values.
std::vector<const FeatureStats*> kinds_of(const FeaturesReport& report, const std::string& name) {
  std::vector<const FeatureStats*> kinds;
  for (const FeatureStats& stats : report.features) {
    if (stats.name == name && stats.values != 0) kinds.push_back(&stats);
  }
  return kinds;
}

std::string text_of(const FeatureStats& stats) {
  std::string text = std::string(to_text(stats.kind)) + " in " + format::count_of(stats.records, "record");
  if (stats.kind != ValueKind::ints) return text;
  return text + " (" + std::to_string(stats.least_int) + " to " + std::to_string(stats.most_int) + ')';
}

/// Whether these may be numbers beyond int64: 19 or 20 digits.
bool may_be_large_numbers(const FeatureStats& stats, const InputLine& line) {
  return line.sources().front().format == SourceFormat::jsonl && stats.kind == ValueKind::bytes &&
         stats.least_int >= 19 && stats.most_int <= 20;
}

/// Moves to a record, which may take long. Returns whether it is there.
bool find_record(LineCursor& cursor, std::uint64_t id) {
  bool found = cursor.seek(0).has_value();
  for (std::uint64_t i = 0; found && i != id; ++i) found = cursor.has_record() && cursor.advance().has_value();
  return found && cursor.has_record();
}

/// The error for a feature that needs a column and has none.
Error no_column(const std::string& name, const std::vector<const FeatureStats*>& kinds, const InputLine& line,
                const std::function<bool()>& cancelled) {
  std::string why = "the feature " + shown(name) + " cannot be a column: ";
  const char* separator = "";
  for (const FeatureStats* stats : kinds) why += std::exchange(separator, ", ") + text_of(*stats);
  if (kinds.size() == 1) {
    return cannot_infer(why + "; a schema has at most " + std::to_string(kMaxColumns) +
                        " columns; name the columns that you need in a schema");
  }
  const FeatureStats& rarest = **std::min_element(kinds.begin(), kinds.end(),
                                                  [](const auto* a, const auto* b) { return a->records < b->records; });
  LineCursor cursor(line);
  cursor.watch(cancelled);
  const bool found = find_record(cursor, rarest.first_record);
  why += "; " + std::string(to_text(rarest.kind)) + " first in record " + std::to_string(rarest.first_record);
  if (found && !cursor.key().empty()) why += ", " + shown(cursor.key());
  const bool numbers = kinds.front()->kind != ValueKind::bytes;
  if (numbers) why += "; a column of both needs lists of one length, and no number beyond 2^53";
  why += "; name the columns in a schema, or give the feature one kind";
  if (may_be_large_numbers(*kinds.front(), line)) {
    why += ": numbers beyond int64 are bytes, so write all of them as texts";
  }
  const Error error = cannot_infer(why);
  return found ? error.at(cursor.file(), cursor.offset()) : error;
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
    const std::vector<const FeatureStats*> kinds = kinds_of(report, name);
    if (kinds.empty()) continue;  // without values it needs no column
    return no_column(name, kinds, line, cancelled);
  }
  if (report.schema.columns.empty()) return cannot_infer("no record has a feature with values");
  return std::move(report.schema);
}

}  // namespace dovetail::detail
