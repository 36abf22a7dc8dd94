// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/reader_setup.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "format/count_of.h"
#include "reader/delivery/open_runs.h"
#include "reader/memory/host_registration.h"
#include "reader/storage/watched_storage.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMaxSlots = 64;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kDefaultIoThreads = 8;
constexpr std::chrono::milliseconds kMostHungAfter = std::chrono::hours(24);
/// Slots, where rows are scattered: each has a step of some hundred bytes beside it.
constexpr std::uint64_t kMostScattered = 8192;
constexpr std::uint64_t kMostRowsAtOnce = 8192;
/// Batches that are smaller share a slot, so that what a step costs beside its bytes is spent once for all of them; but
/// never so many that slots take more than an eighth of the budget.
constexpr std::uint64_t kSharedSlotBytes = 256 << 10;
constexpr std::uint64_t kMostBatchesPerSlot = 64;
/// Smaller records cost more to scatter than that saves: noting where each goes, and a trainer that reads its rows from
/// memory instead of a cache.
constexpr std::uint64_t kLeastScattered = 256;

Error out_of_range(const std::string& name, std::uint64_t value, const std::string& allowed) {
  return Error(Errc::invalid_option, name + " = " + std::to_string(value) + " is out of range: " + allowed);
}

/// The callback, called by one thread at a time. A warning that cannot be written is no reason to stop.
std::function<void(std::string_view)> one_at_a_time(std::function<void(std::string_view)> log) {
  if (!log) return log;
  struct Guarded {
    std::mutex mutex;
    std::function<void(std::string_view)> log;
  };
  auto guarded = std::make_shared<Guarded>();
  guarded->log = std::move(log);
  return [guarded = std::move(guarded)](std::string_view line) {
    const std::lock_guard lock(guarded->mutex);
    try {
      guarded->log(line);
    } catch (...) {
    }
  };
}

Result<void> check(const ReaderOptions& options) {
  if (options.ranks.rank >= options.ranks.world) {
    return out_of_range("rank", options.ranks.rank,
                        "it must be below the world of " + std::to_string(options.ranks.world));
  }
  if (options.plan.world != 1 && options.plan.world != options.ranks.world) {
    return Error(Errc::invalid_option, "plan.world = " + std::to_string(options.plan.world) +
                                           " contradicts ranks.world = " + std::to_string(options.ranks.world));
  }
  if (options.ranks.local_world == 0) return out_of_range("local_world", 0, "at least 1");
  if (options.prefetch < 1 || options.prefetch > kMaxSlots)
    return out_of_range("prefetch", options.prefetch, "1 to 64");
  if (options.max_held < 1 || options.max_held > kMaxSlots)
    return out_of_range("max_held", options.max_held, "1 to 64");
  if (options.io_threads > kMaxThreads) return out_of_range("io_threads", options.io_threads, "0 to 1024");
  if (options.device < -1) {
    return Error(Errc::invalid_option,
                 "device = " + std::to_string(options.device) +
                     " is out of range: a number that CUDA counts from 0, or -1 for the current one");
  }
  if (options.hung_after < options.hung_after.zero() || options.hung_after > kMostHungAfter) {
    return Error(Errc::invalid_option,
                 "hung_after = " + std::to_string(options.hung_after.count()) + " ms is out of range: 0 to 24 hours");
  }
  if (options.hung_after == options.hung_after.zero() && options.on_hung_read != OnHungRead::wait) {
    return Error(Errc::invalid_option, "on_hung_read = retry needs a hung_after above 0");
  }
  if (options.decode_threads > kMaxThreads) return out_of_range("decode_threads", options.decode_threads, "0 to 1024");
  return {};
}

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

constexpr std::uint64_t kSlotAlignment = SlabLayout::kAlignment;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

/// What the largest block takes of read-ahead, as read and as decoded at the same time.
std::uint64_t largest_block(const Dataset& dataset) {
  std::uint64_t largest = 0;
  for (const ShardInfo& shard : dataset.shards()) {
    largest = std::max(largest, BufferPool::rounded(format::kBlockHeaderBytes + std::uint64_t{shard.max_block_stored}) +
                                    BufferPool::rounded(std::uint64_t{shard.max_block_raw} +
                                                        std::uint64_t{shard.max_block_records} * 4));
  }
  return largest;
}

/// What a batch takes.
struct BatchBytes {
  std::uint64_t least = 0;       ///< In its slab, without which nothing can be delivered;
  std::uint64_t most = 0;        ///< with the largest records.
  std::uint64_t least_held = 0;  ///< By the decoder of its columns, beside the slab.
  std::uint64_t most_held = 0;
};

