// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/open_runs.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "format/layout.h"
#include "format/tfrecord/tfrecord.h"
#include "reader/delivery/reader_setup.h"
#include "reader/fetch/buffer_pool.h"
#include "reader/plan/wide_math.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMinOpenShards = 8;
constexpr std::uint32_t kMaxOpenShards = 4096;

/// Consecutive shards that are permuted together, apart from other shards.
struct Shards {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The groups of shards that have an order of their own: all shards together, or in a mix each
/// source with a weight.
std::vector<Shards> ordered_apart(const Plan& plan) {
  const PlanOptions& options = plan.options();
  if (!options.mix.enabled()) return {{0, plan.dataset().shards.size()}};
  std::vector<Shards> sources;
  std::size_t first = 0;
  for (std::size_t source = 0; source < plan.dataset().source_shards.size(); ++source) {
    const std::size_t count = plan.dataset().source_shards[source];
    const bool used = std::any_of(options.mix.schedule.begin(), options.mix.schedule.end(),
                                  [&](const MixWeights& entry) { return entry.weights[source] != 0; });
    if (used) sources.push_back({first, count});
    first += count;
  }
  return sources;
}

std::span<const ShardShape> shapes_of(const Plan& plan, const Shards& shards) {
  return std::span<const ShardShape>(plan.dataset().shards).subspan(shards.first, shards.count);
}

std::uint64_t lanes_of_rank(const Plan& plan) {
  return plan.lanes() / plan.readers();
}

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return product_overflows(a, b) ? UINT64_MAX : a * b;
}

/// The most runs of a lane that are open at a time, if the lanes share these shards. docs/order.md,
/// "Groups and turns".
std::uint64_t most_open_runs(const Plan& plan, std::span<const ShardShape> shards) {
  const std::uint64_t least = plan.options().open_runs;
  std::uint64_t records = 0;
  std::uint64_t longest = 1;
  for (const ShardShape& shard : shards) {
    records += shard.records;
    longest = std::max(longest, std::min(shard.run_records, shard.records));
  }
  // With `files` the lengths of lanes differ too much for an estimate.
  const std::uint64_t runs = plan.options().assign == Assign::files ? 0 : records / plan.lanes() / longest;
  const std::uint64_t groups = std::max<std::uint64_t>(1, runs / least);
  return least + (least - 1 + groups - 1) / groups;
}

/// The mean memory that a record takes before it is in its row. A large record in a block of its
/// own takes none, because it is read or decoded straight into its row.
std::uint64_t mean_bytes(const ShardInfo& shard, bool places) {
  const std::uint64_t mean = shard.raw_bytes / shard.records + 1;
  if (mean <= kPlacedBytes || !places) return mean;
  // A shared block has at least two records, so at most 2 * (records - blocks) records are in
  // shared blocks.
  const std::uint64_t sharing = std::min(shard.records, 2 * (shard.records - std::min(shard.records, shard.blocks)));
  const std::uint64_t shared = multiply_divide(mean, sharing, shard.records);
  return shard.min_record_bytes >= kPlacedBytes ? shared : std::max(shared, kPlacedBytes / 4);
}

/// Memory beside the records: bytes between them and, if they differ in size, the table of their
/// places.
std::uint64_t bytes_beside(const ShardInfo& shard, bool one_size) {
  constexpr std::uint64_t kInATable = 4;        // the end of each record
  constexpr std::uint64_t kBesideABlock = 192;  // its header and alignment
  const bool framed = !shard.name.ends_with(format::kShardSuffix);
  const std::uint64_t beside = (framed ? format::kTfrecordHeaderBytes + format::kTfrecordFooterBytes : kInATable) +
                               (one_size ? 0 : sizeof(RecordExtent));
  return saturating_add(product(beside, shard.records), product(kBesideABlock, shard.blocks));
}

