// SPDX-License-Identifier: Apache-2.0
// Makes the checksums of mutated bytes right again, or no mutation would get past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dovetail::fuzz {

/// What of a shard is repaired beside its checksums; sums of these.
enum Repair : unsigned {
  kRepairPlaces = 1,   ///< Offset, sequence number, first record and file id of every block; ids in the trailer.
  kRepairIndex = 2,    ///< The index lists the blocks that are there.
  kRepairFooter = 4,   ///< Sums, limits and fingerprint, where the footer keeps its length.
  kRepairTrailer = 8,  ///< Sizes and counts.
  kRepairAll = 15,
};

/// Repairs a shard in place as far as its blocks can be followed.
void repair_shard(std::span<std::byte> file, unsigned repair);

/// Repairs both checksums of every record of a TFRecord file, as far as lengths can be followed.
void repair_tfrecord(std::span<std::byte> file);

/// Repairs the checksum of every header of a tar, as far as sizes can be followed.
void repair_tar(std::span<std::byte> file);

}  // namespace dovetail::fuzz
