// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/feature_section.h"

#include <algorithm>
#include <cstdint>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"
#include "tools/inspect/feature_views.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kCardNameBytes = 160;  // bytes of a name that are shown
constexpr std::size_t kTopShown = 5;
constexpr std::size_t kMostOptionBytes = 64 * 1024;  // longer options are not shown

std::string bars_svg(const FeatureStats& stats) {
  constexpr double kWidth = 256;
  constexpr double kHeight = 56;
  const bool lengths = stats.kind == ValueKind::bytes;
  Svg svg(kWidth, std::string(lengths ? "Histogram of lengths" : "Histogram") +
                      (stats.histogram.estimated ? ", from a sample" : ""));
  std::uint64_t most = 1;
  const Histogram& histogram = stats.histogram;
  for (const std::uint64_t count : histogram.counts) most = std::max(most, count);
  const double step = kWidth / static_cast<double>(histogram.counts.size());
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const std::uint64_t count = histogram.counts[i];
    const double share = static_cast<double>(count) / static_cast<double>(most);
    const double height = count == 0 ? 0 : std::max(1.0, share * kHeight);
    svg.rect(static_cast<double>(i) * step, kHeight - height, step - 1, height, "", "bar",
             number_text(histogram.begin(i)) + " to " + number_text(histogram.begin(i + 1)) +
                 (lengths ? " bytes: " : ": ") + (histogram.estimated ? "about " : "") +
                 format::count_of(count, "value"));
  }
  return svg.finish_inline(kHeight);
}

std::string top_html(const FeatureStats& stats) {
  std::string html;
  for (std::size_t i = 0; i < std::min(kTopShown, stats.top.size()); ++i) {
    html += "<span class=\"top\"><code>" + xml_text(shown_value(stats, stats.top[i].value)) + "</code> " +
            (stats.top_estimated ? "~" : "") + share_of(stats.top[i].count, stats.values) + "</span> ";
  }
  return html;
}

std::string facts_of(const FeatureStats& stats, std::uint64_t records) {
  std::string text = "in " + records_share(stats, records) + " of the records";
  if (stats.values == 0) return text + ", without values" + oddities(stats, ", ");
  text += ", " + lengths_text(stats) + (stats.fixed() && stats.most_values == 1 ? " value, " : " values, ") +
          distinct_text(stats) + " distinct";
  return text + oddities(stats, ", ");
}

/// The least, the mean and the largest number or length.
std::string ends_html(const FeatureStats& stats) {
  const bool lengths = stats.kind == ValueKind::bytes;
  const std::string unit = lengths ? " B" : "";
  return "<p class=\"ends\"><span>" + number_text(stats.least) + unit + "</span><span>" +
         (lengths ? "mean length " : "mean ") + number_text(stats.mean) + unit + "</span><span>" +
         number_text(stats.most) + unit + "</span></p>\n";
}

std::string feature_card(const FeatureStats& stats, std::uint64_t records) {
  const std::string name = format::shortened(stats.name, kCardNameBytes);
  std::string html = "<article class=\"record feature\" data-key=\"" + xml_text(name) + "\"><h3>" + xml_text(name) +
                     " <span class=\"note\">" + std::string(to_text(stats.kind)) + "</span></h3>\n";
  if (!stats.histogram.counts.empty()) {
    if (stats.least != stats.most) html += bars_svg(stats);
    html += ends_html(stats);
  }
  return html + "<p class=\"note\">" + facts_of(stats, records) + "</p>\n<p>" + top_html(stats) + "</p></article>\n";
}

}  // namespace

std::string features_html(const FeaturesReport& report, const std::string& columns) {
  std::string html;
  if (!columns.empty() && columns.size() <= kMostOptionBytes) {
    html += "<pre id=\"columns\">" + xml_text(columns) + "</pre>\n";
  }
  html += "<div id=\"features\">\n";
  const std::size_t cards = std::min(kMostFeatureCards, report.features.size());
  for (std::size_t i = 0; i < cards; ++i) html += feature_card(report.features[i], report.records);
  return html + "</div>\n";
}

}  // namespace dovetail::tools
