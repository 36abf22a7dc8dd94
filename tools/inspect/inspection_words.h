// SPDX-License-Identifier: Apache-2.0
// Phrases that the text and the page of an inspection share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/inspect/inspection.h"

namespace dovetail::tools {

/// "1.0".
std::string version_text(const ShardDescription& shard);

/// A value of metadata, cut where it is long; `--json` has all of it.
std::string beginning_of(const std::string& value);

/// "64 - 127", or one number.
std::string range_text(const SizeHistogram::Bucket& bucket);

/// Whether the sizes are those of all records, and what is missing.
std::string sizes_note(const RecordSurvey& survey);

/// "damaged: 3 of 64 records that were looked at cannot be read: ..." as a line, where there are such ones.
std::string damage_text(const Inspection& inspection);

/// "tf.train.Example; of 64 records looked at: 60 tf.train.Example, 4 other bytes".
std::string payload_text(const PayloadCounts& payloads);

/// Payloads that were met, the most frequent first.
std::vector<std::pair<Payload, std::uint64_t>> by_count(const PayloadCounts& payloads);

/// Blocks and bytes of one codec, and its share of the raw bytes.
std::string share_text(const Inspection::CodecShare& share, const Inspection& inspection);

/// Records per run; the smallest and the largest where shards differ. Needs at least one shard.
std::string run_text(const Inspection& inspection);

}  // namespace dovetail::tools
