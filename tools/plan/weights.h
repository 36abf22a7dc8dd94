// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dovetail/plan.h>

namespace dovetail::tools {

/// Parses the weights of the sources of a mix: one list for the whole epoch, such as `3,1` or
/// `0.7,0.3`, or a schedule of lists, each after its first step, such as `0=3:1,1000=1:1`. Decimals
/// become whole numbers in the same proportion.
/// Errors: `invalid_option`.
Result<std::vector<MixWeights>> parse_weights(std::string_view text);

/// The schedule in the form that `parse_weights` accepts.
std::string to_text(const std::vector<MixWeights>& schedule);

}  // namespace dovetail::tools
