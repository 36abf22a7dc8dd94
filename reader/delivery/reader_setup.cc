// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/reader_setup.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/out_of_range.h"
#include "format/try.h"
#include "reader/delivery/open_runs.h"
#include "reader/memory/host_registration.h"
#include "reader/storage/thread_pool.h"
#include "reader/storage/watched_storage.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMaxSlots = 64;
constexpr std::uint32_t kMaxThreads = 1024;
constexpr unsigned kDefaultIoThreads = 8;
constexpr std::chrono::milliseconds kMostHungAfter = std::chrono::hours(24);
/// Batches with a smaller mean size share a slot, so that they share the fixed cost of a step.
/// Shared slots never take more than an eighth of the budget.
constexpr std::uint64_t kSharedSlotBytes = 128 << 10;
constexpr std::uint64_t kMostBatchesPerSlot = 64;
/// With `OrderKind::global`, where storage is slow, more groups are read ahead than one.
constexpr std::uint64_t kMostScattered = 16;
/// Bounds of a budget that is not given.
constexpr std::uint64_t kLeastBudget = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostBudget = std::uint64_t{4} << 30;

using format::check_range;
using format::out_of_range;

/// Serialises calls of the callback. A warning that cannot be written does not stop the reader.
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
  DOVETAIL_TRY(check_range("prefetch", options.prefetch, 1u, kMaxSlots));
  DOVETAIL_TRY(check_range("max_held", options.max_held, 1u, kMaxSlots));
  DOVETAIL_TRY(check_range("io_threads", options.io_threads, 0u, kMaxThreads));
  DOVETAIL_TRY(check_range("decode_threads", options.decode_threads, 0u, kMaxThreads));
  DOVETAIL_TRY(format::check_device(options.device));
  if (options.hung_after < options.hung_after.zero() || options.hung_after > kMostHungAfter) {
    return Error(Errc::invalid_option,
                 "hung_after = " + std::to_string(options.hung_after.count()) + " ms is out of range: 0 to 24 hours");
  }
  if (options.hung_after == options.hung_after.zero() && options.on_hung_read != OnHungRead::wait) {
    return Error(Errc::invalid_option, "on_hung_read = fail needs a hung_after above 0");
  }
  if (options.transform && !options.columns.has_value()) {
    return Error(Errc::invalid_option, "transform needs columns; name those that it fills");
  }
  if (options.transform.fill && options.transform.fill_batch) {
    return Error(Errc::invalid_option, "transform has both fill and fill_batch; set only one of them");
  }
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

std::uint64_t largest_record_of(const Dataset& dataset) {
  std::uint64_t largest = 0;
  for (const ShardInfo& shard : dataset.shards()) {
    largest = std::max<std::uint64_t>(largest, shard.max_record_bytes);
  }
  return largest;
}

/// The memory that a batch needs.
struct BatchBytes {
  std::uint64_t least = 0;       ///< Smallest slab that can deliver anything.
  std::uint64_t most = 0;        ///< Slab for the largest records.
  std::uint64_t least_held = 0;  ///< Least memory of its column decoder, beside the slab.
  std::uint64_t most_held = 0;
};

/// The slab size of a batch whose records have the mean size.
std::uint64_t mean_batch_bytes(const Dataset& dataset, std::uint32_t rows) {
  const std::uint64_t mean = dataset.raw_bytes() / std::max<std::uint64_t>(dataset.records(), 1);
  return SlabLayout::for_rows(rows).values + mean * rows;
}

BatchBytes batch_bytes(std::uint32_t rows, std::uint64_t largest_record, const ColumnDecoder* columns) {
  const std::uint64_t parts = SlabLayout::for_rows(rows).values;
  if (columns == nullptr) {  // no overflow: a record and the number of rows are below 2^32
    return {.least = parts + std::min<std::uint64_t>(largest_record, 1),
            .most = std::min(largest_record * rows, UINT64_MAX >> 1) + parts};
  }
  return {.least = parts + columns->fixed_bytes(rows),
          .most = parts + columns->most_bytes(rows, largest_record),
          .least_held = columns->least_held_bytes(rows),
          .most_held = columns->most_held_bytes(rows, largest_record)};
}

/// What a slot must have room for if no budget is given: twice the mean batch and, unless a batch
/// that does not fit may spill, one of the largest records.
std::uint64_t usual_slot(const Dataset& dataset, const ReaderOptions& options, const BatchBytes& batch) {
  const std::uint64_t mean = std::min(mean_batch_bytes(dataset, options.plan.batch), kMostBudget);
  const std::uint64_t record = options.oversize == Oversize::fail ? largest_record_of(dataset) : 0;
  const std::uint64_t usual = std::min(batch.least, kMostBudget) + 2 * mean + record;
  return round_up(std::min({batch.most, usual, kMostBudget}), kSlotAlignment);
}

}  // namespace

