// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>

#include "reader/delivery/brief_mutex.h"
#include "reader/delivery/gather.h"
#include "reader/delivery/pipeline.h"
#include "reader/delivery/planner.h"
#include "reader/delivery/read_window.h"
#include "reader/delivery/ready_queue.h"
#include "reader/delivery/replay.h"
#include "reader/delivery/step.h"
#include "reader/delivery/timeline_event.h"
#include "reader/fetch/shard_table.h"
#include "reader/fetch/waited_reads.h"
#include "reader/fill/column_decoders.h"
#include "reader/storage/storage.h"
#include "reader/storage/thread_pool.h"

namespace dovetail::detail {

/// Everything that an engine is made from, checked and sized.
struct EngineSetup {
  Dataset dataset;
  Plan plan;
  ReaderOptions options;
  std::unique_ptr<Storage> storage;
  std::shared_ptr<SlotRing> ring;
  bool scatters = false;  ///< Steps are laid out as they are planned, each in a slot.
  std::uint32_t batches_per_slot = 1;
  std::size_t slab_bytes = 0;               ///< Of each.
  std::unique_ptr<ColumnDecoders> columns;  ///< Where records become columns.
  std::uint64_t rows_at_once = Planner::kRowsAtOnce;
  std::uint64_t read_ahead_bytes = 0;  ///< Budget beside the slots and the storage.
  std::uint32_t max_open_shards = 0;
  unsigned threads = 1;
};

/// The machine behind a `BatchReader`: plans steps ahead, has their blocks read and decoded, has their rows gathered,
/// and hands the batches over in order.
///
/// The work is cut into jobs of a few to some hundred microseconds: plan a chunk of steps, read and decode an extent,
/// gather a unit. What may be done next follows from the `Pipeline` under one lock; any thread takes a job, does it
/// without the lock, and looks again. Workers are woken where there is work for them, and a trainer that waits for a
/// batch works as well: it would otherwise stand still, and what it reads stays in the caches of its core.
///
/// Threads: all public functions may be called from any thread.
class Engine final : private TrainerHelp {
 public:
  explicit Engine(EngineSetup setup);
  ~Engine();

  /// Begins to read ahead.
  void start();
  /// Waits for reads and jobs in flight. Idempotent.
  void stop();

  ReadyQueue::Outcome next(ReadyQueue::Deadline until = {}) { return queue_->next(*this, until); }
  void async_next(ReadyQueue::Handler handler);

  const Plan& plan() const noexcept { return plan_; }
  std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  const SlotRing& ring() const noexcept { return *ring_; }
  std::uint64_t check() const noexcept { return plan_.check(options_.start); }
  std::optional<Error> error() const { return queue_->error(); }
  State state() const;
  ReaderStats stats() const;

 private:
  struct Job {
    enum class Kind : std::uint8_t { none, plan, seal, load, decode, gather, check };
    Kind kind = Kind::none;
    Load* load = nullptr;
    Step* step = nullptr;
    DirectRead* direct = nullptr;
    bool cold = false;        ///< What is planned should be fetched into the page cache.
    bool by_trainer = false;  ///< Claimed by one.
    bool timed = true;
  };
  /// Who asks for work: the trainer needs the next batch soonest; workers beside a busy trainer keep it supplied.
  enum class Role : std::uint8_t { trainer, supplier, worker };
  using Clock = TimelineEvent::Clock;
  /// Holds the lock. Whom it has let get a batch is told once it is free.
  class Lock {
   public:
    explicit Lock(Engine& engine) : engine_(engine), lock_(engine.mutex_) {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { unlock(); }
    void unlock() noexcept {
      if (!lock_.owns_lock()) return;
      lock_.unlock();
      engine_.queue_->complete();
    }

   private:
    Engine& engine_;
    std::unique_lock<BriefMutex> lock_;
  };

  // engine.cc: who works when.
  void stop_all();
  bool help() noexcept override;
  void work();
  void kick() noexcept;
  /// The ring's lock is held, so that nobody is told of a batch.
  void slot_is_free() noexcept;
  void kick_locked() noexcept;
  bool has_work_locked(Role role) const;
  /// The job that comes next, or none. Out of memory is a failure of the reader.
  Job claim_locked(Role role) noexcept;
  Job choose_locked(Role role);
  bool times_gather_locked();
  /// Nothing is to be done any more.
  bool ended_locked() const { return stopping_ || failed_ || replay_.complete(); }
  bool wants_plan_locked() const;
  bool can_lay_out_locked() const;
  void run(const Job& job) noexcept;
  void fail_locked(Error error) noexcept;
  void hand_over_locked(Discarded& discarded);
  Stall cause_locked() const;

