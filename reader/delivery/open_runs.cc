// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/open_runs.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "reader/plan/wide_math.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMinOpenShards = 8;
constexpr std::uint32_t kMaxOpenShards = 4096;

/// Shards that follow each other and are ordered on their own.
struct Shards {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// All shards, or in a mix those of each source with a weight.
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

/// Shards that are open at a time where each source has as many runs open as it may, and a batch begins new groups of runs
/// while the files of those before are still held: they are let go with the batch. A run of one record is done at once, and
/// without a mix others wait for it.
std::uint64_t shards_at_once(const Plan& plan) {
  const bool mix = plan.options().mix.enabled();
  if (!mix && plan.options().order != OrderKind::shuffle) return 0;
  const std::uint64_t lanes = lanes_of_rank(plan);
  const std::uint64_t rows = plan.options().batch;
  std::uint64_t all = 0;
  std::uint64_t open = 0;
  std::uint64_t begun = 0;
  for (const Shards& source : ordered_apart(plan)) {
    const std::span<const ShardShape> own = shapes_of(plan, source);
    std::uint64_t held = 0;
    std::uint64_t shortest = UINT64_MAX;
    for (const ShardShape& shard : own) {
      const std::uint64_t run = std::min(shard.run_records, shard.records);
      if (run == 0 || (!mix && run == 1)) continue;
      ++held;
      shortest = std::min(shortest, run);
    }
    if (held == 0) continue;
    const std::uint64_t most = std::min(held, lanes * most_open_runs(plan, own));
    const std::uint64_t group_rows = product(lanes * plan.options().open_runs, shortest);
    all += held;
    open += most;
    begun = saturating_add(begun, product(most, 1 + rows / group_rows));
  }
  return std::min(all, saturating_add(open, std::min(rows, begun)));
}

/// Smaller data are mostly in the page cache, from where reading again costs little.
constexpr std::uint64_t kMayNotFit = std::uint64_t{64} << 20;

/// What the open runs of a rank take of memory. Shards whose blocks have mostly one record count for nothing: such a record
/// goes to its row as soon as it is read.
struct OpenBytes {
  std::uint64_t least = 0;  ///< `open_runs` runs of the mean size; 0 of whole files, which share out nothing evenly.
  std::uint64_t most = 0;   ///< All that may be open of one group and the next, in the shard with the longest mean run.
  std::uint64_t of_each = 0;  ///< The same of a single run of each lane and source.
};

OpenBytes open_bytes(const Dataset& dataset, const Plan& plan) {
  OpenBytes bytes;
  const std::uint64_t lanes = lanes_of_rank(plan);
  const bool files = plan.options().assign == Assign::files;
  for (const Shards& source : ordered_apart(plan)) {
    std::uint64_t runs = 0;
    std::uint64_t all = 0;
    std::uint64_t longest = 0;
    for (const ShardInfo& shard : std::span<const ShardInfo>(dataset.shards()).subspan(source.first, source.count)) {
      if (shard.records < 2 * std::max<std::uint64_t>(shard.blocks, 1)) continue;
      const std::uint64_t run_records = std::min(shard.run_records, shard.records);
      runs = saturating_add(runs, divide_up(shard.records, run_records));
      all = saturating_add(all, shard.raw_bytes);
      longest = std::max(longest, multiply_divide(run_records, shard.raw_bytes, shard.records));
    }
    if (runs == 0) continue;
    const std::uint64_t open = std::min<std::uint64_t>(plan.options().open_runs, divide_up(runs, plan.lanes()));
    const std::uint64_t held = 2 * lanes * most_open_runs(plan, shapes_of(plan, source));
    const std::uint64_t share = files ? all : all / plan.readers();
    if (!files) bytes.least = saturating_add(bytes.least, std::min(share, product(lanes * open, all / runs)));
    bytes.most = saturating_add(bytes.most, std::min(share, product(held, longest)));
    bytes.of_each = saturating_add(bytes.of_each, product(2 * lanes, longest));
  }
  return bytes;
}

}  // namespace

std::uint64_t most_open_runs(const Plan& plan, std::span<const ShardShape> shards) {
  const std::uint64_t least = plan.options().open_runs;
  std::uint64_t records = 0;
  std::uint64_t longest = 1;
  for (const ShardShape& shard : shards) {
    records += shard.records;
    longest = std::max(longest, std::min(shard.run_records, shard.records));
  }
  // With `files` the lanes differ too much to tell.
  const std::uint64_t runs = plan.options().assign == Assign::files ? 0 : records / plan.lanes() / longest;
  const std::uint64_t groups = std::max<std::uint64_t>(1, runs / least);
  return least + (least - 1 + groups - 1) / groups;
}

Result<std::uint32_t> open_shard_limit(const Plan& plan, unsigned descriptors_per_shard) {
  constexpr std::uint64_t kOfTheTrainer = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMinOpenShards;
  const std::uint64_t share = limit.rlim_cur / 2 / descriptors_per_shard;  // the trainer has files of its own
  const std::uint64_t at_once = shards_at_once(plan);
  const std::uint64_t wanted =
      std::max<std::uint64_t>(std::min<std::size_t>(plan.dataset().shards.size(), kMinOpenShards), at_once);
  const std::uint64_t possible = std::max(
      share, (limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, kOfTheTrainer)) / descriptors_per_shard);
  if (wanted > possible) {
    return Error(Errc::resource_limit, "the process may have " + std::to_string(limit.rlim_cur) + " files open, and " +
                                           std::to_string(wanted) +
                                           " shards are read at a time: raise the limit (ulimit -n) to at least " +
                                           std::to_string(wanted * descriptors_per_shard + kOfTheTrainer) +
                                           (at_once > kMinOpenShards ? ", or lower open_runs" : ""));
  }
  return static_cast<std::uint32_t>(std::max(std::min<std::uint64_t>(share, kMaxOpenShards), wanted));
}

Result<std::string> check_open_runs(const Dataset& dataset, const Plan& plan, std::uint64_t read_ahead_bytes,
                                    bool whole_epochs) {
  if (plan.options().order != OrderKind::shuffle) return std::string();
  const OpenBytes bytes = open_bytes(dataset, plan);
  if (bytes.most <= read_ahead_bytes) return std::string();
  // Fewer than twice `open_runs` are open.
  const std::uint64_t fit = (read_ahead_bytes / std::max<std::uint64_t>(bytes.of_each, 1) + 1) / 2;
  const std::uint64_t missing = bytes.most - read_ahead_bytes;
  // What is added goes to slots as well, half of it at most.
  const std::string help = (fit > 0 ? "open_runs = " + std::to_string(fit) + " fits; or " : "") +
                           "raise memory_bytes by " + std::to_string(saturating_add(missing, missing)) +
                           ", or pack with fewer --run-records";
  const std::string what = "open_runs = " + std::to_string(plan.options().open_runs) + " needs ";
  const std::string left = ", and memory_bytes leaves " + std::to_string(read_ahead_bytes) + ": ";
  if (whole_epochs && !plan.changes_world() && bytes.least > std::max(read_ahead_bytes, kMayNotFit)) {
    return Error(Errc::budget_too_small, what + std::to_string(bytes.least) + " bytes of memory" + left + help);
  }
  return what + "up to " + std::to_string(bytes.most) + " bytes of memory" + left +
         "blocks may be read again and again; " + help;
}

}  // namespace dovetail::detail