Result<MemoryShares> share_memory(const Dataset& dataset, const ReaderOptions& options, std::uint64_t storage_bytes,
                                  std::uint64_t run_bytes, const ColumnDecoder* columns, unsigned threads) {
  // The output of a transform may have any size.
  const std::uint64_t largest_record = options.transform ? kMaxColumnRowBytes : largest_record_of(dataset);
  MemoryShares shares;
  shares.slots = options.replay > 0 ? options.replay : options.prefetch + options.max_held;
  const BatchBytes batch = batch_bytes(options.plan.batch, largest_record, columns);
  // Each slot that is being filled uses a decoder, so there is one for each thread and one for the
  // trainer.
  const std::uint64_t decoders = batch.most_held > 0 ? std::min(shares.slots, threads + 1) : 0;
  const std::uint64_t parts = shares.slots + 2 * decoders;  // decoders grow by doubling
  const std::uint64_t block_bytes = largest_block(dataset) + storage_bytes;
  shares.budget = options.memory_bytes;
  if (shares.budget == 0) {
    // One half is for slots, the other one for runs.
    const std::uint64_t half = std::max(parts * usual_slot(dataset, options, batch), std::min(run_bytes, kMostBudget));
    shares.budget = std::clamp(2 * half + block_bytes, kLeastBudget, kMostBudget);
  }
  const std::uint64_t left = shares.budget - std::min(shares.budget, block_bytes);
  // If decoders need less memory than slots, slots get the rest.
  const std::uint64_t even = left / 2 / parts;
  const std::uint64_t held = std::min(batch.most_held, even);
  const std::uint64_t share = (left / 2 - 2 * decoders * held) / shares.slots / kSlotAlignment * kSlotAlignment;
  shares.slot_bytes = std::min(round_up(batch.most, kSlotAlignment), share);
  if (shares.slot_bytes < batch.least || held < batch.least_held) {
    const std::uint64_t row = columns == nullptr ? largest_record : 0;
    const std::uint64_t most_parts = 2 * parts;
    const std::uint64_t least = std::min(round_up(std::max(batch.least + row, batch.least_held), kSlotAlignment),
                                         (UINT64_MAX - block_bytes) / most_parts);
    return Error(
        Errc::budget_too_small,
        "memory_bytes = " + std::to_string(shares.budget) + " cannot hold " + std::to_string(shares.slots) +
            (options.replay > 0 ? " slots" : " slots (prefetch + max_held)") +
            (decoders > 0 ? ", the memory of " + std::to_string(decoders) + " column decoders" : "") +
            " and one block; " + std::to_string(most_parts * least + block_bytes) +
            (columns == nullptr ? " are enough for one record per slot"
                                : " are enough for the fixed part of the columns; a smaller batch needs less"));
  }
  shares.slab_bytes = shares.slot_bytes;
  // Batches share a slot only if it has room for their largest records, and no record is read
  // straight into its row. So one batch of a slot never holds back the others.
  if (options.replay == 0 && !options.transform && shares.slab_bytes >= batch.most && largest_record < kPlacedBytes) {
    const std::uint64_t mean = columns == nullptr ? mean_batch_bytes(dataset, options.plan.batch) : shares.slab_bytes;
    const std::uint64_t most = std::min(kSharedSlotBytes / mean, share / 4 / shares.slab_bytes);
    shares.batches_per_slot = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, 1, kMostBatchesPerSlot));
    shares.slot_bytes = shares.batches_per_slot * shares.slab_bytes;
  }
  shares.decoder_bytes = held;
  shares.read_ahead_bytes =
      shares.budget - shares.slot_bytes * shares.slots - 2 * shares.decoder_bytes * decoders - storage_bytes;
  return shares;
}

