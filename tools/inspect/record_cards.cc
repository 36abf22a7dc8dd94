// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/record_cards.h"

#include <algorithm>

#include "format/example/example_wire.h"
#include "format/text/base64.h"
#include "format/text/count_of.h"
#include "format/text/hex.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"
#include "tools/command/svg.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kTextBytes = 2000;
constexpr std::size_t kDumpBytes = 256;
constexpr std::size_t kMostFeatures = 64;
constexpr std::size_t kMostValues = 12;
constexpr std::size_t kValueTextBytes = 160;
constexpr std::size_t kValueHexBytes = 16;

std::string more(std::uint64_t count, std::string_view what) {
  return "<p class=\"note\">and " + std::to_string(count) + ' ' + std::string(what) + " more</p>\n";
}

std::string describe(inspect::Payload payload, ByteView bytes) {
  std::string text(inspect::describe(payload));
  if (const auto size = image_size(payload, bytes)) {
    text += ", " + std::to_string(size->width) + " \xC3\x97 " + std::to_string(size->height);
  }
  if (payload == inspect::Payload::numpy) {
    const std::string_view header = format::utf8_prefix(inspect::numpy_header(bytes), kValueTextBytes);
    text += ", " + std::string(header.substr(0, header.find_last_not_of(" \n") + 1));
  }
  return text;
}

std::uint64_t pixels_of(inspect::Payload payload, ByteView image) {
  const auto size = image_size(payload, image);
  return size ? std::uint64_t{size->width} * size->height : 0;
}

/// Calls `visit` with each image of an Example, and its feature's name.
template <class Visit>
void for_each_image(const format::ExampleFeatures& features, const Visit& visit) {
  for (const format::FeatureView& feature : features.all().first(std::min(kMostFeatures, features.all().size()))) {
    if (feature.kind != format::FeatureKind::bytes) continue;
    format::FeatureValues values(feature);
    ByteView value;
    for (std::size_t count = 0; count < kMostValues && values.next(value); ++count) {
      const inspect::Payload payload = inspect::guess_payload(value);
      if (!image_type(payload).empty()) visit(value, payload, feature.name);
    }
  }
}

/// Short single values for the caption of a picture, for example "label 7, caption a word".
std::string caption_of(const format::ExampleFeatures& features) {
  constexpr std::size_t kMostParts = 3;
  constexpr std::size_t kPartBytes = 40;
  std::string text;
  std::size_t parts = 0;
  for (const format::FeatureView& feature : features.all()) {
    if (feature.count != 1 || feature.name.size() > kPartBytes || parts == kMostParts) continue;
    std::string value;
    if (feature.kind == format::FeatureKind::bytes) {
      format::FeatureValues values(feature);
      ByteView bytes;
      if (!values.next(bytes) || bytes.size() > kPartBytes || inspect::guess_payload(bytes) != inspect::Payload::text)
        continue;
      value = as_chars(bytes);
    } else {
      append_values(value, feature, 1);
      value = value.substr(1, value.size() - 2);
    }
    text += (parts++ == 0 ? "" : ", ") + std::string(feature.name) + ' ' + value;
  }
  return text;
}

}  // namespace

void RecordCards::add(const PlacedRecord& record) {
  const inspect::Payload payload = inspect::guess_payload(record.bytes);
  const bool is_image = !image_type(payload).empty();
  format::ExampleFeatures features;
  const bool is_example = payload == inspect::Payload::example && features.parse(record.bytes);
  bool has_image = is_image;
  if (is_example) for_each_image(features, [&](ByteView, inspect::Payload, std::string_view) { has_image = true; });
  const std::string id = std::to_string(record.id);
  html_ += "<article class=\"record" + std::string(has_image ? " picture" : "") + "\" id=\"record-" + id +
           "\" data-id=\"" + id + "\" data-payload=\"" + std::string(to_string(payload)) + "\">\n<h3>Record " + id +
           "</h3>\n";
  const std::string caption = is_example && has_image ? caption_of(features) : "";
  if (!caption.empty()) html_ += "<p class=\"caption\">" + xml_text(caption) + "</p>\n";
  const std::string note = "<p class=\"note\">" + xml_text(describe(payload, record.bytes)) + "; " +
                           format::human_bytes(record.bytes.size()) + "; shard " + std::to_string(record.shard) +
                           ", record " + std::to_string(record.record) + " there</p>\n";
  if (!is_example || !has_image) html_ += note;
  if (is_image) {
    add_image(record.bytes, payload, "record " + id);
  } else if (is_example) {
    for_each_image(features, [&](ByteView image, inspect::Payload kind, std::string_view name) {
      add_image(image, kind, std::string(format::utf8_prefix(name, kValueTextBytes)));
    });
    if (has_image) html_ += "<details><summary>features</summary>\n" + note;
    add_features(features);
    if (has_image) html_ += "</details>\n";
  } else if (payload == inspect::Payload::text || payload == inspect::Payload::json) {
    add_text(as_chars(record.bytes));
  } else if (payload != inspect::Payload::empty) {
    add_dump(record.bytes);
  }
  html_ += "</article>\n";
  ++records_;
}

