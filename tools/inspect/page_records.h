// SPDX-License-Identifier: Apache-2.0
// The records on the inspection page.
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/error.h>
#include <dovetail/features.h>

#include "tools/inspect/record_cards.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Records at equal distances, the same in every run. Up to 96 of them are examined for their
/// features, and every fourth of these has a card.
struct PageRecords {
  /// `most_image_bytes` limits the total size of all images.
  explicit PageRecords(std::size_t most_image_bytes) : cards(most_image_bytes) {}

  RecordCards cards;
  FeatureCollector features;
  std::string trouble;  ///< The reason why some records could not be read; empty if all were read.
};

/// Errors: those of the readers, except damage, which `trouble` describes.
/// Cost:   reads the blocks of these records; in other formats, everything up to the last of them.
Result<void> take_records(inspect::Input input, std::uint64_t records, PageRecords& into);

}  // namespace dovetail::tools
