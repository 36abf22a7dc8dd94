// SPDX-License-Identifier: Apache-2.0
#include "tools/command/render.h"

#include <algorithm>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/hex.h"
#include "format/text/number_text.h"
#include "format/text/visible.h"

namespace dovetail::tools {

namespace {

constexpr std::size_t kDumpWidth = 16;

char printable(std::byte byte) {
  const char c = static_cast<char>(byte);
  return c >= 0x20 && c < 0x7F ? c : '.';
}

}  // namespace

std::string human_rate(double bytes_per_second) {
  return format::human_bytes(static_cast<std::uint64_t>(bytes_per_second)) + "/s";
}

std::string percent(double share, int digits) {
  return format::fixed(100 * share, digits) + " %";
}

std::string share_of(std::uint64_t part, std::uint64_t whole) {
  if (part == 0) return "0 %";
  if (part >= whole) return "100 %";
  return percent(std::clamp(static_cast<double>(part) / static_cast<double>(whole), 0.001, 0.999), 1);
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::string duration(double seconds) {
  // The limits also keep the conversion in range.
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 3e10));
  const auto two_digits = [](std::uint64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + two_digits(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + two_digits(whole / 60 % 60) + " min";
}

std::string hex_dump(ByteView bytes) {
  std::string text;
  for (std::size_t offset = 0; offset < bytes.size(); offset += kDumpWidth) {
    const ByteView line = bytes.subspan(offset, std::min(kDumpWidth, bytes.size() - offset));
    text += format::hex64(offset).substr(8) + ' ';
    for (std::size_t i = 0; i < kDumpWidth; ++i) {
      text += i % 8 == 0 ? "  " : " ";
      text += i < line.size() ? format::hex(line.subspan(i, 1)) : "  ";
    }
    text += "  |";
    for (const std::byte byte : line) text += printable(byte);
    text += "|\n";
  }
  return text;
}

std::string Listing::to_text(const Colours& colours) const {
  std::size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, format::visible(name).size());
  std::string text;
  for (const auto& [name, value] : lines_) {
    const std::string shown = format::visible(name);
    text += colours.name(shown) + std::string(width - shown.size() + 2, ' ') + format::visible(value) + '\n';
  }
  return text;
}

Table::Table(std::vector<std::string> heading, bool text_last) : text_last_(text_last) {
  rows_.push_back(std::move(heading));
}

void Table::add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

std::string Table::to_text(const Colours& colours) const {
  std::vector<std::vector<std::string>> rows = rows_;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = format::visible(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool left = text_last_ && i + 1 == row.size();
      line += (i > 0 ? "  " : "") + (left ? std::string() : std::string(widths[i] - row[i].size(), ' ')) + row[i];
    }
    text += (&row == rows.data() ? colours.heading(line) : line) + '\n';
  }
  return text;
}

}  // namespace dovetail::tools
