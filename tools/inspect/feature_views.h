// SPDX-License-Identifier: Apache-2.0
// Statistics of features, as text.
#pragma once

#include <string>
#include <string_view>

#include <dovetail/features.h>

#include "tools/command/colours.h"

namespace dovetail::tools {

/// A number with up to six digits; an integer of up to 15 digits is shown in full.
std::string number_text(double value);

/// Empty lists, and floats that are not finite, each after a separator.
std::string oddities(const FeatureStats& stats, std::string_view separator);

/// "1", "3 - 17": the lengths of lists.
std::string lengths_text(const FeatureStats& stats);

/// "10", "~60012": a tilde marks an estimate.
std::string distinct_text(const FeatureStats& stats);

/// A value of a feature in one line: texts in quotes, bytes that are not UTF-8 in hex.
std::string shown_value(const FeatureStats& stats, const std::string& value);

/// What was read, and what is missing.
std::string features_note(const FeaturesReport& report);

/// The option that reads all columns, quoted for a shell; empty if there is no column.
std::string columns_option(const FeaturesReport& report);

std::string to_text(const FeaturesReport& report, const Colours& colours);

}  // namespace dovetail::tools