/// Read-ahead memory for the largest block of these shards, stored and decoded at the same time.
/// With `places`, large records that have a block of their own take none. A shard tells only
/// whether all of its records have one.
std::uint64_t largest_fetched(std::span<const ShardInfo> shards, bool places) {
  std::uint64_t largest = 0;
  for (const ShardInfo& shard : shards) {
    const std::uint64_t most = places && shard.blocks == shard.records ? kPlacedBytes : UINT64_MAX;
    const std::uint64_t stored = std::min<std::uint64_t>(shard.max_block_stored, most);
    const std::uint64_t raw = std::min<std::uint64_t>(shard.max_block_raw, most);
    largest = std::max(largest, BufferPool::rounded(format::kBlockHeaderBytes + stored) +
                                    BufferPool::rounded(raw + std::uint64_t{shard.max_block_records} * 4));
  }
  return largest;
}

/// The spare room of one lane: two rooms, each up to twice the size of what a group leaves in the
/// pool. The earlier room is still in use while the later one is filled.
std::uint64_t spare_bytes(std::uint64_t pool, std::uint64_t largest) {
  const std::uint64_t larger = saturating_add(pool, pool / 8 + largest);  // may exceed the mean
  const std::uint64_t room = saturating_add(product(2, larger), kCopySlack);
  return product(2, BufferPool::rounded(static_cast<std::size_t>(std::min(room, UINT64_MAX / 4))));
}

}  // namespace

std::optional<std::uint32_t> common_record_bytes(const Dataset& dataset) {
  std::optional<std::uint32_t> bytes;
  for (const ShardInfo& shard : dataset.shards()) {
    if (shard.records == 0) continue;
    if (shard.min_record_bytes != shard.max_record_bytes) return std::nullopt;
    if (shard.max_record_bytes != bytes.value_or(shard.max_record_bytes)) return std::nullopt;
    bytes = shard.max_record_bytes;
  }
  return bytes;
}

std::uint64_t largest_block(const Dataset& dataset) {
  return largest_fetched(dataset.shards(), false);
}

OpenBytes open_bytes(const Dataset& dataset, const Plan& plan, bool places) {
  OpenBytes bytes;
  const std::uint64_t lanes = lanes_of_rank(plan);
  if (plan.options().order == OrderKind::global) {
    for (const Shards& source : ordered_apart(plan)) {
      const auto shards = std::span<const ShardInfo>(dataset.shards()).subspan(source.first, source.count);
      bytes.most = saturating_add(bytes.most, product(lanes, largest_fetched(shards, places)));
    }
    return bytes;
  }
  const bool files = plan.options().assign == Assign::files;
  const bool shuffles = plan.options().order == OrderKind::shuffle;
  const bool one_size = common_record_bytes(dataset).has_value();
  for (const Shards& source : ordered_apart(plan)) {
    std::uint64_t runs = 0;
    std::uint64_t all = 0;
    std::uint64_t longest = 0;
    std::uint64_t record = 0;
    std::uint64_t largest = 0;
    std::uint64_t block = 0;
    for (const ShardInfo& shard : std::span<const ShardInfo>(dataset.shards()).subspan(source.first, source.count)) {
      if (shard.records == 0) continue;
      const std::uint64_t mean = mean_bytes(shard, places);  // 0: all go straight to rows
      const std::uint64_t run_records = std::min(shard.run_records, shard.records);
      const std::uint64_t held = mean == 0
                                     ? product(sizeof(RecordExtent), shard.records)
                                     : saturating_add(product(mean, shard.records), bytes_beside(shard, one_size));
      runs = saturating_add(runs, divide_up(shard.records, run_records));
      all = saturating_add(all, held);
      longest = std::max(longest, multiply_divide(run_records, held, shard.records));
      if (mean == 0) continue;
      record = std::max(record, mean);
      largest = std::max(largest, places ? std::min<std::uint64_t>(shard.max_record_bytes, kPlacedBytes)
                                         : std::uint64_t{shard.max_record_bytes});
      block = std::max<std::uint64_t>(block, shard.max_block_raw);
    }
    if (runs == 0) continue;
    longest = std::max<std::uint64_t>(longest, BufferPool::kSmallest);
    all = std::max(all, product(runs, BufferPool::kSmallest));
    const std::uint64_t share = files ? all : all / plan.readers();
    const std::uint64_t open = shuffles ? most_open_runs(plan, shapes_of(plan, source)) : 1;
    const std::uint64_t group = std::min(share, product(lanes * open, longest));
    if (shuffles) {
      const std::uint64_t pool = std::min(product(plan.options().pool, record), divide_up(share, lanes));
      bytes.pool = saturating_add(bytes.pool, product(lanes, spare_bytes(pool, largest)));
    }
    // The first and the last run of a lane may be parts of runs. Their blocks are read whole.
    const std::uint64_t edge = std::max<std::uint64_t>(block, BufferPool::kSmallest);
    const std::uint64_t edges = plan.lanes() > 1 ? product(2 * lanes, edge) : 0;
    if (!files) bytes.least = saturating_add(bytes.least, saturating_add(group, edges));
    bytes.most = saturating_add(bytes.most, saturating_add(std::min(share, saturating_add(group, group)), edges));
    bytes.of_each = saturating_add(bytes.of_each, product(2 * lanes, longest));
  }
  // Add a quarter: buffers are rounded up by at most an eighth, and runs differ in size.
  for (std::uint64_t* each : {&bytes.least, &bytes.most, &bytes.of_each}) {
    *each = saturating_add(*each, *each / 4);
  }
  return bytes;
}

