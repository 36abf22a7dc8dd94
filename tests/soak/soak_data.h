// SPDX-License-Identifier: Apache-2.0
// What a soak reads: small datasets of every shape that the reader treats in its own way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/batch.h>
#include <dovetail/dataset.h>
#include <dovetail/schema.h>

namespace dovetail::test {

/// A dataset, and what tells its records.
struct SoakData {
  std::string name;
  Dataset dataset;
  std::vector<std::size_t> hashes;  ///< Of the bytes of each record; of its name, where records become columns.
  std::optional<Schema> columns;
  bool damaged = false;  ///< Has a block that fails its check, and lacks a shard.
};

/// Writes them below `folder`, some MB in all.
std::vector<SoakData> make_soak_data(const std::string& folder);

/// What the rows of batches were, and that they were right.
struct Delivered {
  Hash128 digest;  ///< As `EpochPlan::digest` adds it up.
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;  ///< With a planned record.
  std::uint64_t lost = 0;  ///< Substituted, or empty for damage.

  Delivered& operator+=(const Delivered& other);
};

/// Checks each row of a batch against its id and status, and adds it. Throws `std::runtime_error`
/// for one that is wrong.
void check_batch(const SoakData& data, const Batch& batch, Delivered& delivered);

}  // namespace dovetail::test
