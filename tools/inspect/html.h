// SPDX-License-Identifier: Apache-2.0
// Parts of an HTML page. All untrusted text goes through `html_text`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dovetail::tools {

/// Text for the body or for an attribute in double quotes: markup is escaped, control characters
/// are shown as their pictures, and invalid UTF-8 becomes U+FFFD. Line breaks and tabs stay.
std::string html_text(std::string_view text);

/// A table with numbers in all columns except the last, which has text, as in `Table`.
class HtmlTable {
 public:
  HtmlTable(std::string_view id, const std::vector<std::string_view>& heading);
  /// The cells are text. `key` becomes the attribute `data-key` of the row.
  void add(std::string_view key, const std::vector<std::string>& cells);
  std::string finish() const;

 private:
  std::string html_;
};

/// Names and values, one pair per row.
class HtmlFacts {
 public:
  explicit HtmlFacts(std::string_view id);
  void add(std::string_view name, std::string_view value);
  std::string finish() const;

 private:
  std::string html_;
};

}  // namespace dovetail::tools
