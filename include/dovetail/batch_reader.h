// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>

#include <dovetail/batch.h>
#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/plan.h>
#include <dovetail/rank_context.h>
#include <dovetail/reader_stats.h>
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
  /// Any columns that the records have; `Dataset::schema` gives those that their writer named. All records are then gathered
  /// from their blocks, and what is said below of the sizes of records goes for that of their columns.
  std::optional<Schema> columns;

  // These change only speed and memory.

  /// Slots filled, or being filled, ahead of the trainer, 1 to 64. A slot is a batch; of records below 16 KiB,
  /// as many that follow each other as 256 KiB hold, within an eighth of `memory_bytes`. There are more slots, within half of
  /// `memory_bytes`, where all records of a shard have one size from 256 bytes to 16 KiB: each is then copied to its row,
  /// in whatever batch, when it is read.
  std::uint32_t prefetch = 2;
  /// Batches that the trainer may hold at a time, 1 to 64. Each may keep a slot taken.
  std::uint32_t max_held = 2;
  /// One budget for slots, read-ahead, and what decoding into columns holds meanwhile, in bytes; kept whatever the records, but
  /// for what spills, and for what one record takes while it is decoded into columns. At least what one step needs.
  std::uint64_t memory_bytes = 256ull * 1024 * 1024;
  /// How bytes are read.
  StorageKind storage = StorageKind::automatic;
  /// Threads that wait for storage; 0 chooses.
  unsigned io_threads = 0;
  /// Reads that had to wait for storage, and shards that are being opened, are told in `log` and `stats` when they have not
  /// come back after so long, waiting in line included, and again after twice, four times as long, and so on. 0 never looks.
  /// With `OnHungRead::retry` such reads take 16 MiB of the budget, and a copy: what is given up may still be written to.
  std::chrono::milliseconds hung_after{30'000};
  /// Threads that check, decode and gather; 0 takes the cores of the node divided by the readers on it.
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

  /// Gets warnings, one line each and one at a time, in `open` or on a thread of the reader: why slots are not registered, damage that was
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

/// Delivers one rank's batches, in the order of the plan, as fast as storage and cores allow.
///
/// Threads:   a reader runs its own; its functions may be called from any thread, one `next` at a time.
/// Ownership: move-only. Destroying it stops it; batches stay valid.
/// Fork:      in a child that was forked while it was open, `next`, `async_next` (on an executor of the child's own: Asio's system
///            executor has no threads there) and `error` give `closed`, stopping and destroying it or its batches does
///            nothing, and nothing else may be called: its threads are not there, nor the bytes of batches where they are
///            registered. The parent's reader goes on.
/// Errors:    the first failure stops the reader, and every later `next` returns it again; `busy` and `slots_held` are
///            the caller's to mend and stop nothing.
class BatchReader {
 public:
  /// Completion signature of `async_next`.
  using NextSignature = void(boost::system::error_code, std::optional<Batch>);

  /// Plans, checks limits, makes the slots and begins to read ahead.
  /// Errors: those of `Plan::make` or `Plan::resume`, `invalid_option`, `budget_too_small`, `resource_limit`,
  ///         `registration_failed`.
  static Result<BatchReader> open(const Dataset& dataset, const ReaderOptions& options);

  BatchReader(BatchReader&&) noexcept;
  BatchReader& operator=(BatchReader&&) noexcept;
  ~BatchReader();

  const Plan& plan() const noexcept;
  /// Steps of an epoch, the same on every rank.
  Result<std::uint64_t> steps(std::uint32_t epoch) const { return plan().steps(epoch); }
  /// Steps of epochs [0, epochs).
  Result<std::uint64_t> total_steps(std::uint32_t epochs) const { return plan().total_steps(epochs); }
  /// Where the trainer stands: what `next` has handed over counts, what is only read ahead does not. After the end of an
  /// epoch it is the beginning of the next. The same on every rank that has taken the same steps.
  State state() const;
  /// Eight bytes that are equal on all ranks if they planned the same and began at the same place: for one optional
  /// all-reduce at the start.
  std::uint64_t check() const noexcept;
  /// Whether batches lie in memory registered with CUDA.
  bool registered() const noexcept;
  /// The most bytes of a batch's slab, but for spilled ones.
  std::size_t slab_bytes() const noexcept;

  /// Asks for the next batch.
  ///
  /// Completion: `void(error_code, std::optional<Batch>)`
  ///   - engaged: exactly `plan().options().batch` rows, bytes in host memory;
  ///   - empty:   the epoch is over, at the same step as on every other rank; the next call begins the next epoch;
  ///   - error:   see the class; `error()` has file, offset and reason.
  /// Threads: one call outstanding, a second completes with `busy`. The handler runs on its associated executor (Asio's
  ///          system executor where it has none), and never inside this call.
  /// Cancel:  total; a cancelled request loses no batch, the next call gets it.
  template <class CompletionToken>
  auto async_next(CompletionToken&& token) {
    return boost::asio::async_initiate<CompletionToken, NextSignature>(
        [this](auto handler) { start_next(Handler(std::move(handler))); }, token);
  }

  /// The next batch, waiting for it; empty at the end of an epoch.
  Result<std::optional<Batch>> next();

  /// The batches up to the end of the epoch as a range. Its iterators throw `Exception` on failure.
  class EpochRange;
  EpochRange epoch();

  /// The failure that stopped the reader, with file and offset.
  std::optional<Error> error() const;
  ReaderStats stats() const;

  /// Stops reading ahead, waits for reads in flight, and completes an outstanding call with `operation_canceled`.
  /// Idempotent. Does not wait for batches that are held.
  void stop();

 private:
  class Impl;
  using Handler = boost::asio::any_completion_handler<NextSignature>;
  explicit BatchReader(std::shared_ptr<Impl> impl);
  void start_next(Handler handler);
  void close() noexcept;
  std::shared_ptr<Impl> impl_;
};

/// An input range over the rest of an epoch: `for (Batch& batch : reader.epoch())`.
class BatchReader::EpochRange {
 public:
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Batch& operator*() const { return range_->current_.value(); }
    Iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { range_->advance(); }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    friend class EpochRange;
    bool at_end() const { return !range_->current_.has_value(); }
    explicit Iterator(EpochRange* range) : range_(range) {}
    EpochRange* range_ = nullptr;
  };

  Iterator begin() {
    advance();
    return Iterator(this);
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class BatchReader;
  explicit EpochRange(BatchReader* reader) : reader_(reader) {}
  void advance() {
    current_.reset();
    current_ = reader_->next().value();
  }
  BatchReader* reader_;
  std::optional<Batch> current_;
};

inline BatchReader::EpochRange BatchReader::epoch() {
  return EpochRange(this);
}

}  // namespace dovetail
