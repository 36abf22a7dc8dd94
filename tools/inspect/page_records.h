// SPDX-License-Identifier: Apache-2.0
// The records that the page of an inspection shows.
#pragma once

#include <cstdint>
#include <string>

#include <dovetail/error.h>
#include <dovetail/features.h>

#include "tools/inspect/record_cards.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Records at equal distances all over an input, so that they are the same in every run: up to 96 are looked at for their
/// features, and every fourth of these has a card.
struct PageRecords {
  /// Images share so many bytes.
  explicit PageRecords(std::size_t most_image_bytes) : cards(most_image_bytes) {}

  RecordCards cards;
  FeatureCollector features;
  std::string trouble;  ///< What could not be read, and why; empty where nothing was missed.
};

/// Errors: those of the readers, except damage: `trouble` says what was damaged.
/// Cost:   reads the blocks of these records; of what is no dataset, all up to the last of them.
Result<void> take_records(inspect::Input input, std::uint64_t records, PageRecords& into);

}  // namespace dovetail::tools
