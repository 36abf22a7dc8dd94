// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/delivery/rank_rows.h"
#include "reader/delivery/reader_setup.h"
#include "reader/fetch/damage_log.h"
#include "reader/fetch/run_store.h"
#include "reader/fetch/shard_table.h"
#include "reader/fill/column_decoders.h"
#include "reader/fill/fill_rules.h"
#include "reader/fill/slot_fill.h"
#include "reader/handover/brief_mutex.h"
#include "reader/handover/ready_queue.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"
#include "reader/trace/metrics_file.h"
#include "reader/trace/timeline_event.h"
#include "reader/walk/rank_walk.h"

namespace dovetail::detail {

/// How far the batches of a flight are.
struct FlightProgress : FlightStart {
  std::uint32_t walked = 0;
  std::size_t next_part = 0;         ///< Next part of the rows to fill.
  std::uint32_t filled = 0;          ///< Rows filled.
  std::uint32_t settled = 0;         ///< `filled` as of the last fill that ended.
  std::shared_ptr<SlotLease> lease;  ///< Set when filling begins.
  std::uint32_t reads_left = 0;      ///< Reads straight into rows that are not checked yet.
  std::chrono::nanoseconds filling_time{};
  std::uint32_t ready = 0;  ///< Batches that are complete.
  std::uint32_t handed_over = 0;
  std::optional<Error> error;  ///< Why the next batch cannot be completed.
  bool busy = false;           ///< A thread walks or fills this flight.
  /// Set while the fill waits for a shard: the change count of the table when the wait began.
  std::optional<std::uint64_t> shards_at;

  bool is_walked() const noexcept { return !busy && walked == row_count && (batches > 0 || end_of_epoch); }
};

/// The batches of one slot on their way to the trainer. Guarded by the reader's lock, with one
/// exception. While `busy` is set, the thread that walks owns `rows`, and the thread that fills
/// owns `rows`, `fill`, `next_part`, `filled` and `filling_time`.
struct Flight : FlightProgress {
  WalkedRows rows;
  SlotFill fill;

  explicit Flight(const FillRules& rules, const FillParts& parts) : fill(rules, parts) {}
};

/// The engine of a `BatchReader`: walks the rows of a rank, has their runs fetched, fills slots,
/// and hands the batches over in order.
///
/// There are four kinds of jobs, which take from a few to some hundred microseconds: walk the rows
/// of a slot, fill a walked slot, check a read that arrived, fetch a piece of a run. Any thread
/// claims the most urgent job under the lock, does it without the lock, and repeats. A trainer that
/// waits for a batch works too: it would be idle otherwise, and the data that it touches stays in
/// the caches of its core.
///
/// Ownership: shared, because a trainer may release a slot during destruction.
/// Threads:   all public functions may be called from any thread.
class RankReader final : public SlotListener, public std::enable_shared_from_this<RankReader> {
 public:
  explicit RankReader(ReaderSetup setup);
  ~RankReader();

  /// Begins to read ahead. Errors: those of `MetricsFile::begin`.
  Result<void> start();
  /// Waits for reads and jobs in flight. Idempotent.
  void stop();

  /// Errors: `not_yet` if there is no batch before `until`. A job that the trainer has begun is
  ///         finished first.
  ReadyQueue::Outcome next(ReadyQueue::Deadline until = {});
  void async_next(ReadyQueue::Handler handler);

  const Plan& plan() const noexcept { return setup_.plan; }
  std::size_t slab_bytes() const noexcept { return rules_.slab_bytes; }
  const SlotRing& ring() const noexcept { return *setup_.ring; }
  std::uint64_t plan_checksum() const noexcept { return setup_.plan.plan_checksum(setup_.options.start); }
  std::optional<Error> error() const { return queue_->error(); }
  State state() const;
  ReaderStats stats() const;

  void slot_is_free() noexcept override { kick(); }

