// SPDX-License-Identifier: Apache-2.0
// Values as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/bytes.h>

#include "tools/command/colours.h"

namespace dovetail::tools {

/// "1.5 GiB", "512 B".
std::string human_bytes(std::uint64_t bytes);
/// "1.5 GiB/s".
std::string human_rate(double bytes_per_second);

/// With `digits` decimals.
std::string decimal(double value, int digits);
/// "12.5 %".
std::string percent(double share, int digits);
/// "100 %", "0.5 %". Shows "0 %" only for none and "100 %" only for all.
std::string share_of(std::uint64_t part, std::uint64_t whole);

/// Offset, 16 bytes in hex, and the same as text; one line per 16 bytes.
std::string hex_dump(ByteView bytes);

/// A text as one word of a POSIX shell.
std::string shell_quoted(std::string_view text);

/// "12 s", "3 min 05 s", "2 h 00 min".
std::string duration(double seconds);

/// Names and values, one pair per line, values aligned. Both may be untrusted: they are escaped
/// (format/text/visible.h).
class Listing {
 public:
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::uint64_t value) { add(name, std::to_string(value)); }
  std::string to_text(const Colours& colours = {}) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

/// Rows under a heading. Columns are right-aligned, except the last one if it is `text_last`. Cells are printed as they
/// are: escape untrusted text first.
class Table {
 public:
  explicit Table(std::vector<std::string> heading, bool text_last = false);
  void add(std::vector<std::string> row);
  std::string to_text(const Colours& colours = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool text_last_;
};

}  // namespace dovetail::tools
