// SPDX-License-Identifier: Apache-2.0
// Statistics of features, as text.
#pragma once

#include <string>
#include <string_view>

#include <dovetail/features.h>

#include "tools/command/render.h"

namespace dovetail::tools {

/// A number with up to six digits. Integers of up to 15 digits are shown in full.
std::string number_text(double value);

/// The counts of empty lists, and of floats that are not finite, each after a separator.
std::string oddities(const FeatureStats& stats, std::string_view separator);

/// The lengths of lists, for example "1" or "3 - 17".
std::string lengths_text(const FeatureStats& stats);

/// The share of the records that have a value of the feature; if none has one, of those that have
/// an empty list.
std::string records_share(const FeatureStats& stats, std::uint64_t records);

/// For example "10" or "~60012", where the tilde marks an estimate.
std::string distinct_text(const FeatureStats& stats);

/// A value of a feature in one line: texts in quotes, and bytes that are not UTF-8 in hex.
std::string shown_value(const FeatureStats& stats, const std::string& value);

/// The records that were read, and those that are missing.
std::string features_note(const FeaturesReport& report);

/// The option that reads all columns, quoted for a shell; empty if there is no column.
std::string columns_option(const FeaturesReport& report);

std::string to_text(const FeaturesReport& report, const Colours& colours);

}  // namespace dovetail::tools
