// SPDX-License-Identifier: Apache-2.0
// An inspection as text. The page shares its phrases.
#pragma once

#include <cstddef>
#include <string>

#include "inspect/inspection.h"
#include "tools/command/render.h"

namespace dovetail::tools {

std::string to_text(const inspect::Inspection& inspection, bool with_blocks, const Colours& colours);

/// Format, counts, bytes, payload, codecs, ids and metadata.
void add_facts(const inspect::Inspection& inspection, Listing& listing);

/// The first `most` shards.
Table shards_table(const inspect::Inspection& inspection, std::size_t most = ~std::size_t{0});

/// For example "64 - 127", or one number.
std::string range_text(const inspect::SizeHistogram::Bucket& bucket);

/// Whether the sizes cover all records, and the number that is missing.
std::string sizes_note(const inspect::RecordSurvey& survey);

/// A line, for example "damaged: 3 of 64 records in the sample cannot be read: ...". Empty if all
/// were read.
std::string damage_text(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