BatchBytes batch_bytes(std::uint32_t rows, std::uint64_t largest_record, const ColumnDecoder* columns) {
  const std::uint64_t parts = SlabLayout::for_rows(rows).values;
  if (columns == nullptr) {  // records are below 4 GiB, and so are rows
    return {.least = parts + std::min<std::uint64_t>(largest_record, 1),
            .most = std::min(largest_record * rows, UINT64_MAX >> 1) + parts};
  }
  return {.least = parts + columns->fixed_bytes(rows),
          .most = parts + columns->most_bytes(rows, largest_record),
          .least_held = columns->least_held_bytes(rows),
          .most_held = columns->most_held_bytes(rows, largest_record)};
}

/// The shares with slots to scatter into, where that is possible and there is room for them.
std::optional<MemoryShares> scattered(MemoryShares shares, const Dataset& dataset, const Plan& plan,
                                      const ReaderOptions& options) {
  const PlanOptions& how = plan.options();
  // The turns of a mix are too uneven, and a global order takes one record from each block.
  if (options.replay > 0 || how.order == OrderKind::global || !how.mix.schedule.empty()) return std::nullopt;
  const bool shuffles = how.order == OrderKind::shuffle;
  std::uint64_t in_use = 1;  // records of a run that lie in what is in memory of it: all, or those of an extent
  std::uint64_t in_use_bytes = 0;
  std::uint64_t largest_record = 0;
  for (const ShardInfo& shard : dataset.shards()) {
    if (shard.records == 0) continue;
    const std::uint64_t bytes = shard.max_record_bytes;
    if (bytes == 0 || shard.min_record_bytes != bytes) return std::nullopt;
    largest_record = std::max(largest_record, bytes);
    const std::uint64_t most = std::max<std::uint64_t>(shard.max_block_records, kCachedExtentBytes / bytes);
    const std::uint64_t records =
        std::min(shuffles ? shard.run_records : std::min(most, shard.run_records), shard.records);
    in_use = std::max(in_use, records);
    in_use_bytes = std::max(in_use_bytes, records * bytes);
  }
  if (largest_record < kLeastScattered || largest_record >= kDirectRecordBytes) return std::nullopt;
  const std::uint64_t values = largest_record * how.batch;
  if (SlabLayout::for_rows(how.batch).values + values > shares.slab_bytes) return std::nullopt;

  // From the first use of a block to the last: one record of each open run in turn, then as long as the slowest of them
  // stays in the pool; of n records that leave a pool of k at random, the last does after about k ln n outputs.
  const std::uint64_t records = plan.records() / plan.lanes() + 1;
  const std::uint64_t open_runs = shuffles ? most_open_runs(plan, plan.dataset().shards) : 1;
  const std::uint64_t in_turn = std::min(records, open_runs * in_use);
  // A width is an int, but for libstdc++ 12, which gives it 64 bits: the product with a large pool needs them.
  const std::uint64_t log_in_turn = static_cast<std::uint64_t>(std::bit_width(in_turn)) * 7 / 10;
  const std::uint64_t pooled = shuffles && how.pool > 1 ? how.pool * (log_in_turn + 1) : 0;
  const std::uint64_t slot_rows = std::uint64_t{how.batch} * shares.batches_per_slot;
  const std::uint64_t rows = std::max<std::uint64_t>(1, plan.readers() * slot_rows / plan.lanes());
  // What planning needs of the open runs leaves the caches while blocks are read, so it is worth much at a time.
  const std::uint64_t rows_at_once = std::clamp(in_turn / 2, Planner::kRowsAtOnce, kMostRowsAtOnce);
  const std::uint64_t steps_at_once = rows_at_once / slot_rows + 1;
  const std::uint64_t least = shares.slots + steps_at_once + (in_turn + pooled) / rows;
  const std::uint64_t room = shares.read_ahead_bytes + shares.slots * shares.slot_bytes;
  const std::uint64_t half = (room - std::min(room, largest_block(dataset))) / 2;
  // By plan, a block counts as in memory from its first use to its last: what is open, and what the pool still holds of
  // the blocks before. Where slots would take the room for that, blocks were read again and again.
  const std::uint64_t extent =
      std::max(largest_block(dataset), 2 * BufferPool::rounded(std::max(in_use_bytes, kCachedExtentBytes)));
  const std::uint64_t extents = plan.lanes() / plan.readers() * std::min(in_turn, open_runs);
  const std::uint64_t open = extents > room / extent ? room : extents * extent;
  const std::uint64_t left = room - std::min(room, 2 * open);
  const std::uint64_t most =
      std::min(kMostScattered, std::min({half, left, std::uint64_t{UINT32_MAX}}) / shares.slot_bytes);
  if (least > most) return std::nullopt;
  shares.scatters = true;
  shares.rows_at_once = rows_at_once;
  // As many again, so that the next blocks can be read while the trainer uses up the batches of the present ones.
  shares.slots = static_cast<std::uint32_t>(std::min(most, least + in_turn / rows));
  shares.read_ahead_bytes = room - shares.slots * shares.slot_bytes;
  return shares;
}

}  // namespace

Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes,
                                  const ColumnDecoder* columns, unsigned threads) {
  std::uint64_t largest_record = 0;
  for (const ShardInfo& shard : dataset.shards()) {
    largest_record = std::max<std::uint64_t>(largest_record, shard.max_record_bytes);
  }
  MemoryShares shares;
  shares.slots = options.replay > 0 ? options.replay : options.prefetch + options.max_held;
  const BatchBytes batch = batch_bytes(options.plan.batch, largest_record, columns);
  // A decoder is in use for each slot that is being filled, by the threads and the trainer.
  const std::uint64_t decoders = batch.most_held > 0 ? std::min(shares.slots, threads + 1) : 0;
  const std::uint64_t parts = shares.slots + 2 * decoders;  // what they hold grows by doubling
  const std::uint64_t block_bytes = largest_block(dataset) + storage_bytes;
  const std::uint64_t left = options.memory_bytes - std::min(options.memory_bytes, block_bytes);
  // Where decoders need less than a slot each, slots get the rest.
  const std::uint64_t even = left / 2 / parts;
  const std::uint64_t held = std::min(batch.most_held, even);
  const std::uint64_t share = (left / 2 - 2 * decoders * held) / shares.slots / kSlotAlignment * kSlotAlignment;
  shares.slot_bytes = std::min(round_up(batch.most, kSlotAlignment), share);
  if (shares.slot_bytes < batch.least || held < batch.least_held) {
    const std::uint64_t row = columns == nullptr ? largest_record : 0;
    const std::uint64_t most_parts = 2 * parts;
    const std::uint64_t least = std::min(round_up(std::max(batch.least + row, batch.least_held), kSlotAlignment),
                                         (UINT64_MAX - block_bytes) / most_parts);
    return Error(Errc::budget_too_small,
                 "memory_bytes = " + std::to_string(options.memory_bytes) + " cannot hold " +
                     std::to_string(shares.slots) + " slots" +
                     (decoders > 0 ? ", what " + std::to_string(decoders) + " decoders of columns hold" : "") +
                     " and one block; " + std::to_string(most_parts * least + block_bytes) +
                     (columns == nullptr ? " are enough for one record per slot"
                                         : " are enough for what is fixed of the columns"));
  }
  shares.slab_bytes = shares.slot_bytes;
  // Those that share a slot have room for their largest records, and nothing to wait for but blocks.
  if (options.replay == 0 && shares.slab_bytes >= batch.most && largest_record < kDirectRecordBytes) {
    const std::uint64_t most = std::min(kSharedSlotBytes, share / 4) / shares.slab_bytes;
    shares.batches_per_slot = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, kMostBatchesPerSlot));
    shares.slot_bytes = shares.batches_per_slot * shares.slab_bytes;
  }
  shares.decoder_bytes = held;
  shares.read_ahead_bytes =
      options.memory_bytes - shares.slot_bytes * shares.slots - 2 * shares.decoder_bytes * decoders - storage_bytes;
  return shares;
}

