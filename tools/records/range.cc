// SPDX-License-Identifier: Apache-2.0
#include "tools/records/range.h"

#include <charconv>
#include <string>

namespace dovetail::tools {

namespace {

bool parse_number(std::string_view text, std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stop == end;
}

}  // namespace

Result<IdRange> parse_range(std::string_view text) {
  IdRange range;
  const std::size_t colon = text.find(':');
  bool good = colon != std::string_view::npos;
  if (good && colon > 0) good = parse_number(text.substr(0, colon), range.first);
  if (good && colon + 1 < text.size()) good = parse_number(text.substr(colon + 1), range.end.emplace());
  if (good && range.end && *range.end < range.first) good = false;
  if (good) return range;
  return Error(Errc::invalid_option, "--range = " + std::string(text) +
                                         ": it must be A:B, A: or :B with record numbers A <= B; B is not included");
}

}  // namespace dovetail::tools
