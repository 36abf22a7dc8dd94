// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/delivery/loss_report.h"
#include "reader/delivery/rank_rows.h"
#include "reader/delivery/reader_setup.h"
#include "reader/delivery/replay.h"
#include "reader/fetch/damage_log.h"
#include "reader/fetch/run_store.h"
#include "reader/fetch/shard_table.h"
#include "reader/fetch/waited_reads.h"
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

/// The batches of one slot on their way to the trainer. The reader's lock guards it. While it is busy, the thread that
/// walks or fills it has `rows`, `filled`, `fill` and what goes with them to itself.
struct Flight : FlightStart {
  WalkedRows rows;  ///< Of whoever is at it.
  std::uint32_t walked = 0;
  std::size_t next_part = 0;         ///< Of the rows, to be filled.
  std::uint32_t filled = 0;          ///< Rows; of whoever is at it,
  std::uint32_t settled = 0;         ///< who says so here.
  std::shared_ptr<SlotLease> lease;  ///< From its first row on.
  SlotFill fill;
  bool begun = false;
  std::uint32_t reads_left = 0;  ///< Of those that the storage makes for it.
  std::chrono::nanoseconds filling_time{};
  std::uint32_t ready = 0;  ///< Batches,
  std::uint32_t handed_over = 0;
  std::optional<Error> error;              ///< Why the next one never will be.
  bool busy = false;                       ///< Somebody walks it, or fills it.
  std::optional<std::uint64_t> shards_at;  ///< It waits for a shard since so many changes of the table.

  explicit Flight(const FillRules& rules, const FillParts& parts) : fill(rules, parts) {}
  /// Makes it as new. Its lists keep their memory.
  void reset();
  bool is_walked() const noexcept { return !busy && walked == row_count && (batches > 0 || end_of_epoch); }
};

/// The machine behind a `BatchReader`: walks the rows of a rank, has the runs that they lie in fetched, fills slots with
/// them, and hands the batches over in order.
///
/// There are four kinds of work, each some microseconds to some hundred long: walk the rows of a slot, fill a slot that is
/// walked, check a read that has arrived, fetch a piece of a run. Any thread takes what is due soonest, does it without the lock, and looks again. A trainer
/// that waits for a batch works as well: it would otherwise stand still, and what it reads stays in the caches of its core.
///
/// Ownership: shared, since a trainer may release a slot while it is destroyed.
/// Threads:   all public functions may be called from any thread.
class RankReader final : public SlotListener, public std::enable_shared_from_this<RankReader> {
 public:
  explicit RankReader(ReaderSetup setup);
  ~RankReader();

  /// Begins to read ahead. Errors: those of `MetricsFile::begin`.
  Result<void> start();
  /// Waits for reads and work under way. Idempotent.
  void stop();

  /// Errors: `not_yet` where nothing has come at `until` and the piece of work at hand is done.
  ReadyQueue::Outcome next(ReadyQueue::Deadline until = {});
  void async_next(ReadyQueue::Handler handler);

  const Plan& plan() const noexcept { return plan_; }
  std::size_t slab_bytes() const noexcept { return rules_.slab_bytes; }
  const SlotRing& ring() const noexcept { return *ring_; }
  std::uint64_t plan_checksum() const noexcept { return plan_.plan_checksum(options_.start); }
  std::optional<Error> error() const { return queue_->error(); }
  State state() const;
  ReaderStats stats() const;

  void slot_is_free() noexcept override { kick(); }

