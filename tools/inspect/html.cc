// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/html.h"

#include "format/text/utf8.h"
#include "tools/command/svg.h"

namespace dovetail::tools {

namespace {

/// U+2400 + c is the picture of control character c, and U+2421 that of DEL.
std::string control_picture(unsigned char c) {
  const auto last = static_cast<char>(c == 0x7F ? 0xA1 : 0x80 + c);
  return {'\xE2', '\x90', last};
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string shown;
  for (const char c : format::to_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
    shown += control ? control_picture(byte) : std::string(1, c);
  }
  return xml_text(shown);
}

HtmlTable::HtmlTable(std::string_view id, const std::vector<std::string_view>& heading)
    : html_("<div class=\"wide\"><table class=\"numbers\" id=\"" + html_text(id) + "\"><thead><tr>") {
  for (const std::string_view name : heading) html_ += "<th scope=\"col\">" + html_text(name) + "</th>";
  html_ += "</tr></thead><tbody>\n";
}

void HtmlTable::add(std::string_view key, const std::vector<std::string>& cells) {
  html_ += "<tr data-key=\"" + html_text(key) + "\">";
  for (const std::string& cell : cells) html_ += "<td>" + html_text(cell) + "</td>";
  html_ += "</tr>\n";
}

std::string HtmlTable::finish() const {
  return html_ + "</tbody></table></div>\n";
}

HtmlFacts::HtmlFacts(std::string_view id) : html_("<table class=\"facts\" id=\"" + html_text(id) + "\"><tbody>\n") {}

void HtmlFacts::add(std::string_view name, std::string_view value) {
  html_ += "<tr data-key=\"" + html_text(name) + "\"><th scope=\"row\">" + html_text(name) + "</th><td>" +
           html_text(value) + "</td></tr>\n";
}

std::string HtmlFacts::finish() const {
  return html_ + "</tbody></table>\n";
}

}  // namespace dovetail::tools
