// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <dovetail/order.h>
#include <dovetail/plan.h>
#include <dovetail/rank_context.h>
#include <dovetail/schema.h>
#include <dovetail/slot_memory.h>
#include <dovetail/state.h>
#include <dovetail/storage_kind.h>
#include <dovetail/timeline.h>

namespace dovetail {

/// What a damaged block, or a record that does not fit the columns, does to the rows planned from it. Steps, rows and ids stay as planned in every case.
enum class OnDamage : std::uint8_t {
  fail,        ///< The reader stops with an error that names file, offset and records.
  substitute,  ///< The nearest good row of the same lane and batch is repeated: before it, else after it. Where there is
               ///< none, or no room for it in the slot, the row has no bytes.
  empty,       ///< The row has no bytes; in columns it is zeros, and empty where these are ragged or texts.
};

/// What happens to a batch that does not fit its slot.
enum class Oversize : std::uint8_t {
  fail,   ///< An error that names the largest record of the batch.
  spill,  ///< One-off memory of the right size, not registered, counted in the stats.
};

/// What becomes of a read, or of the opening of a shard, that has not come back for `ReaderOptions::hung_after`.
enum class OnHungRead : std::uint8_t {
  wait,  ///< It is told, and waited for, as long as it takes.
  retry,  ///< It is asked for once more, on a thread and through a descriptor of its own, and what comes back first counts. Where
  ///< neither has come back after as long again, it has failed with `ETIMEDOUT`: what it was to read is damaged,
  ///< or the shard lost, and `OnDamage` says what follows. Stopping the reader waits no longer for it than that.
};

/// How one rank reads.
struct ReaderOptions {
  // These decide what is delivered.

  /// Which rank this is. `plan.world` is taken from here; setting both to different values is an error.
  RankContext ranks;
  /// The plan; the same on all ranks.
  PlanOptions plan;
  /// The first batch. A step equal to the epoch's steps gives the end of that epoch at once.
  Position start;
  /// Goes on where this was taken, instead of at `start`, which is then left alone. `plan` must have the same dataset and
  /// order; its world, batch, replicas and lanes may differ, see `Plan::resume`. `State::options` gives what fits.
  std::optional<State> state;
  /// Epochs to read, counted from the first; 0 goes on for ever. After the last, every call gives the end.
  std::uint32_t epochs = 0;
  OnDamage on_damage = OnDamage::fail;
  OnHungRead on_hung_read = OnHungRead::wait;
  Oversize oversize = Oversize::fail;
  /// Decodes the features of every record into these columns (columns.h), in place of the bytes of rows: see `Batch::column`.
  /// Any columns that the records have; `Dataset::schema` gives those that their writer named. All records are then copied
  /// from their runs, and what is said below of the sizes of records goes for that of their columns.
  std::optional<Schema> columns;

  // These change only speed and memory.

  /// Slots filled, or being filled, ahead of the trainer, 1 to 64. A slot is a batch; of records below 16 KiB,
  /// as many that follow each other as 256 KiB hold, within an eighth of `memory_bytes`.
  std::uint32_t prefetch = 2;
  /// Batches that the trainer may hold at a time, 1 to 64. Each may keep a slot taken.
  std::uint32_t max_held = 2;
  /// One budget for slots, read-ahead, and what decoding into columns holds meanwhile, in bytes; kept whatever the records, but
  /// for what spills, and for what one record takes while it is decoded into columns. At least what one step
  /// needs, and the open runs.
  std::uint64_t memory_bytes = 256ull * 1024 * 1024;
  /// How bytes are read.
  StorageKind storage = StorageKind::automatic;
  /// Threads that wait for storage; 0 chooses.
  unsigned io_threads = 0;
  /// Reads that had to wait for storage, hints of reads to come, and shards that are being opened, are told in `log` and
  /// `stats` when they have not come back after so long, and again after twice, four times as long, and so on. 0 never looks.
  /// Waiting in line is included with `OnHungRead::wait`. With `OnHungRead::retry` reads take 24 MiB of the budget, and a copy:
  /// what is given up may still be written to. Shards that hang cost no rows of others as long as no more than 64 reads (with
  /// io_uring, as many as it has in flight) of 16 MiB in all, or 64 openings, hang for good; with ten second tries that do,
  /// there are no others, and with six second readings of what was damaged. Hints have a thread of their own, and are left out
  /// while one hangs. Not looked at are closing a file, and opening it anew for direct reads.
  std::chrono::milliseconds hung_after{30'000};
  /// Threads that check, decode and fill slots; 0 takes the cores of the node divided by the readers on it.
  unsigned decode_threads = 0;

  // These are about the memory of the slots.

  Registration registration = Registration::preferred;
  /// The CUDA device that batches are for: slots are registered in its context and lie on its NUMA node. -1 is the device
  /// that is current on the thread that opens the reader. A trainer with a device of its own among several should name
  /// it, or make it current, so that no context comes into being on device 0.
  int device = -1;
  HugePages huge_pages = HugePages::automatic;
  /// Gives the memory for the slots, instead of a mapping of the reader's own. It is never registered nor unregistered:
  /// `registered()` says whether CUDA knows it as page-locked, and `Registration::required` requires that.
  SlotMemoryProvider slot_memory;

  /// Gets warnings, one line each and one at a time, in `open`, in a `next`
  /// that helps, or on a thread of the reader: why slots are not registered, damage that was
  /// passed over, reads that hang. It must not call the reader. The library itself never prints.
  std::function<void(std::string_view)> log;

  // These are for finding out what limits a job.

  /// Gets what the reader does and when. Costs nothing where it is null.
  std::shared_ptr<Timeline> timeline;
  /// For measuring only: reads this many batches, and then hands out the same ones for ever, in order, without reading or
  /// copying. What the trainer reaches with them no reader can exceed. Epochs then never end, and ids, status, bytes and
  /// states are those of the first round. At most the steps that are left of the first epoch; each batch takes a slot of
  /// `memory_bytes`, in place of `prefetch` and `max_held` slots. 0 reads as usual.
  std::uint32_t replay = 0;
};

}  // namespace dovetail
