// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/html.h"

#include "format/text/number_text.h"
#include "tools/command/svg.h"

namespace dovetail::tools {

namespace {

/// The begin of a row, with its attributes.
std::string row_of(std::string_view key, std::string_view kind = {}) {
  const std::string of_kind = kind.empty() ? "" : " class=\"" + std::string(kind) + '"';
  return "<tr" + of_kind + " data-key=\"" + xml_text(key) + "\">";
}

std::string row_heading(std::string_view name) {
  return "<th scope=\"row\">" + xml_text(name) + "</th>";
}

}  // namespace

std::string html_listing(std::string_view id, const Listing& listing) {
  std::string html = "<table class=\"facts\" id=\"" + xml_text(id) + "\"><tbody>\n";
  for (const auto& [name, value] : listing.lines()) {
    html += row_of(name) + row_heading(name) + "<td>" + xml_text(value) + "</td></tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string html_table(std::string_view id, const Table& table) {
  std::string html = "<div class=\"wide\"><table class=\"numbers\" id=\"" + xml_text(id) + "\"><thead><tr>";
  for (const std::string& name : table.rows().front()) html += "<th scope=\"col\">" + xml_text(name) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (std::size_t i = 1; i < table.rows().size(); ++i) {
    html += row_of(table.rows()[i].front());
    for (const std::string& cell : table.rows()[i]) html += "<td>" + xml_text(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

void HtmlCounts::add(std::string_view name, std::uint64_t count, std::string_view kind) {
  const double width = static_cast<double>(count) / static_cast<double>(most_) * 100;
  rows_ += row_of(name, kind) + row_heading(name) + "<td>" + std::to_string(count) + "</td><td>" +
           share_of(count, whole_) + "</td><td class=\"length\">";
  if (count > 0) rows_ += "<div style=\"width:" + format::fixed(width, 1) + "%\"></div>";
  rows_ += "</td></tr>\n";
}

std::string HtmlCounts::finish() const {
  return "<table class=\"counts\"><tbody>\n" + rows_ + "</tbody></table>\n";
}

}  // namespace dovetail::tools
