// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/feature_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/hex.h"
#include "format/text/number_text.h"
#include "format/text/shell_quoted.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kShownNameBytes = 60;
constexpr std::size_t kShownTop = 5;

/// A histogram in one line: each bar is a block character, with a height relative to the largest
/// bar.
std::string spark_line(const Histogram& histogram) {
  constexpr std::array<std::string_view, 9> kBlocks = {" ",
                                                       "\xE2\x96\x81",
                                                       "\xE2\x96\x82",
                                                       "\xE2\x96\x83",
                                                       "\xE2\x96\x84",
                                                       "\xE2\x96\x85",
                                                       "\xE2\x96\x86",
                                                       "\xE2\x96\x87",
                                                       "\xE2\x96\x88"};
  std::uint64_t most = 0;
  for (const std::uint64_t count : histogram.counts) most = std::max(most, count);
  std::string line;
  for (const std::uint64_t count : histogram.counts) {
    const double share = static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(most, 1));
    line += kBlocks[static_cast<std::size_t>(std::ceil(share * 8))];
  }
  return line;
}

std::string shown_name(const std::string& name) {
  return format::shortened(name, kShownNameBytes);
}

std::string values_line(const FeatureStats& stats) {
  std::string line = "[]";
  if (!stats.histogram.counts.empty()) {
    line = "[" + number_text(stats.least) + " |" + spark_line(stats.histogram) + "| " + number_text(stats.most) + "]";
  }
  if (stats.kind == ValueKind::bytes) line += " bytes";
  line += oddities(stats, "  ");
  const char* separator = stats.top_estimated ? "  about: " : "  ";
  for (std::size_t i = 0; i < std::min(kShownTop, stats.top.size()); ++i) {
    line +=
        separator + shown_value(stats, stats.top[i].value) + " (" + share_of(stats.top[i].count, stats.values) + ")";
    separator = ", ";
  }
  return line;
}

}  // namespace

std::string number_text(double value) {
  const double magnitude = std::abs(value);
  if (magnitude < 1e15 && (value == std::floor(value) || magnitude >= 1e6)) return format::fixed(value, 0);
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string lengths_text(const FeatureStats& stats) {
  if (stats.fixed()) return std::to_string(stats.most_values);
  return std::to_string(stats.least_values) + " - " + std::to_string(stats.most_values);
}

std::string records_share(const FeatureStats& stats, std::uint64_t records) {
  return share_of(stats.records - stats.empty_lists, records);
}

std::string distinct_text(const FeatureStats& stats) {
  return (stats.distinct_error > 0 ? "~" : "") + std::to_string(stats.distinct);
}

std::string shown_value(const FeatureStats& stats, const std::string& value) {
  if (stats.kind != ValueKind::bytes) return value;
  return format::is_utf8(value) ? '"' + value + '"' : "0x" + format::hex(as_bytes(value));
}

std::string oddities(const FeatureStats& stats, std::string_view separator) {
  std::string text;
  const auto add = [&](std::uint64_t count, const std::string& what) {
    if (count > 0) text += std::string(separator) + what;
  };
  add(stats.empty_lists, format::count_of(stats.empty_lists, "empty list"));
  add(stats.nans, format::count_of(stats.nans, "NaN"));
  add(stats.infinities, std::to_string(stats.infinities) + " infinite");
  return text;
}

std::string features_note(const FeaturesReport& report) {
  std::string note = "of " + format::count_of(report.records, "record");
  const std::uint64_t others = report.records - report.examples - report.json_objects;
  if (report.json_objects > 0) note += ", " + format::count_of(report.json_objects, "JSON object");
  if (report.records > 0 && others == report.records) {
    note += ", without a tf.train.Example that has features";
  } else if (others > 0) {
    note += ", " + std::to_string(others) + " of them not a tf.train.Example with features";
  }
  if (report.damaged_blocks > 0) {
    note += "; without " + format::count_of(report.damaged_blocks, "damaged block") + " of " +
            format::count_of(report.lost_records, "record");
  }
  if (report.names_left_out > 0) {
    note += "; about " + format::count_of(report.names_left_out, "further name") + " left out";
  }
  return note;
}

std::string columns_option(const FeaturesReport& report) {
  if (report.schema.columns.empty()) return {};
  return "--columns " + format::shell_quoted(to_text(report.schema));
}

std::string to_text(const FeaturesReport& report, const Colours& colours) {
  std::string text = "\nfeatures, " + features_note(report) + '\n';
  if (report.first_damage) text += "damaged: " + format::visible(report.first_damage->to_string()) + '\n';
  if (report.first_other) text += "the first other record: " + format::visible(report.first_other->detail()) + '\n';
  if (report.features.empty()) return text;
  Table table({"kind", "records", "values", "least", "mean", "most", "distinct", "feature"}, /*text_last=*/true);
  Listing values;
  for (const FeatureStats& stats : report.features) {
    const bool numbers = !stats.histogram.counts.empty();
    table.add({std::string(to_text(stats.kind)), records_share(stats, report.records), lengths_text(stats),
               numbers ? number_text(stats.least) : "", numbers ? number_text(stats.mean) : "",
               numbers ? number_text(stats.most) : "", distinct_text(stats), shown_name(stats.name)});
    if (stats.records > 0) values.add(shown_name(stats.name), values_line(stats));
  }
  text += table.to_text(colours) + '\n' + values.to_text(colours);
  if (const std::string columns = columns_option(report); !columns.empty()) {
    text += '\n' + format::visible(columns) + '\n';
  }
  if (!report.without_column.empty()) {
    text += "no column: ";
    const char* separator = "";
    for (const std::string& name : report.without_column)
      text += std::exchange(separator, ", ") + format::visible(shown_name(name));
    text += '\n';
  }
  return text;
}

}  // namespace dovetail::tools
