// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_reader.h>

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

/// Describes a shard of a dataset.
/// Errors: those of `describe_shard`; `manifest_mismatch` if the dataset lists another shard.
Result<ShardDescription> describe_shard_of(const Dataset& dataset, std::uint32_t number);

}  // namespace dovetail::inspect
