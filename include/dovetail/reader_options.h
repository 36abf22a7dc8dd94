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

/// What happens when reading or opening a shard takes longer than `ReaderOptions::hung_after`.
enum class OnHungRead : std::uint8_t {
  /// Logs a warning and keeps waiting.
  wait,
  /// The read fails with `ETIMEDOUT`, as damage would: `OnDamage` decides. `stop` waits no longer than that.
  fail,
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
  /// as many that follow each other as 128 KiB hold, within an eighth of `memory_bytes`.
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
  /// A read or an opening of a shard that takes longer is late; 0 never looks. `wait` logs it, again after twice as long, and
  /// so on; `fail` gives it up, for 24 MiB of the budget and one more copy of what has to wait for storage.
  /// docs/reliability.md says how many may hang.
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

  /// Gets warnings, one line and one call at a time, from `open`, from `next`, or from a thread of the reader: slots that are
  /// not registered, damage that was passed over, reads that hang. It must not call the reader.
  std::function<void(std::string_view)> log;

  // These are for finding out what limits a job.

  /// Gets what the reader does and when. Costs nothing where it is null.
  std::shared_ptr<Timeline> timeline;
  /// For measuring only: reads so many batches and hands out the same ones for ever, which no reader can exceed. Each takes a
  /// slot of `memory_bytes`. At most the steps that are left of the first epoch. 0, the default, reads as usual.
  std::uint32_t replay = 0;
};

}  // namespace dovetail
