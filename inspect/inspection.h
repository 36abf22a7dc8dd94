// SPDX-License-Identifier: Apache-2.0
// The result of `inspect`; text and JSON are views of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/features.h>
#include <dovetail/record_reader.h>
#include <dovetail/source_options.h>

#include "inspect/progress.h"
#include "inspect/record_survey.h"

namespace dovetail::inspect {

/// Sums and limits over all shards of a dataset, or over the files of another format.
struct ShardSums {
  std::uint64_t records = 0;
  std::uint64_t blocks = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t file_bytes = 0;  ///< Set only for a dataset.
  std::uint64_t min_record_bytes = 0;
  std::uint64_t max_record_bytes = 0;

  /// Set only for a dataset.
  struct CodecShare {
    std::uint64_t blocks = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
  };
  CodecShare plain;
  CodecShare snappy;
  CodecShare zstd;

  void add(const ShardDescription& shard);
  /// Counts `more` records, at least one, of sizes between `least` and `most`.
  void add_records(std::uint64_t more, std::uint64_t least, std::uint64_t most);
};

struct Inspection : ShardSums {
  std::string path;
  std::string format = "dovetail";
  bool foreign = false;  ///< Whether the format is not Dovetail's.
  /// Set if a shard was never finished. Nothing else is known then.
  std::optional<Error> unfinished;

  RecordSurvey survey;
  std::optional<FeaturesReport> features;

  // Set only for a dataset.
  std::string fingerprint;
  bool has_manifest = false;
  std::vector<ShardDescription> shards;

  // Set only for another format.
  std::string compression;
  std::uint64_t files = 0;
  LeftOut left_out;

  /// Whether some records cannot be read because of damage.
  bool damaged() const noexcept { return survey.unreadable > 0 || (features && features->damaged_blocks > 0); }
};

struct InspectOptions {
  SourceFormat from = SourceFormat::detect;
  bool full = false;      ///< Read every record of a dataset, not a sample.
  bool features = false;  ///< Read every record for statistics of features.
  OnProgress progress = {};
};

/// Inspects a path.
///
/// Damaged blocks and a shard that was never finished are results, not errors.
/// Threads: one; with `features` those of `describe_features`.
/// Errors:  those of `open_input` and of the readers, except these; `manifest_mismatch`;
///          `operation_canceled`.
/// Cost:    reads the ends of every shard, and the records that `survey` reads. For another format,
///          reads all records.
Result<Inspection> inspect_path(const std::string& path, const InspectOptions& options);

/// Describes a shard of a dataset.
/// Errors: those of `describe_shard`; `manifest_mismatch` if the dataset lists another shard.
Result<ShardDescription> describe_shard_of(const Dataset& dataset, std::uint32_t number);

/// For example "1.0".
std::string version_text(const ShardDescription& shard);

boost::json::object to_json(const Inspection& inspection, bool with_blocks);
boost::json::object to_json(const FeaturesReport& report);

}  // namespace dovetail::inspect
