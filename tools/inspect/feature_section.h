// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <dovetail/features.h>

namespace dovetail::tools {

/// The most feature cards on the page. `--json` has all features.
inline constexpr std::size_t kMostFeatureCards = 1000;

/// Statistics of features for the page: the option that reads them as columns, if there is one, and
/// a card for each feature. Needs: at least one feature.
std::string features_html(const FeaturesReport& report, const std::string& columns);

}  // namespace dovetail::tools
