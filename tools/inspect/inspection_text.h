// SPDX-License-Identifier: Apache-2.0
// An inspection as text. The page shares its phrases.
#pragma once

#include <string>

#include "inspect/inspection.h"
#include "tools/command/render.h"

namespace dovetail::tools {

std::string to_text(const inspect::Inspection& inspection, bool with_blocks, const Colours& colours);

/// A value of metadata, cut if it is long. `--json` has all of it.
std::string beginning_of(const std::string& value);

/// For example "64 - 127", or one number.
std::string range_text(const inspect::SizeHistogram::Bucket& bucket);

/// Whether the sizes cover all records, and the number that is missing.
std::string sizes_note(const inspect::RecordSurvey& survey);

/// A line, for example "damaged: 3 of 64 records in the sample cannot be read: ...". Empty if all
/// were read.
std::string damage_text(const inspect::Inspection& inspection);

/// For example "tf.train.Example; of 64 records examined: 60 tf.train.Example, 4 other bytes".
std::string payload_text(const inspect::PayloadCounts& payloads);

/// Blocks and bytes of one codec, and its share of the raw bytes.
std::string share_text(const inspect::Inspection::CodecShare& share, const inspect::Inspection& inspection);

/// Records per run; a range if shards differ. Needs: at least one shard.
std::string run_text(const inspect::Inspection& inspection);

}  // namespace dovetail::tools
