// SPDX-License-Identifier: Apache-2.0
#include "tools/command/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "format/text/number_text.h"
#include "format/text/visible.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

using Colour = std::array<double, 3>;

// Nine colours of the "viridis" scale.
constexpr std::array<Colour, 9> kScale{{{68, 1, 84},
                                        {71, 44, 122},
                                        {59, 81, 139},
                                        {44, 113, 142},
                                        {33, 144, 141},
                                        {39, 173, 129},
                                        {92, 200, 99},
                                        {170, 220, 50},
                                        {253, 231, 37}}};

std::string attribute(std::string_view name, double value) {
  return ' ' + std::string(name) + "=\"" + length_text(value) + '"';
}
std::string attribute(std::string_view name, std::string_view value) {
  if (value.empty()) return {};
  return ' ' + std::string(name) + "=\"" + std::string(value) + '"';
}

}  // namespace

std::string length_text(double value) {
  std::string text = format::fixed(value, 2);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string xml_text(std::string_view text) {
  std::string escaped;
  for (const char c : format::visible_lines(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string scale_colour(double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  const double part = at - static_cast<double>(below);
  std::array<unsigned, 3> colour{};
  for (std::size_t i = 0; i < 3; ++i) {
    colour[i] = static_cast<unsigned>(std::lround(kScale[below][i] + part * (kScale[below + 1][i] - kScale[below][i])));
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour[0], colour[1], colour[2]);
  return text.data();
}

Svg::Svg(double width, std::string_view title) : width_(width), title_(xml_text(title)) {}

void Svg::begin_group(std::string_view id) {
  body_ += "<g" + attribute("id", id) + ">\n";
}
void Svg::end_group() {
  body_ += "</g>\n";
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill, std::string_view kind,
               std::string_view hint) {
  body_ += "<rect" + attribute("class", kind) + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + attribute("fill", fill);
  body_ += hint.empty() ? "/>\n" : "><title>" + xml_text(hint) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour, double width,
               std::string_view kind) {
  body_ += "<line" + attribute("class", kind) + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
           attribute("y2", y2) + attribute("stroke", colour) + attribute("stroke-width", width) + "/>\n";
}

void Svg::path(std::string_view data, std::string_view fill, std::string_view kind) {
  body_ += "<path" + attribute("class", kind) + attribute("d", data) + attribute("fill", fill) + "/>\n";
}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style) {
  constexpr std::array<std::string_view, 3> kAnchors{"", "middle", "end"};
  body_ += "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", style.size) +
           attribute("text-anchor", kAnchors[static_cast<std::size_t>(style.anchor)]) +
           attribute("fill", style.colour) + attribute("font-weight", style.bold ? "bold" : "");
  if (style.turned) body_ += " transform=\"rotate(-90 " + length_text(x) + ' ' + length_text(y) + ")\"";
  body_ += '>' + xml_text(text) + "</text>\n";
}

void Svg::text(double x, double y, std::string_view text) {
  this->text(x, y, text, {});
}

std::string Svg::finish(double height) const {
  const std::string size = length_text(width_) + ' ' + length_text(height);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
         attribute("width", width_) + attribute("height", height) + " viewBox=\"0 0 " + size +
         "\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>" + title_ +
         "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + body_ + "</svg>\n";
}

std::string Svg::finish_inline(double height) const {
  return "<svg role=\"img\"" + attribute("aria-label", title_) + " viewBox=\"0 0 " + length_text(width_) + ' ' +
         length_text(height) + "\">\n" + body_ + "</svg>\n";
}

}  // namespace dovetail::tools
