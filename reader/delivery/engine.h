// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <dovetail/batch_reader.h>

#include "reader/delivery/buffer_pool.h"
#include "reader/delivery/gather.h"
#include "reader/delivery/lane_feed.h"
#include "reader/delivery/ready_queue.h"
#include "reader/delivery/shard_table.h"
#include "reader/delivery/step.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// The lanes of one rank in one epoch, and how far they have been planned.
class EpochFeed {
 public:
  EpochFeed(EpochPlan plan, std::vector<LaneFeed> lanes, std::uint64_t first_step, std::shared_ptr<const State> origin)
      : plan_(std::move(plan)), lanes_(std::move(lanes)), next_step_(first_step), origin_(std::move(origin)) {}

  const EpochPlan& plan() const noexcept { return plan_; }
  std::vector<LaneFeed>& lanes() noexcept { return lanes_; }
  bool ended() const noexcept { return next_step_ == plan_.steps(); }
  std::uint64_t take_step() noexcept { return next_step_++; }
  /// The state that the states of its batches are counted from.
  const std::shared_ptr<const State>& origin() const noexcept { return origin_; }

 private:
  EpochPlan plan_;
  std::vector<LaneFeed> lanes_;
  std::uint64_t next_step_;
  std::shared_ptr<const State> origin_;
};

/// Everything that an engine is made from, checked and sized.
struct EngineSetup {
  Dataset dataset;
  Plan plan;
  ReaderOptions options;
  std::shared_ptr<SlotRing> ring;
  std::uint64_t read_ahead_bytes = 0;  ///< Budget beside the slots.
  std::uint32_t max_open_shards = 0;
  unsigned io_threads = 1;
  unsigned decode_threads = 1;
};

/// The machine behind a `BatchReader`: plans steps ahead, has their extents read and decoded, has their rows gathered,
/// and hands the batches over in order.
///
/// One strand owns all state. Whatever happens (bytes read, rows gathered, a slot freed) ends in `pump()`, which moves
/// everything that can move. Nothing waits, and nothing but the budget and the slots holds a step back:
///
///     plan step -> open its shards -> cut it into units -> admit a unit (budget) -> read, decode -> gather (slot) ->
///     deliver
///
/// Units are admitted in order, and the first one may evict whatever no admitted unit needs, so the head of the line
/// always gets on: there is no deadlock.
class Engine {
 public:
  explicit Engine(EngineSetup setup);
  ~Engine();

  /// Begins to read ahead.
  void start();
  /// Waits for reads and jobs in flight. Idempotent, from any thread.
  void stop();

  ReadyQueue& queue() noexcept { return *queue_; }
  const Plan& plan() const noexcept { return plan_; }
  const SlotRing& ring() const noexcept { return *ring_; }
  std::uint64_t check() const noexcept { return plan_.check(options_.start); }
  /// From any thread.
  State state() const;
  ReaderStats stats() const;

 private:
  // engine.cc: what drives everything.
  void post_pump();
  void pump() noexcept;
  void fail(Error error);
  void start_gathers();
  void on_gathered(Step& step);
  /// Delivers finished steps from the head of the line; whether there were any.
  bool hand_over();
  Stall current_cause() const;

  // engine_planning.cc: from the plan to units.
  void plan_more();
  std::unique_ptr<Step> begin_step();
  Result<void> begin_epoch();
  bool resolve(const Step& step);
  void plan_rows(Step& step);
  void cut_units(Step& step);
  void note_lost_shard(std::uint32_t shard);

  // engine_loading.cc: from units to decoded extents, within the budget.
  bool admit_pending();
  bool admit(Unit& unit);
  bool is_head(const Unit& unit) const;
  /// Evicts what nothing admitted needs until so much fits; where that is not enough, the unit's step fails.
  bool make_room(Unit& unit, std::uint64_t cost);
  void start_load(Extent& extent);
  void on_loaded(Extent& extent);
  void discharge(Extent& extent);
  void note_damage(const Extent& extent);
  void note_damage(DamagedRange range);
  void retire(EpochFeed& epoch);
  /// Runs `job` on a worker and then `then` on the strand; an exception stops the reader.
  template <class Job, class Then>
  void on_worker(Job job, Then then);

  const Dataset dataset_;
  const Plan plan_;
  const ReaderOptions options_;
  const GatherRules rules_;
  const std::uint64_t extent_bytes_;
  const std::shared_ptr<SlotRing> ring_;
  const std::shared_ptr<ReadyQueue> queue_;
  const std::unique_ptr<Storage> storage_;
  boost::asio::thread_pool workers_;
  boost::asio::strand<boost::asio::thread_pool::executor_type> strand_;

  // The strand's.
  ShardTable shards_;
  std::uint32_t max_live_shards_;
  BufferPool buffers_;
  std::shared_ptr<EpochFeed> epoch_;
  std::uint32_t next_epoch_ = 0;
  std::uint64_t first_step_ = 0;
  std::size_t resolved_rows_ = 0;    // of `planned_`, from the first one on
  bool planned_last_epoch_ = false;  // no epoch has a higher number
  bool planned_all_ = false;
  bool failed_ = false;
  std::vector<Pick> picks_;        // of the step being planned
  std::unique_ptr<Step> planned_;  // waits for its shards to open
  std::deque<std::unique_ptr<Step>> steps_;
  std::deque<Unit*> unadmitted_;
  std::uint64_t rows_ahead_ = 0;  // in steps_
  std::uint64_t unit_marks_ = 0;
  std::list<Extent*> resident_;  // loading or ready, in the order of admission
  std::set<std::uint32_t> lost_shards_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_blocks_;  // shard and block, each reported once

  std::atomic<bool> stopping_ = false;
  std::atomic<bool> pump_posted_ = false;
  std::mutex stop_mutex_;
  bool stopped_ = false;

  mutable std::mutex stats_mutex_;
  ReaderStats stats_;
};

}  // namespace dovetail::detail