 private:
  using Clock = ReadyQueue::Clock;
  /// Of a read that had to wait.
  struct Answer {
    Result<void> read;
    Clock::time_point asked;
    Clock::time_point arrived;
  };
  struct Job {
    enum class Kind : std::uint8_t { none, walk, fill, check, fetch };
    Kind kind = Kind::none;
    Flight* flight = nullptr;
    RowRead* read = nullptr;
    RunStore::Work fetch = {};
    std::unique_ptr<Answer> answer = {};  ///< Set if the job takes up a read that has arrived.
  };
  /// Holds the lock. The destructor unlocks, then completes the requests that got a batch
  /// meanwhile.
  class Lock {
   public:
    explicit Lock(RankReader& reader) : reader_(reader) { reader_.mutex_.lock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() {
      reader_.mutex_.unlock();
      reader_.queue_->complete();
    }

   private:
    RankReader& reader_;
  };
  /// Progress of the walk over all flights.
  struct Walked {
    std::uint64_t rows = 0;
    bool all = false;                         ///< The walk has reached the end.
    std::optional<std::uint64_t> blocked_at;  ///< Set while it waits for runs: the change count of the store then.
    std::optional<Error> failure;             ///< Why the walk cannot continue.
  };
  /// Threads at work.
  struct AtWork {
    unsigned workers = 0;   ///< Workers that run, or are about to.
    unsigned trainers = 0;  ///< Trainer threads that do a job.
    std::condition_variable_any no_trainer;
  };
  /// Reasons to start no more jobs.
  struct End {
    bool failed = false;
    std::atomic<bool> stopping = false;  ///< Written under the lock; a transform's job reads it without.
    std::once_flag stopped;
  };

  // rank_reader.cc: scheduling.
  void stop_all();
  /// Sets `outcome`. See `next`.
  void take_next(ReadyQueue::Outcome& outcome, ReadyQueue::Deadline until);
  /// Does one job on the trainer's thread. `now` is the start time of the job and becomes its end
  /// time. Returns false if there is no job.
  bool help(Clock::time_point& now) noexcept;
  void work();
  void kick() noexcept;
  void kick_locked() noexcept;
  bool has_work_locked() const;
  Job claim_locked() noexcept;
  Job choose_locked();
  bool wants_walk_locked() const;
  Job claim_walk_locked();
  Job claim_fill_locked();
  bool can_fill_locked(const Flight& flight) const;
  Flight* next_fill_locked() const;
  /// Whether the queue has all batches that it is to repeat. The reader reads nothing more then.
  bool replays_locked() const noexcept { return setup_.options.replay > 0 && to_replay_ == setup_.options.replay; }
  bool ended_locked() const { return end_.stopping || end_.failed || replays_locked(); }
  /// Does a job that starts at `now`; returns its end.
  Clock::time_point run(Job job, Clock::time_point now) noexcept;
  void fail_locked(Error error) noexcept;
  void hand_over_locked();
  Stall cause_locked() const;
  /// The shards whose reads had to wait longest on average, longest first.
  std::vector<ShardReads> slowest_shards() const;

  // rank_reader_jobs.cc: the jobs. They take their start time and return their end time.
  Clock::time_point run_walk(Flight& flight, Clock::time_point began);
  Clock::time_point run_fetch(Job job, Clock::time_point began);
  Clock::time_point run_fill(Flight& flight, Clock::time_point began);
  Clock::time_point run_check(Job job, Clock::time_point began);
  /// Returns the number of bytes that are now in memory.
  std::uint64_t fetch_piece(Job& job, Clock::time_point& now);
  /// Returns whether all walked rows of a part are filled.
  bool fill_part(Flight& flight);
  void read_rows_later(Flight& flight, const std::vector<RowRead*>& reads);
  /// Has the storage read. The job is claimed once the read has arrived.
  void read_later(Job job, const InputFile& file, std::uint64_t offset, ReadInto into);
  /// Counts a read that had to wait.
  void note_waited(const Answer& answer, std::uint32_t shard, std::uint64_t bytes);
  /// Records an event in the timeline, if there is one.
  void trace(TimelineEvent event) const;
  /// Records an event for the steps of a flight, from `row` to the last filled row.
  void trace_rows(TimelineEvent event, const Flight& flight, std::uint32_t row) const;
  void finish_fill(Flight& flight);
  /// The number of rows, counted from the reader's first row, before which all rows are filled.
  std::uint64_t filled_rows_locked() const;

  const ReaderSetup setup_;
  const std::shared_ptr<ReadyQueue> queue_;
  End end_;
  const FillRules rules_;  // refers to `end_`
  DamageLog damage_;
  ShardTable shards_;
  RunStore store_;
  RankRows rows_;  // used by the thread that walks
  const FillParts parts_;
  const std::unique_ptr<MetricsFile> metrics_;  // or null

  mutable BriefMutex mutex_;
  std::deque<std::unique_ptr<Flight>> flights_;
  std::vector<std::unique_ptr<Flight>> spare_;  // delivered, for reuse
  std::list<Job> arrived_;                      // jobs whose reads have arrived
  int fetches_out_ = 0;                         // pieces that the storage reads
  Walked walked_;
  AtWork at_work_;
  ReaderStats tally_;
  std::unordered_map<std::uint32_t, ShardReads> waited_;  // by shard; `mean` is the sum
  std::uint32_t to_replay_ = 0;                           // batches that the queue has to repeat
};

}  // namespace dovetail::detail
