// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::detail {

/// Bytes after each record in memory that are readable and that nobody writes to, so that a copy
/// may read past the end of the record.
inline constexpr std::size_t kCopySlack = 64;

/// A record between its run and its row, if all records of a dataset have one size.
struct Entry {
  /// Set in `where` if some record of the run is damaged. `RunMemory::is_damaged(id)` then tells
  /// about this record.
  static constexpr std::uint64_t kDamage = std::uint64_t{1} << 63;

  std::uint64_t where = 0;  ///< Its address, perhaps with `kDamage`.
  std::uint64_t id = 0;     ///< In the dataset.
};

/// The same for records that differ in size.
struct SizedEntry {
  /// Value of `shard` for a record in memory.
  static constexpr std::uint32_t kInMemory = ~std::uint32_t{0};

  /// For a record in memory its address, perhaps with `Entry::kDamage`. Otherwise the number of the
  /// block that is the record.
  std::uint64_t where = 0;
  std::uint64_t id = 0;
  std::uint32_t bytes = 0;
  std::uint32_t shard = kInMemory;

  bool in_memory() const noexcept { return shard == kInMemory; }
};

/// The place of a record in its run.
struct RecordExtent {
  /// Added to `begin` if the record is not in memory, but is read straight into its row.
  static constexpr std::uint32_t kPlaced = std::uint32_t{1} << 31;

  /// In memory: the offset in the run's memory. Otherwise: `kPlaced` plus its block, counted from
  /// the run's first block.
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
};

/// A run whose records may be dealt.
struct ReadyRun {
  /// The address of the run's memory, or of record 0 if all records have one size; perhaps with
  /// `Entry::kDamage`. Only `kDamage` if the shard is lost.
  std::uint64_t where = 0;
  std::uint64_t first_id = 0;  ///< Dataset id of record 0.
  /// One for each record. Null if all records have one size, or if the shard is lost.
  const RecordExtent* extents = nullptr;
  std::uint64_t first_block = 0;
  std::uint32_t shard = 0;
  /// Bytes from one record to the next, if all have one size. TFRecord frames lie between records.
  std::uint32_t stride = 0;
};

/// The entry of a record, for runs whose records differ in size.
inline SizedEntry entry_in(const ReadyRun& run, std::uint32_t record) noexcept {
  const std::uint64_t id = run.first_id + record;
  if (run.extents == nullptr) return {run.where, id, 0, SizedEntry::kInMemory};
  const RecordExtent extent = run.extents[record];
  if ((extent.begin & RecordExtent::kPlaced) == 0) {
    return {run.where + extent.begin, id, extent.bytes, SizedEntry::kInMemory};
  }
  return {run.first_block + (extent.begin - RecordExtent::kPlaced), id, extent.bytes, run.shard};
}

/// Whether no byte of the record is in memory, because its shard is lost or the record is damaged.
inline bool is_lost(std::uint64_t where) noexcept {
  return where == Entry::kDamage;
}
/// The address of a record in memory. Needs: the record is not damaged.
inline const std::byte* address_of(std::uint64_t where) noexcept {
  return reinterpret_cast<const std::byte*>(where & ~Entry::kDamage);  // NOLINT(performance-no-int-to-ptr)
}
inline std::uint64_t to_where(const std::byte* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}

}  // namespace dovetail::detail
