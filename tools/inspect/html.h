// SPDX-License-Identifier: Apache-2.0
// Parts of an HTML page. All text goes through `xml_text`. Rows have their name as `data-key`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/command/render.h"

namespace dovetail::tools {

/// Names and values, one pair per row.
std::string html_listing(std::string_view id, const Listing& listing);

/// A table with numbers in all columns except the last, which has text.
std::string html_table(std::string_view id, const Table& table);

/// Counts, each with its share of a whole and a bar.
class HtmlCounts {
 public:
  /// The bar of `most` has the full length. Needs: `most > 0`.
  HtmlCounts(std::uint64_t whole, std::uint64_t most) : whole_(whole), most_(most) {}

  /// `kind` is a class of the style sheet.
  void add(std::string_view name, std::uint64_t count, std::string_view kind = {});
  std::string finish() const;

 private:
  std::uint64_t whole_;
  std::uint64_t most_;
  std::string rows_;
};

}  // namespace dovetail::tools