  // engine_jobs.cc: what is done.
  void run_plan(const Job& job);
  void run_seal();
  /// Closes files and frees slots with no lock held, and looks whether planning waited for that.
  void let_go(Discarded& discarded);
  void run_load(const Job& job);
  void run_decode(const Job& job);
  void run_gather(const Job& job);
  void run_check(const Job& job);
  /// Copies the records of the load to where they go, unless they are gathered; gives the time when that was done.
  Clock::time_point scatter_load(const Job& job, Clock::time_point decoded);
  struct LoadTimes {
    Clock::duration reading;
    Clock::duration decoding;
    Clock::duration scattering;
  };
  void finish_load(Load& load, const LoadTimes& times);
  void read_later(Load& load);
  void read_later(Step& step, DirectRead& read);
  void arrived(Load& load, Clock::time_point began) noexcept;
  void arrived(Step& step, DirectRead& read, Clock::time_point began) noexcept;
  void finish_gather(Step& step);
  /// A damaged block, unless it was noted before.
  void note_damage_locked(const Extent& extent, std::uint32_t block, const Error& damage,
                          std::vector<DamagedRange>& noted);
  void note_unfit_locked(const UnfitRecord& record, std::vector<DamagedRange>& noted);
  void note_lost_shard_locked(std::uint32_t shard, std::vector<DamagedRange>& noted);
  /// Nothing where the gathering of a unit was not timed.
  void note_gather_time_locked(std::chrono::nanoseconds spent);
  /// A read that had to wait, and began so long ago.
  void note_waited_locked(const Extent& extent, Clock::time_point began);
  /// Writes what has just been done on this thread into the timeline, if there is one.
  void trace(TimelineEvent::Kind kind, const Job& job, Clock::time_point began, Clock::time_point ended) const;
  /// Says so in the log, with no lock held.
  void warn(const std::vector<DamagedRange>& noted);

  const Dataset dataset_;
  const Plan plan_;
  const ReaderOptions options_;
  const std::shared_ptr<SlotRing> ring_;
  const std::shared_ptr<ReadyQueue> queue_;
  const std::unique_ptr<Storage> storage_;
  const unsigned threads_;
  const std::uint64_t rows_at_once_;
  const std::size_t slab_bytes_;
  const std::uint64_t slot_rows_;
  const bool scatters_;
  const bool streams_;  // scatters past the caches
  const std::uint32_t max_open_shards_;
  ShardTable shards_;
  Planner planner_;  // whoever has set `planning_`
  /// What it has planned. Never on the stack: loads that end with a step may be in work already, so that an exception must
  /// not drop them.
  std::vector<std::unique_ptr<Step>> planned_steps_;
  const std::unique_ptr<ColumnDecoders> columns_;  // or null
  const GatherRules rules_;
  ThreadPool workers_;

  mutable BriefMutex mutex_;
  std::condition_variable_any idle_;
  ReadWindow window_;
  Pipeline pipeline_;
  std::deque<Load*> arrived_loads_;
  std::deque<std::pair<Step*, DirectRead*>> arrived_records_;
  std::vector<std::unique_ptr<Step>> spare_steps_;  // delivered
  bool planning_ = false;
  bool planned_all_ = false;
  bool blocked_ = false;          // the planner waits for a shard,
  std::uint64_t blocked_at_ = 0;  // since so many changes of the table
  bool failed_ = false;
  unsigned active_ = 0;                                               // workers that are running, or about to
  unsigned helping_ = 0;                                              // trainers that do a job
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_blocks_;  // shard and block, each reported once
  std::set<std::pair<std::uint32_t, std::uint64_t>> unfit_records_;   // shard and record of those that were reported
  Replay replay_;
  WaitedReads waited_reads_;
  std::chrono::nanoseconds short_gather_{};  // the last one that was timed
  unsigned untimed_gathers_ = 0;             // to come before the next one that is
  ReaderStats stats_;

  // Stored without `mutex_`, which is taken next: who helps and takes it later sees this, who took it before has left.
  std::atomic<bool> stopping_ = false;
  std::mutex stop_mutex_;
  bool stopped_ = false;
};

}  // namespace dovetail::detail