std::uint64_t wanted_run_bytes(const OpenBytes& bytes) {
  return saturating_add(bytes.most, bytes.pool);
}

Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard) {
  constexpr std::uint64_t kOfTheTrainer = 16;  // descriptors left to the trainer and the storage
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinOpenShards;
  const std::uint64_t wanted = std::min<std::uint64_t>(plan.dataset().shards.size(), kMinOpenShards);
  const std::uint64_t free = limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, kOfTheTrainer);
  if (wanted > free / descriptors_per_shard) {
    return Error(Errc::resource_limit, "the process may have only " + std::to_string(limit.rlim_cur) +
                                           " files open; raise the limit (ulimit -n) to at least " +
                                           std::to_string(wanted * descriptors_per_shard + kOfTheTrainer));
  }
  const std::uint64_t share = limit.rlim_cur / 2 / descriptors_per_shard;
  return static_cast<std::uint32_t>(std::max(std::min<std::uint64_t>(share, kMaxOpenShards), wanted));
}

Result<std::string> check_open_runs(const Plan& plan, const OpenBytes& bytes, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs) {
  if (wanted_run_bytes(bytes) <= read_ahead_bytes) return std::string();
  if (plan.options().order == OrderKind::global) {
    const std::uint64_t lacking = bytes.most - read_ahead_bytes;
    // Up to half of the added memory goes to slots.
    return Error(Errc::budget_too_small,
                 "order = global needs a block for each lane of a rank, and for each source of a mix: " +
                     std::to_string(bytes.most) + " bytes, but memory_bytes leaves " +
                     std::to_string(read_ahead_bytes) + "; raise memory_bytes by " +
                     std::to_string(saturating_add(lacking, lacking)) + ", or lower lanes");
  }
  const std::uint64_t for_runs = read_ahead_bytes - std::min(read_ahead_bytes, bytes.pool);
  // A group has fewer than twice `open_runs` runs.
  const std::uint64_t runs_fit = (for_runs / std::max<std::uint64_t>(bytes.of_each, 1) + 1) / 2;
  const bool refused = whole_epochs && !plan.changes_world() && bytes.least > for_runs;
  const std::uint64_t needed = saturating_add(refused ? bytes.least : bytes.most, bytes.pool);
  const std::uint64_t missing = needed - read_ahead_bytes;
  const std::string what = "open_runs = " + std::to_string(plan.options().open_runs) + " needs up to " +
                           std::to_string(needed) + " bytes of memory, " + std::to_string(bytes.pool) +
                           " of them for the pool, but memory_bytes leaves " + std::to_string(read_ahead_bytes) + ": ";
  // Up to half of the added memory goes to slots.
  const std::string help = (runs_fit > 0 ? "open_runs = " + std::to_string(runs_fit) + " fits; or " : "") +
                           "raise memory_bytes by " + std::to_string(saturating_add(missing, missing)) +
                           ", lower pool, or pack with a lower run_records";
  if (refused) return Error(Errc::budget_too_small, what + help);
  return what + "too little for read-ahead; " + help;
}

}  // namespace dovetail::detail
