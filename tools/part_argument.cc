// SPDX-License-Identifier: Apache-2.0
#include "tools/part_argument.h"

#include <cstdint>
#include <string>

#include <dovetail/rank_context.h>

#include "format/text/number_text.h"
#include "format/try.h"

namespace dovetail::tools {

Result<ConvertPart> parse_part(std::string_view text) {
  if (text == "auto") {
    DOVETAIL_ASSIGN(const RankContext context, RankContext::from_environment());
    return ConvertPart{context.rank, context.world};
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto number = format::parse_number<std::uint32_t>(text.substr(0, slash));
    const auto parts = format::parse_number<std::uint32_t>(text.substr(slash + 1));
    if (number && parts && *number < *parts) return ConvertPart{*number, *parts};
  }
  return Error(Errc::invalid_option,
               "--part " + std::string(text) + ": it must be I/N with I from 0 to N - 1, or auto");
}

}  // namespace dovetail::tools
