// SPDX-License-Identifier: Apache-2.0
// Shows a record as the command does. Its JSON is one line that parses; on a page nothing of the
// record is markup.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "format/text/utf8.h"
#include "fuzz/support.h"
#include "inspect/payload.h"
#include "tools/command/render.h"
#include "tools/inspect/feature_section.h"
#include "tools/inspect/record_cards.h"
#include "tools/records/record_json.h"

namespace dovetail::fuzz {
namespace {

constexpr std::size_t kMostImageBytes = 4096;
constexpr std::array<std::string_view, 20> kTags = {"article", "code", "details", "div",   "h3",    "img",     "p",
                                                    "pre",     "q",    "rect",    "span",  "svg",   "summary", "table",
                                                    "tbody",   "td",   "th",      "thead", "title", "tr"};
constexpr std::array<std::string_view, 17> kAttributes = {
    "alt",  "aria-label", "class", "data-id", "data-key", "data-payload", "fill", "height", "id",
    "role", "scope",      "src",   "title",   "viewBox",  "width",        "x",    "y"};

void require_json(const std::string& json) {
  require(json.find('\n') == std::string::npos && json.find('\r') == std::string::npos, "JSON is one line");
  boost::json::parse_options options;
  options.max_depth = 1024;
  boost::system::error_code failed;
  (void)boost::json::parse(json, failed, {}, options);
  require(!failed, "what is shown as JSON is JSON");
}

/// Reads a tag behind its `<`; where it ends.
std::size_t read_tag(std::string_view html, std::size_t at) {
  if (html[at] == '/') ++at;
  const std::size_t name_end = html.find_first_of(" >", at);
  require(name_end != std::string_view::npos, "a tag ends");
  require(std::ranges::find(kTags, html.substr(at, name_end - at)) != kTags.end(), "a tag is one of the page's own");
  at = name_end;
  while (html[at] == ' ') {
    const std::size_t equals = html.find('=', at);
    require(equals + 1 < html.size() && html[equals + 1] == '"', "an attribute has a value in quotes");
    const std::string_view name = html.substr(at + 1, equals - at - 1);
    require(std::ranges::find(kAttributes, name) != kAttributes.end(), "an attribute is one of the page's own");
    const std::size_t quote = html.find('"', equals + 2);
    require(quote != std::string_view::npos && quote + 1 < html.size(), "a value ends");
    at = quote + 1;
  }
  if (html[at] == '/') ++at;
  require(html[at] == '>', "a tag ends with its attributes");
  return at;
}

void require_own_markup(std::string_view html) {
  require(format::is_utf8(html), "a page is UTF-8");
  for (std::size_t at = 0; at < html.size(); ++at) {
    const auto character = static_cast<unsigned char>(html[at]);
    require(character >= 0x20 || character == '\n' || character == '\t' || character == '\r',
            "a page holds no control characters");
    if (character == '<') at = read_tag(html, at + 1);
  }
}

void judge(ByteView bytes) {
  const MemoryLimit limit((std::size_t{4} << 20) + 4096 * bytes.size());
  const inspect::Payload payload = inspect::guess_payload(bytes);
  if (payload == inspect::Payload::text) require(format::is_utf8(as_chars(bytes)), "text is UTF-8");
  require(payload != inspect::Payload::empty || bytes.empty(), "only no bytes are none");
  require(inspect::numpy_header(bytes).size() <= bytes.size(), "a header is a part of its record");
  require_json(tools::content_json(bytes));
  require_json(boost::json::serialize(tools::to_json(tools::PlacedRecord{.bytes = bytes})));
  for (const char character : tools::hex_dump(bytes)) {
    require(character == '\n' || (character >= 0x20 && character < 0x7F), "a dump can be printed");
  }
  tools::RecordCards cards(kMostImageBytes);
  cards.add({.id = 7, .bytes = bytes});
  require_own_markup(cards.html());
  FeatureCollector features;
  features.add(7, bytes);
  require_own_markup(tools::features_html(features.report(), ""));
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge(std::as_bytes(std::span(data, size)));
  return 0;
}
