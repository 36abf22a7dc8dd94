// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <dovetail/features.h>

namespace dovetail::tools {

/// Most feature cards on the page; `--json` has all features.
inline constexpr std::size_t kMostFeatureCards = 1000;

/// Statistics of features for the page: the option that reads them as columns, if any, and a card for each. Needs: a
/// feature.
std::string features_html(const FeaturesReport& report, const std::string& columns);

}  // namespace dovetail::tools