MemoryShares share_for_scattering(const MemoryShares& shares, const Dataset& dataset, const Plan& plan,
                                  const ReaderOptions& options, bool page_cache) {
  if (!page_cache) return shares;
  if (const std::optional<MemoryShares> with_slots = scattered(shares, dataset, plan, options)) return *with_slots;
  // Slots of one batch are filled more exactly, which may be what is missing.
  MemoryShares unshared = shares;
  unshared.batches_per_slot = 1;
  unshared.slot_bytes = shares.slab_bytes;
  unshared.read_ahead_bytes += shares.slots * (shares.slot_bytes - shares.slab_bytes);
  return scattered(unshared, dataset, plan, options).value_or(shares);
}

namespace {

HostMemoryOptions host_memory(const ReaderOptions& options, bool scatters) {
  constexpr unsigned kMostTouchingThreads = 16;  // memory is not faster with more
  // Rows that are scattered go to thousands of pages in turn.
  const bool huge = options.huge_pages == HugePages::on || (options.huge_pages == HugePages::automatic && scatters);
  return {.registration = options.registration,
          .device = options.device,
          .huge_pages = huge,
          .refuse_huge_pages = options.huge_pages == HugePages::off,
          .provider = options.slot_memory,
          .threads = std::clamp(usable_cores() / options.ranks.local_world, 1u, kMostTouchingThreads)};
}

}  // namespace

