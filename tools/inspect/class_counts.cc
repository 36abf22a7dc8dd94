// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/class_counts.h"

#include <algorithm>
#include <cstdint>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <dovetail/convert.h>

#include "format/text/utf8.h"
#include "tools/command/svg.h"
#include "tools/inspect/feature_views.h"
#include "tools/inspect/html.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kMostClassFeatures = 6;
constexpr std::uint64_t kMostClasses = 100;
constexpr std::size_t kClassNameBytes = 60;  // bytes of a name that are shown

bool has_classes(const FeatureStats& stats) {
  const bool discrete = stats.kind == ValueKind::ints || stats.kind == ValueKind::bytes;
  return discrete && stats.fixed() && stats.most_values == 1 && stats.distinct_error == 0 && !stats.top_estimated &&
         stats.distinct >= 2 && stats.distinct <= kMostClasses && stats.distinct * 2 <= stats.values &&
         !stats.top.empty();
}

boost::json::array class_names(const inspect::Inspection& inspection) {
  if (inspection.shards.empty()) return {};
  const auto found = inspection.shards.front().metadata.find(std::string(kClassesKey));
  if (found == inspection.shards.front().metadata.end()) return {};
  boost::system::error_code failure;
  const boost::json::value names = boost::json::parse(found->second, failure);
  return !failure && names.is_array() ? names.get_array() : boost::json::array();
}

std::string name_of(const FeatureStats& stats, const std::string& value, const boost::json::array& names) {
  const bool as_it_is = stats.kind == ValueKind::bytes && !value.empty() && format::is_utf8(value);
  std::string name = as_it_is ? value : shown_value(stats, value);
  if (stats.kind == ValueKind::ints && stats.name == "label") {
    const auto number = boost::json::parse(value);
    const bool named = number.is_int64() && number.get_int64() >= 0 &&
                       static_cast<std::uint64_t>(number.get_int64()) < names.size() &&
                       names[static_cast<std::size_t>(number.get_int64())].is_string();
    if (named) name += ' ' + std::string(names[static_cast<std::size_t>(number.get_int64())].get_string());
  }
  return format::shortened(name, kClassNameBytes);
}

std::string class_table(const FeatureStats& stats, std::uint64_t records, const boost::json::array& names) {
  std::uint64_t others = stats.values;
  for (const TopValue& value : stats.top) others -= value.count;
  const std::uint64_t without = records - stats.values;
  HtmlCounts counts(records, std::max({stats.top.front().count, others, without}));
  for (const TopValue& value : stats.top) counts.add(name_of(stats, value.value, names), value.count);
  if (others > 0) counts.add("others", others, "rest");
  if (without > 0) counts.add("no value", without, "rest");
  return "<article class=\"record classes\" data-key=\"" + xml_text(stats.name) + "\"><h3>" + xml_text(stats.name) +
         " <span class=\"note\">" + std::to_string(stats.distinct) + " classes</span></h3>\n" + counts.finish() +
         "</article>\n";
}

}  // namespace

std::string classes_html(const inspect::Inspection& inspection) {
  if (!inspection.features) return {};
  const boost::json::array names = class_names(inspection);
  std::string html;
  std::size_t tables = 0;
  for (const FeatureStats& stats : inspection.features->features) {
    if (tables < kMostClassFeatures && has_classes(stats)) {
      html += class_table(stats, inspection.features->records, names);
      ++tables;
    }
  }
  return html.empty() ? html : "<div id=\"classes\">\n" + html + "</div>\n";
}

}  // namespace dovetail::tools
