// SPDX-License-Identifier: Apache-2.0
// What `inspect` finds; text and JSON are two views of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/features.h>
#include <dovetail/record_reader.h>
#include <dovetail/shard_info.h>

#include "tools/command/colours.h"
#include "tools/command/json.h"
#include "tools/inspect/record_survey.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

struct Inspection {
  std::string path;
  std::string format = "dovetail";
  bool finished = true;
  bool foreign = false;  ///< In another format than Dovetail's.

  // Sums and limits over all shards, or over the files of another format.
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t min_record_bytes = 0;
  std::uint64_t max_record_bytes = 0;

  RecordSurvey survey;
  std::optional<FeaturesReport> features;

  // Of a dataset.
  struct CodecShare {
    std::uint64_t blocks = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
  };
  CodecShare plain;
  CodecShare snappy;
  CodecShare zstd;
  std::string fingerprint;
  bool has_manifest = false;
  std::vector<ShardDescription> shards;

  // Of another format.
  std::string compression;
  std::uint64_t files = 0;
};

struct InspectOptions {
  SourceFormat from = SourceFormat::detect;
  bool full = false;      ///< Read every record of a dataset, instead of some where there are many.
  bool features = false;  ///< Read every record for statistics of features.
};

/// Reads the ends of every shard and some of the records; what is no dataset has no ends that tell, and is read whole. A
/// shard that was never finished is a result, with the error that says so in `unfinished`.
Result<Inspection> inspect(const std::string& path, const InspectOptions& options, std::optional<Error>& unfinished);

boost::json::object to_json(const Inspection& inspection, bool with_blocks);
std::string to_text(const Inspection& inspection, bool with_blocks, const Colours& colours);

}  // namespace dovetail::tools
