// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace dovetail::bench {

/// What the datasets hold that delivery is measured on.
enum class WorkloadKind : std::uint8_t {
  tokens,  ///< W1: 1,000,000 records of 1 KiB, uint16 token ids with phrases that recur; Snappy about 1.75 at 64 KiB.
  images,  ///< W2: 20,000 records of 16 to 400 KiB, gamma-distributed around 110 KiB, random bytes.
  tiny,    ///< W3: 5,000,000 records of 64 B: a key, four Zipf numbers, ten random floats; Snappy about 1.18.
  lines,   ///< W4: 2,500,000 lines of text, 60 to 2,000 bytes, gamma-distributed around 400; Snappy about 1.6.
};
inline constexpr WorkloadKind kWorkloads[] = {WorkloadKind::tokens, WorkloadKind::images, WorkloadKind::tiny,
                                              WorkloadKind::lines};

/// The records of a workload: each a pure function of its number, the same on every machine.
///
/// Ownership: a value; copies share the tables that records are drawn with.
/// Threads:   const calls may run concurrently.
class Workload {
 public:
  static constexpr std::uint32_t kShards = 16;

  /// `scale` multiplies the number of records, not their size. Cost: some milliseconds for the
  /// tables.
  explicit Workload(WorkloadKind kind, double scale = 1.0);

  WorkloadKind kind() const noexcept { return kind_; }
  /// "w1", "w2", "w3" or "w4".
  std::string_view name() const noexcept;
  /// Names what the records are made by; data of another recipe is not to be used again.
  static std::string_view recipe() noexcept { return "dovetail bench data 1"; }

  std::uint64_t records() const noexcept { return records_; }
  /// Of `kShards` shards, which differ by up to 20 % from their mean, in their order. They add up
  /// to `records()`.
  std::vector<std::uint64_t> shard_records() const;
  /// No record is longer.
  std::uint32_t max_record_bytes() const noexcept;
  /// Needs: `record < records()`.
  std::uint32_t record_bytes(std::uint64_t record) const;
  /// Needs: `out.size() == record_bytes(record)`. Cost: about 2 ns a byte, of images 0.2, of lines
  ///        0.7.
  void fill(std::uint64_t record, std::span<std::byte> out) const;

  /// Whole records back to back from `first` on, as many as fit `bytes`, at least one: what a block
  /// holds.
  std::vector<std::byte> block(std::uint64_t first, std::size_t bytes) const;

 private:
  struct Tables;

  WorkloadKind kind_;
  std::uint64_t records_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace dovetail::bench