 private:
  using Clock = ReadyQueue::Clock;
  struct Job {
    enum class Kind : std::uint8_t { none, walk, fill, check, fetch };
    Kind kind = Kind::none;
    Flight* flight = nullptr;
    RowRead* read = nullptr;
    RunStore::Work fetch = {};
    bool by_trainer = false;  ///< Claimed by one.
  };
  /// Holds the lock. Whom it has let get a batch is told once it is free.
  class Lock;
  /// How far the rows are walked.
  struct Walked {
    std::uint64_t rows = 0;
    bool busy = false;                        ///< Somebody walks.
    bool all = false;                         ///< Nothing comes behind.
    std::optional<std::uint64_t> blocked_at;  ///< It waits for runs since so many changes of the store.
    std::optional<Error> failure;             ///< Why nothing comes behind.
  };
  /// Who is at work.
  struct AtWork {
    unsigned workers = 0;   ///< That are running, or about to.
    unsigned trainers = 0;  ///< That do a job.
    std::condition_variable_any no_trainer;
  };
  /// Why no more work is begun.
  struct End {
    bool failed = false;
    bool stopping = false;
    std::once_flag stopped;
  };
  struct Tally {
    ReaderStats stats;
    WaitedReads waited;
  };

  // rank_reader.cc: who works when.
  void stop_all();
  /// Fills in an outcome.
  void take_next(ReadyQueue::Outcome& outcome, ReadyQueue::Deadline until);
  /// Does a piece of work on the trainer's thread, from `now` on, which becomes its end. False where there is none.
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
  bool ended_locked() const { return end_.stopping || end_.failed || replay_.complete(); }
  /// Does a job from `now` on; gives when it has ended.
  Clock::time_point run(Job job, Clock::time_point now) noexcept;
  void fail_locked(Error error) noexcept;
  void hand_over_locked();
  Stall cause_locked() const;

  // rank_reader_jobs.cc: what is done.
  // They begin at a time, and give when they have ended.
  Clock::time_point run_walk(Flight& flight, bool by_trainer, Clock::time_point began);
  Clock::time_point run_fetch(RunStore::Work work, bool by_trainer, Clock::time_point began);
  Clock::time_point run_fill(Flight& flight, bool by_trainer, Clock::time_point began);
  Clock::time_point run_check(Flight& flight, RowRead& read, bool by_trainer, Clock::time_point began);
  /// Gives how many bytes are there now.
  std::uint64_t fetch_piece(RunStore::Work work, bool by_trainer, Clock::time_point& now);
  /// Whether all rows of a part that are walked are filled.
  bool fill_part(Flight& flight);
  void read_later(Flight& flight, const std::vector<RowRead*>& reads);
  void arrived(Flight& flight, RowRead& read, Clock::time_point began) noexcept;
  void note_waited(const RunStore::Waited& read) noexcept;
  void note_waited_locked(const RunStore::Waited& read);
  /// Writes what has just been done on this thread into the timeline, if there is one.
  void trace(TimelineEvent event) const;
  /// The same of steps of a flight, from this row on.
  void trace_rows(TimelineEvent event, const Flight& flight, std::uint32_t row) const;
  void finish_fill(Flight& flight);
  /// All rows before this one are filled.
  std::uint64_t filled_rows_locked() const;

  const Dataset dataset_;
  const Plan plan_;
  const ReaderOptions options_;
  const std::shared_ptr<SlotRing> ring_;
  const std::shared_ptr<ReadyQueue> queue_;
  const std::unique_ptr<ThreadPool> workers_;  // outlives the storage, whose timer runs there
  const std::unique_ptr<Storage> storage_;
  const unsigned threads_;
  const std::unique_ptr<ColumnDecoders> columns_;  // or null
  const FillRules rules_;
  DamageLog damage_;
  LossReport losses_;
  ShardTable shards_;
  RunStore store_;
  RankRows rows_;  // of whoever walks
  const FillParts parts_;
  const std::unique_ptr<MetricsFile> metrics_;  // or null

  mutable BriefMutex mutex_;
  std::deque<std::unique_ptr<Flight>> flights_;
  std::vector<std::unique_ptr<Flight>> spare_;  // delivered
  std::deque<std::pair<Flight*, RowRead*>> arrived_;
  Walked walked_;
  AtWork at_work_;
  Tally tally_;
  Replay replay_;
  End end_;
};

}  // namespace dovetail::detail
