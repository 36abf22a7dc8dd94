// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::tools {

/// Text for XML: markup is escaped, and hidden characters other than line breaks and tabs are shown
/// (format/text/visible.h).
std::string xml_text(std::string_view text);

/// A colour on a scale from dark blue over green to yellow, which colour-blind people can read.
/// `place` is in [0, 1].
std::string scale_colour(double place);

/// A drawing, built from top to bottom. Lengths are pixels.
class Svg {
 public:
  Svg(double width, std::string_view title);

  void begin_group(std::string_view id);
  void end_group();
  /// `hint` is the tooltip.
  void rect(double x, double y, double width, double height, std::string_view fill, std::string_view kind = {},
            std::string_view hint = {});
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1,
            std::string_view kind = {});
  /// `data` is the data of an SVG path.
  void path(std::string_view data, std::string_view fill, std::string_view kind = {});

  enum class Anchor { start, middle, end };
  struct TextStyle {
    double size = 12;
    Anchor anchor = Anchor::start;
    std::string_view colour = "#333";
    bool bold = false;
    bool turned = false;  ///< Runs upwards, along a vertical axis.
  };
  void text(double x, double y, std::string_view text, const TextStyle& style);
  void text(double x, double y, std::string_view text);

  /// The whole file, with this height.
  std::string finish(double height) const;
  /// The drawing alone, for an HTML page: no background, and the page's font.
  std::string finish_inline(double height) const;

 private:
  double width_;
  std::string title_;
  std::string body_;
};

/// A length with at most two decimals.
std::string length_text(double value);

}  // namespace dovetail::tools
