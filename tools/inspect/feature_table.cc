// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/feature_table.h"

#include <algorithm>

#include "format/text/utf8.h"
#include "tools/command/render.h"
#include "tools/inspect/html.h"
#include "tools/records/payload.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kNameBytes = 160;  // shown
constexpr std::size_t kMostNameBytes = 4096;
constexpr std::size_t kExampleBytes = 80;
constexpr std::size_t kExampleHexBytes = 16;
constexpr std::uint64_t kExampleValues = 8;

std::string cut(std::string_view text, std::size_t most_bytes) {
  const std::string_view shown = format::utf8_prefix(text, most_bytes);
  return std::string(shown) + (shown.size() < text.size() ? "\xE2\x80\xA6" : "");
}

std::string bytes_text(ByteView value) {
  const Payload payload = guess_payload(value);
  if (payload == Payload::text || payload == Payload::json) return '"' + cut(as_chars(value), kExampleBytes) + '"';
  std::string text(describe(payload));
  if (const auto size = image_size(payload, value)) {
    text += ", " + std::to_string(size->width) + " \xC3\x97 " + std::to_string(size->height);
  }
  if (payload == Payload::raw) {
    text = hex(value.first(std::min(kExampleHexBytes, value.size()))) +
           (value.size() > kExampleHexBytes ? "\xE2\x80\xA6" : "");
  }
  return text + ", " + human_bytes(value.size());
}

std::string example_of(const format::FeatureView& feature) {
  std::string text;
  if (feature.kind != format::FeatureKind::bytes) {
    append_values(text, feature, kExampleValues);
    return text;
  }
  format::FeatureValues values(feature);
  ByteView value;
  return values.next(value) ? bytes_text(value) : text;
}

std::string span_text(std::uint64_t least, std::uint64_t most) {
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

std::string cell(std::string_view text) {
  return "<td>" + html_text(text) + "</td>";
}

}  // namespace

void FeatureTable::add(ByteView record) {
  if (guess_payload(record) != Payload::example) return;
  format::ExampleFeatures features;
  if (!features.parse(record)) return;
  ++examples_;
  for (const format::FeatureView& feature : features.all()) {
    auto found = features_.find(feature.name);
    if (found == features_.end()) {
      if (features_.size() == kMostNames || feature.name.size() > kMostNameBytes) {
        ++left_out_;
        continue;
      }
      found = features_.emplace(feature.name, Feature()).first;
      found->second.least = feature.count;
    }
    Feature& known = found->second;
    known.kinds.insert(feature.kind);
    ++known.records;
    known.least = std::min(known.least, feature.count);
    known.most = std::max(known.most, feature.count);
    if (known.example.empty() && feature.count > 0) known.example = example_of(feature);
  }
}

std::string FeatureTable::html() const {
  std::string html =
      "<div class=\"wide\"><table class=\"features\" id=\"features\"><thead><tr><th scope=\"col\">feature</th><th "
      "scope=\"col\">list</th><th scope=\"col\">records</th><th scope=\"col\">values</th><th "
      "scope=\"col\">such as</th></tr></thead><tbody>\n";
  for (const auto& [name, feature] : features_) {
    std::string kinds;
    for (const format::FeatureKind kind : feature.kinds) {
      kinds += (kinds.empty() ? "" : ", ") + std::string(format::to_text(kind));
    }
    const std::string shown = cut(name, kNameBytes);
    html += "<tr data-key=\"" + html_text(shown) + "\">" + cell(shown) + cell(kinds) +
            cell(std::to_string(feature.records)) + cell(span_text(feature.least, feature.most)) +
            cell(feature.example) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace dovetail::tools