void RecordCards::add_image(ByteView image, inspect::Payload payload, const std::string& name) {
  const std::uint64_t pixels = pixels_of(payload, image);
  if (image.size() > image_bytes_left_ || pixels > std::min(pixels_left_, kMostPixelsOfOne)) {
    html_ += "<p class=\"note left-out\">" + xml_text(describe(payload, image)) + ", " +
             format::human_bytes(image.size()) + ": left out, to keep the page small</p>\n";
    ++images_left_out_;
    return;
  }
  image_bytes_left_ -= image.size();
  pixels_left_ -= pixels;
  ++images_;
  html_ += "<img class=\"thumb\" alt=\"" + xml_text(name) + "\" title=\"" + xml_text(describe(payload, image)) +
           "\" src=\"data:" + std::string(image_type(payload)) + ";base64," + format::to_base64(image) + "\">\n";
}

void RecordCards::add_features(const format::ExampleFeatures& features) {
  html_ +=
      "<div class=\"wide\"><table class=\"features\"><thead><tr><th scope=\"col\">feature</th><th "
      "scope=\"col\">list</th>"
      "<th scope=\"col\">values</th><th scope=\"col\"></th></tr></thead><tbody>\n";
  const std::size_t shown = std::min(kMostFeatures, features.all().size());
  for (const format::FeatureView& feature : features.all().first(shown)) {
    const std::string name = xml_text(format::utf8_prefix(feature.name, kValueTextBytes));
    html_ += "<tr data-key=\"" + name + "\"><td>" + name + "</td><td>" + format::to_text(feature.kind) + "</td><td>" +
             std::to_string(feature.count) + "</td><td>";
    if (feature.kind == format::FeatureKind::bytes) {
      format::FeatureValues values(feature);
      std::size_t count = 0;
      for (ByteView value; count < kMostValues && values.next(value); ++count) {
        add_bytes_value(value);
      }
      if (feature.count > count) html_ += more(feature.count - count, "values");
    } else {
      std::string text;
      append_values(text, feature, kMostValues);
      html_ += "<code>" + xml_text(text) + "</code>";
    }
    html_ += "</td></tr>\n";
  }
  html_ += "</tbody></table></div>\n";
  if (features.all().size() > shown) html_ += more(features.all().size() - shown, "features");
}

void RecordCards::add_bytes_value(ByteView value) {
  const inspect::Payload payload = inspect::guess_payload(value);
  if (payload == inspect::Payload::text || payload == inspect::Payload::json || payload == inspect::Payload::empty) {
    const std::string_view text = as_chars(value);
    const std::string_view shown = format::utf8_prefix(text, kValueTextBytes);
    html_ += "<q>" + xml_text(shown) + "</q>";
    if (shown.size() < text.size()) html_ += more(text.size() - shown.size(), "bytes");
    return;
  }
  if (!image_type(payload).empty()) {
    html_ += "<span class=\"note\">" + xml_text(describe(payload, value)) + ", " + format::human_bytes(value.size()) +
             "</span> ";
    return;
  }
  html_ += "<code>" + format::hex(value.first(std::min(kValueHexBytes, value.size()))) +
           (value.size() > kValueHexBytes ? "\xE2\x80\xA6" : "") + "</code> <span class=\"note\">" +
           xml_text(describe(payload, value)) + ", " + format::human_bytes(value.size()) + "</span> ";
}

void RecordCards::add_text(std::string_view text) {
  const std::string_view shown = format::utf8_prefix(text, kTextBytes);
  html_ += "<pre>" + xml_text(shown) + "</pre>\n";
  if (shown.size() < text.size()) html_ += more(text.size() - shown.size(), "bytes");
}

void RecordCards::add_dump(ByteView bytes) {
  const ByteView shown = bytes.first(std::min(kDumpBytes, bytes.size()));
  html_ += "<pre>" + xml_text(hex_dump(shown)) + "</pre>\n";
  if (shown.size() < bytes.size()) html_ += more(bytes.size() - shown.size(), "bytes");
}

}  // namespace dovetail::tools
