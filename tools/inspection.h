// SPDX-License-Identifier: Apache-2.0
// What `inspect` finds; text and JSON are two views of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

#include "tools/json.h"
#include "tools/record_input.h"

namespace dovetail::tools {

struct Inspection {
  std::string path;
  std::string format = "dovetail";
  bool finished = true;

  // Sums and limits over all shards, or over the TFRecord files.
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t min_record_bytes = 0;
  std::uint64_t max_record_bytes = 0;

  // Of a dataset.
  std::uint64_t blocks_plain = 0;
  std::uint64_t blocks_snappy = 0;
  std::string fingerprint;
  bool has_manifest = false;
  std::vector<ShardDescription> shards;

  // Of TFRecords.
  std::string compression;
  std::uint64_t files = 0;
};

/// Reads the ends of every shard; TFRecords, which have no ends that tell, are read whole. A shard that was never
/// finished is a result, with the error that says so in `unfinished`.
Result<Inspection> inspect(const std::string& path, std::optional<Error>& unfinished);

boost::json::object to_json(const Inspection& inspection, bool with_blocks);
std::string to_text(const Inspection& inspection, bool with_blocks);

}  // namespace dovetail::tools
