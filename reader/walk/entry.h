// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::detail {

/// Whoever copies a record may read so many bytes behind it: they are there, and nobody writes to them meanwhile.
inline constexpr std::size_t kCopySlack = 64;

/// A record between its run and its row, where all records of a dataset have one size.
struct Entry {
  /// Set in `where` if some of the run is damaged: whether this record is, its id tells.
  static constexpr std::uint64_t kDamage = std::uint64_t{1} << 63;

  std::uint64_t where = 0;  ///< Its address.
  std::uint64_t id = 0;     ///< In the dataset.
};

/// The same where records differ in size.
struct SizedEntry {
  /// For `shard`: the record lies in memory.
  static constexpr std::uint32_t kInMemory = ~std::uint32_t{0};

  /// Its address, perhaps with `Entry::kDamage`; else the block of the shard that is the record, or with
  /// `OrderKind::global` the number of the record in the shard.
  std::uint64_t where = 0;
  std::uint64_t id = 0;
  std::uint32_t bytes = 0;  ///< Not known with `OrderKind::global`.
  std::uint32_t shard = kInMemory;

  bool in_memory() const noexcept { return shard == kInMemory; }
};

/// Where a record of a run lies.
struct RecordExtent {
  /// Added to `begin` of a record that is not brought into memory.
  static constexpr std::uint32_t kPlaced = std::uint32_t{1} << 31;

  std::uint32_t begin = 0;  ///< From the beginning of the run's memory; or its block, from the first one of the run.
  std::uint32_t bytes = 0;
};

/// A run that may be dealt.
struct ReadyRun {
  std::uint64_t where = 0;                ///< The address of its memory, or of its record 0 where all have one size;
                                          ///< perhaps with `Entry::kDamage`.
  std::uint64_t first_id = 0;             ///< Of its records.
  const RecordExtent* extents = nullptr;  ///< Of its records; null where they have one size, or none can be read.
  std::uint64_t first_block = 0;
  std::uint32_t shard = 0;
  /// From one record to the next where all have one size: in TFRecords their frames lie between.
  std::uint32_t stride = 0;
};

/// A record of a run whose records differ in size.
inline SizedEntry entry_in(const ReadyRun& run, std::uint32_t record) noexcept {
  const std::uint64_t id = run.first_id + record;
  if (run.extents == nullptr) return {run.where, id, 0, SizedEntry::kInMemory};
  const RecordExtent extent = run.extents[record];
  if ((extent.begin & RecordExtent::kPlaced) == 0) {
    return {run.where + extent.begin, id, extent.bytes, SizedEntry::kInMemory};
  }
  return {run.first_block + (extent.begin - RecordExtent::kPlaced), id, extent.bytes, run.shard};
}

/// Whether nothing of a record is in memory, because it is damaged or its shard is lost.
inline bool is_lost(std::uint64_t where) noexcept {
  return where == Entry::kDamage;
}
/// The address of a record in memory. Needs: it is not damaged.
inline const std::byte* address_of(std::uint64_t where) noexcept {
  return reinterpret_cast<const std::byte*>(where & ~Entry::kDamage);  // NOLINT(performance-no-int-to-ptr)
}
inline std::uint64_t to_where(const std::byte* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace dovetail::detail