namespace {

HostMemoryOptions host_memory(const ReaderOptions& options) {
  constexpr unsigned kMostTouchingThreads = 16;  // more threads do not make memory faster
  return {.registration = options.registration,
          .device = options.device,
          .huge_pages = options.huge_pages == HugePages::on,
          .refuse_huge_pages = options.huge_pages == HugePages::off,
          .provider = options.slot_memory,
          .threads = std::clamp(usable_cores() / options.ranks.local_world, 1u, kMostTouchingThreads)};
}

Result<std::unique_ptr<ThreadPool>> make_workers(unsigned threads, const ReaderOptions& options) {
  try {
    // Keep idle threads: a transform may hold expensive objects for each thread.
    return std::make_unique<ThreadPool>(threads, static_cast<bool>(options.transform));
  } catch (const std::system_error& failure) {
    return Error(Errc::resource_limit, std::string("the threads of the reader cannot be started: ") + failure.what());
  }
}

/// Checks the starting position, and logs a note if whole files cannot be assigned yet.
Result<void> check_start(const Plan& plan, const ReaderOptions& options) {
  DOVETAIL_ASSIGN(const std::uint64_t steps, plan.steps(options.start.epoch));
  const std::string epoch = "epoch " + std::to_string(options.start.epoch);
  if (options.start.step > steps) {
    return out_of_range("start.step", options.start.step, epoch + " has " + format::count_of(steps, "step"));
  }
  const std::uint64_t left = steps - options.start.step;
  if (options.replay > 0 && options.epochs != 0 && options.start.epoch >= options.epochs) {
    return out_of_range(
        "replay", options.replay,
        "the reader ends before " + epoch + ", as epochs = " + std::to_string(options.epochs) + " asks");
  }
  if (options.replay > left) {
    return out_of_range(
        "replay", options.replay,
        epoch + " has " + std::to_string(left) + " steps left from step " + std::to_string(options.start.step));
  }
  if (options.log && plan.changes_world() && left > 0 && options.plan.assign == Assign::files) {
    options.log("the world has changed in " + epoch +
                ": the rest of it is divided evenly; the next epoch assigns whole files again");
  }
  return {};
}

Result<std::unique_ptr<Storage>> open_storage(const ReaderOptions& options, ThreadPool& workers) {
  const unsigned threads = options.io_threads == 0 ? kDefaultIoThreads : options.io_threads;
  Result<std::unique_ptr<Storage>> storage = make_storage(options.storage, threads);
  if (!storage.has_value() || options.hung_after == options.hung_after.zero()) return storage;
  return watch_storage(std::move(*storage), {.after = options.hung_after,
                                             .gives_up = options.on_hung_read == OnHungRead::fail,
                                             .log = options.log,
                                             .executor = workers.executor()});
}

void log_registration(const SlotRing& ring, const ReaderOptions& options) {
  if (!options.log || options.registration != Registration::preferred || ring.registered()) return;
  // Without a CUDA device, pageable memory costs nothing.
  if (options.device < 0 && !HostRegistration::device(options.device).has_value()) return;
  options.log("batches are not in page-locked memory: " + ring.memory().note());
}

}  // namespace

Result<ReaderSetup> set_up(const Dataset& dataset, const ReaderOptions& given) {
  DOVETAIL_TRY(check(given));
  ReaderOptions options = given;
  options.plan.world = options.ranks.world;
  options.log = one_at_a_time(std::move(options.log));
  DOVETAIL_ASSIGN(Plan plan, options.state.has_value() ? Plan::resume(dataset.shape(), options.plan, *options.state)
                                                       : Plan::make(dataset.shape(), options.plan));
  if (options.state.has_value()) options.start = plan.start();
  DOVETAIL_TRY(check_start(plan, options));
  const unsigned cores = std::max(1u, usable_cores() / options.ranks.local_world);
  const unsigned threads = options.decode_threads == 0 ? cores : options.decode_threads;
  DOVETAIL_ASSIGN(std::unique_ptr<ThreadPool> workers, make_workers(threads, options));
  DOVETAIL_ASSIGN(std::unique_ptr<Storage> storage, open_storage(options, *workers));
  std::unique_ptr<ColumnDecoders> columns;
  if (options.columns.has_value()) {
    DOVETAIL_ASSIGN(columns, ColumnDecoders::make(*options.columns));
  }
  // Where batches share a slot, no record is large enough to be placed.
  const OpenBytes bytes = open_bytes(dataset, plan, !options.columns.has_value());
  DOVETAIL_ASSIGN(const MemoryShares memory,
                  share_memory(dataset, options, storage->facts().memory_bytes, wanted_run_bytes(bytes),
                               columns == nullptr ? nullptr : &columns->sizes(), threads));
  options.memory_bytes = memory.budget;
  if (columns != nullptr) columns->limit_held(memory.decoder_bytes);
  const bool places = memory.batches_per_slot == 1 && !options.columns.has_value();
  DOVETAIL_ASSIGN(const std::string open_runs,
                  check_open_runs(plan, bytes, memory.read_ahead_bytes, options.replay == 0));
  if (options.log && !open_runs.empty()) options.log(open_runs);
  DOVETAIL_ASSIGN(const std::uint32_t max_open, open_shard_limit(plan, storage->facts().descriptors_per_file));
  DOVETAIL_ASSIGN(std::shared_ptr<SlotRing> ring,
                  SlotRing::make(memory.slots, memory.slot_bytes, host_memory(options)));
  log_registration(*ring, options);
  // The group that is read ahead takes as much memory as the open one.
  const std::uint64_t groups_fit = memory.read_ahead_bytes / std::max<std::uint64_t>(bytes.most, 1);
  const std::uint64_t spare_bytes = std::min(bytes.pool, memory.read_ahead_bytes) / 2;
  return ReaderSetup{.dataset = dataset,
                     .plan = std::move(plan),
                     .options = std::move(options),
                     .workers = std::move(workers),
                     .storage = std::move(storage),
                     .ring = std::move(ring),
                     .memory = memory,
                     .spare_bytes = spare_bytes,
                     .columns = std::move(columns),
                     .places = places,
                     .scattered_group = std::clamp<std::uint64_t>(groups_fit / 2, 1, kMostScattered),
                     .max_open_shards = max_open,
                     .threads = threads};
}

}  // namespace dovetail::detail
