// SPDX-License-Identifier: Apache-2.0
#include "tools/records/range.h"

#include <string>

#include "format/text/number_text.h"

namespace dovetail::tools {

Result<IdRange> parse_range(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const bool to_end = colon + 1 == text.size();
    const auto first = format::parse_number<std::uint64_t>(colon == 0 ? "0" : text.substr(0, colon));
    const auto end = to_end ? std::nullopt : format::parse_number<std::uint64_t>(text.substr(colon + 1));
    if (first && (to_end || (end && *end >= *first))) return IdRange{*first, end};
  }
  if (const auto only = format::parse_number<std::uint64_t>(text); only && *only != ~std::uint64_t{0}) {
    return IdRange{*only, *only + 1};
  }
  return Error(Errc::invalid_option, "--range = " + std::string(text) +
                                         ": it must be A:B, A:, :B or A with record numbers A <= B; B is not included");
}

}  // namespace dovetail::tools