Result<EngineSetup> set_up(const Dataset& dataset, const ReaderOptions& given) {
  if (Result<void> checked = check(given); !checked.has_value()) return checked.error();
  ReaderOptions options = given;
  options.plan.world = options.ranks.world;
  options.log = one_at_a_time(std::move(options.log));
  Result<Plan> plan = options.state.has_value() ? Plan::resume(dataset.shape(), options.plan, *options.state)
                                                : Plan::make(dataset.shape(), options.plan);
  if (!plan.has_value()) return plan.error();
  if (options.state.has_value()) options.start = plan->start();
  Result<std::uint64_t> steps = plan->steps(options.start.epoch);
  if (!steps.has_value()) return steps.error();
  if (options.start.step > *steps) {
    return out_of_range("start.step", options.start.step,
                        "epoch " + std::to_string(options.start.epoch) + " has " + format::count_of(*steps, "step"));
  }
  if (options.replay > *steps - options.start.step) {
    return out_of_range("replay", options.replay,
                        "epoch " + std::to_string(options.start.epoch) + " has " +
                            std::to_string(*steps - options.start.step) + " steps left from step " +
                            std::to_string(options.start.step));
  }
  if (options.log && plan->changes_world() && options.start.step < *steps && options.plan.assign == Assign::files) {
    options.log("the world has changed in epoch " + std::to_string(options.start.epoch) +
                ": the rest of it is cut even, whole files come back with the next epoch");
  }
  Result<std::unique_ptr<Storage>> storage =
      make_storage(options.storage, {.threads = options.io_threads == 0 ? kDefaultIoThreads : options.io_threads});
  if (storage.has_value() && options.hung_after > options.hung_after.zero()) {
    storage = watch_storage(
        std::move(*storage),
        {.after = options.hung_after, .gives_up = options.on_hung_read == OnHungRead::retry, .log = options.log});
  }
  if (!storage.has_value()) return storage.error();
  Result<std::unique_ptr<ColumnDecoders>> columns = std::unique_ptr<ColumnDecoders>();
  if (options.columns.has_value()) columns = ColumnDecoders::make(*options.columns);
  if (!columns.has_value()) return columns.error();
  const unsigned cores = std::max(1u, usable_cores() / options.ranks.local_world);
  const unsigned threads = options.decode_threads == 0 ? cores : options.decode_threads;
  Result<MemoryShares> memory = share_memory(dataset, options, (*storage)->facts().memory_bytes,
                                             *columns == nullptr ? nullptr : &(*columns)->sizes(), threads);
  if (!memory.has_value()) return memory.error();
  if (*columns != nullptr) {
    (*columns)->limit_held(memory->decoder_bytes);
  } else {
    *memory = share_for_scattering(*memory, dataset, *plan, options, !(*storage)->facts().direct);
  }
  Result<std::string> open_runs = check_open_runs(dataset, *plan, memory->read_ahead_bytes, options.replay == 0);
  if (!open_runs.has_value()) return open_runs.error();
  if (options.log && !open_runs->empty()) options.log(*open_runs);
  Result<std::uint32_t> max_open = open_shard_limit(*plan, (*storage)->facts().descriptors_per_file);
  if (!max_open.has_value()) return max_open.error();
  Result<std::shared_ptr<SlotRing>> ring =
      SlotRing::make(memory->slots, memory->slot_bytes, host_memory(options, memory->scatters));
  if (!ring.has_value()) return ring.error();
  // Where there is no device, nobody misses its memory.
  const bool misses = options.registration == Registration::preferred && !(*ring)->registered() &&
                      (options.device >= 0 || HostRegistration::device(options.device).has_value());
  if (options.log && misses) {
    options.log("batches are not in page-locked memory: " + (*ring)->memory().note());
  }
  return EngineSetup{.dataset = dataset,
                     .plan = std::move(*plan),
                     .options = std::move(options),
                     .storage = std::move(*storage),
                     .ring = std::move(*ring),
                     .scatters = memory->scatters,
                     .batches_per_slot = memory->batches_per_slot,
                     .slab_bytes = memory->slab_bytes,
                     .columns = std::move(*columns),
                     .rows_at_once = memory->rows_at_once,
                     .read_ahead_bytes = memory->read_ahead_bytes,
                     .max_open_shards = *max_open,
                     .threads = threads};
}

}  // namespace dovetail::detail
