// SPDX-License-Identifier: Apache-2.0
// Formats values for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::tools {

/// Colours for a terminal; without them all text stays as it is.
struct Colours {
  bool on = false;

  std::string heading(std::string_view text) const { return wrap("1", text); }  ///< Bold.
  std::string name(std::string_view text) const { return wrap("36", text); }    ///< Cyan.

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    if (!on || text.empty()) return std::string(text);
    return "\x1B[" + std::string(code) + 'm' + std::string(text) + "\x1B[0m";
  }
};

/// For example "1.5 GiB/s".
std::string human_rate(double bytes_per_second);

/// For example "12.5 %".
std::string percent(double share, int digits);
/// For example "0.5 %". "0 %" only if `part` is 0, and "100 %" only if it is `whole`.
std::string share_of(std::uint64_t part, std::uint64_t whole);

/// One line per 16 bytes: the offset, the bytes in hex, and the bytes as text.
std::string hex_dump(ByteView bytes);

/// The words with a separator between them.
std::string joined(const std::vector<std::string>& words, std::string_view separator);

/// For example "12 s", "3 min 05 s", "2 h 00 min".
std::string duration(double seconds);

/// Pairs of name and value, one per line, with values aligned. Both may be untrusted: `to_text`
/// escapes them (format/text/visible.h).
class Listing {
 public:
  void add(std::string_view name, std::string_view value) { lines_.emplace_back(name, value); }
  void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
  const std::vector<std::pair<std::string, std::string>>& lines() const noexcept { return lines_; }
  std::string to_text(const Colours& colours = {}) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

/// Rows under a heading. All columns are right-aligned, except the last one if `text_last`. Cells
/// may be untrusted: `to_text` escapes them.
class Table {
 public:
  explicit Table(std::vector<std::string> heading, bool text_last = false);
  void add(std::vector<std::string> row);
  /// The heading comes first.
  const std::vector<std::vector<std::string>>& rows() const noexcept { return rows_; }
  std::string to_text(const Colours& colours = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool text_last_;
};

}  // namespace dovetail::tools
