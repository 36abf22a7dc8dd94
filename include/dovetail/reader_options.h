// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dovetail/export.h>
#include <dovetail/order.h>
#include <dovetail/plan.h>
#include <dovetail/rank_context.h>
#include <dovetail/schema.h>
#include <dovetail/slot_memory.h>
#include <dovetail/state.h>
#include <dovetail/storage_kind.h>
#include <dovetail/timeline.h>
#include <dovetail/transform.h>

namespace dovetail {

/// How rows are handled whose block is damaged, whose record does not fit the columns, or is
/// rejected by the transform. Steps, rows and ids stay as planned in every case.
enum class OnDamage : std::uint8_t {
  /// The reader stops with an error that names file, offset and records.
  fail,
  /// Repeats the nearest good row of the same lane and batch: before it, else after it. If there is
  /// none, or no room for it in the slot, the row has no bytes.
  substitute,
  /// The row has no bytes. In columns it is zeros, and empty in ragged columns and texts.
  empty,
};

/// How a batch is handled that does not fit its slot.
enum class Oversize : std::uint8_t {
  /// An error that names the step and how much memory it needs.
  fail,
  /// One-off memory of the right size, not registered, counted in the stats.
  spill,
};

/// What happens when reading or opening a shard takes longer than `ReaderOptions::hung_after`.
enum class OnHungRead : std::uint8_t {
  /// Logs a warning and keeps waiting.
  wait,
  /// The read fails with `ETIMEDOUT`, as damage would: `OnDamage` decides. `stop` waits no longer
  /// than that for any piece of a read, 256 KiB.
  fail,
};

/// Options of one rank's reader.
struct DOVETAIL_EXPORT ReaderOptions {
  // These decide what is delivered.

  /// The rank of this process. `plan.world` is taken from here; setting both to different values is
  /// an error.
  RankContext ranks = {};
  /// The plan; the same on all ranks.
  PlanOptions plan = {};
  /// Position of the first batch. A step equal to the epoch's steps gives the end of that epoch at
  /// once.
  Position start = {};
  /// Continues where this state was taken; `start` is then ignored. `plan` must have the same
  /// dataset and order. World, batch, replicas and lanes may differ, see `Plan::resume`.
  /// `State::options` returns options that fit.
  std::optional<State> state = {};
  /// The reader ends before this epoch, wherever it begins; every later call gives the end. So a
  /// job that resumes gives the same number. 0 (default) continues for ever.
  std::uint32_t epochs = 0;
  OnDamage on_damage = OnDamage::fail;
  OnHungRead on_hung_read = OnHungRead::wait;
  Oversize oversize = Oversize::fail;
  /// Decodes the features of every record into these columns (columns.h, `Batch::column`), instead
  /// of the bytes of rows. Any columns of the records are possible; `Dataset::schema` returns those
  /// that the writer named. All records are then copied from their runs, and sizes of records below
  /// mean sizes of their columns.
  std::optional<Schema> columns = {};
  /// Fills the rows of `columns` from records of any kind, in place of decoding their features, on
  /// the threads of the reader (transform.h). Each slot holds one batch. Slots for ragged columns
  /// and texts get all that `memory_bytes` allows, since nothing bounds their rows.
  Transform transform = {};

  // These change only speed and memory.

  /// Slots filled, or being filled, ahead of the trainer, 1 to 64. Default 2. A slot holds one
  /// batch. For records below 16 KiB it holds consecutive batches up to 128 KiB, within an eighth
  /// of `memory_bytes`.
  std::uint32_t prefetch = 2;
  /// Batches that the trainer may hold at a time, 1 to 64. Default 2. Each may occupy a slot.
  std::uint32_t max_held = 2;
  /// Budget in bytes for slots, read-ahead, and decoding into columns; spilled batches and a record
  /// being decoded come on top. 0 (default): 256 MiB, or up to 4 GiB if the open runs, or slots for
  /// twice the mean batch and (unless `spill`) one largest record, need it: `stats().budget_bytes`.
  std::uint64_t memory_bytes = 0;
  /// Backend that reads the shards.
  StorageKind storage = StorageKind::automatic;
  /// Threads that wait for storage; 0 (default) chooses.
  unsigned io_threads = 0;
  /// A read or an opening of a shard that takes longer is late; default 30 s, 0 never checks.
  /// `wait` logs it, again after twice as long, and so on. `fail` abandons it; this takes 18 MiB of
  /// the budget, 26 with `io_uring_direct`, and one more copy of what has to wait for storage.
  /// docs/reliability.md has the limit.
  std::chrono::milliseconds hung_after{30'000};
  /// Threads that check, decode and fill slots. 0 (default) uses the cores of the node divided by
  /// its readers.
  unsigned decode_threads = 0;

  // These are about the memory of the slots.

  Registration registration = Registration::preferred;
  /// CUDA device of the batches: slots are registered in its context and lie on its NUMA node. -1
  /// (default) is the device that is current on the thread that opens the reader. If the trainer
  /// uses one of several devices, set this or make the device current. Otherwise a context is
  /// created on device 0.
  int device = -1;
  HugePages huge_pages = HugePages::automatic;
  /// Provides the memory of the slots, instead of a mapping of the reader's own. It is never
  /// registered or unregistered. `registered()` tells whether CUDA knows it as page-locked;
  /// `Registration::required` requires that.
  SlotMemoryProvider slot_memory = {};

  /// Receives warnings, one line and one call at a time, from any call of the reader, also `stop`
  /// and the destructor, or from a thread of its own. Warnings are: slots that are not registered,
  /// open runs that leave little read-ahead, a change of the world, damaged or rejected records
  /// that were skipped, hung reads, metrics not written or of another rank. Must not call the
  /// reader.
  std::function<void(std::string_view)> log = {};

  // These help to find what limits a job.

  /// Records what the reader does and when. Costs nothing if it is null.
  std::shared_ptr<Timeline> timeline = {};
  /// Local path, one for each rank, of a Prometheus textfile of the stats; empty is none. It is
  /// replaced by `open`, after a batch if 15 s have passed, at the end of an epoch, and by `stop`.
  /// A write that fails is an error of `open`; later it is a warning, once.
  std::string metrics = {};
  /// For measuring only: reads this many batches and delivers the same ones for ever, an upper
  /// bound for any reader. Each takes a slot of `memory_bytes`. At most the remaining steps of the
  /// first epoch. 0 (default) reads normally.
  std::uint32_t replay = 0;
};

}  // namespace dovetail
