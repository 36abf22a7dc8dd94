// SPDX-License-Identifier: Apache-2.0
// Plan and pipeline together, with every job completed in a drawn order: what may happen at any time, without threads.
#include "reader/delivery/pipeline.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "reader/delivery/planner.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail::detail {
namespace {

using testing::SampleShape;

/// Plans an epoch and plays all jobs, one at a time; checks every promise of planner, residency and pipeline on the way.
class Simulation {
 public:
  Simulation(const Dataset& dataset, const PlanOptions& plan, std::uint64_t budget, std::uint32_t slots,
             std::uint32_t batches_per_step, std::uint64_t seed)
      : random_(seed),
        budget_(budget),
        storage_(make_pread_pool(1)),
        shards_(dataset, *storage_, 64, [] {}),
        window_(0, budget / (1 + random_() % 4)),
        pipeline_(budget, window_),
        ring_(SlotRing::make(slots, 4096, {.registration = Registration::off, .provider = {}}).value()) {
    ReaderOptions options;
    options.plan = plan;
    options.epochs = 1;
    planner_ = std::make_unique<Planner>(
        Planner::Settings{
            .dataset = dataset,
            .plan = Plan::make(dataset.shape(), plan).value(),
            .options = options,
            .extents = {.join_bytes = std::min<std::uint64_t>(64 << 10, budget / 8), .direct_bytes = 16 << 10},
            .read_ahead_bytes = budget,
            .max_open_shards = 64,
            .batches_per_step = batches_per_step},
        shards_);
  }
  ~Simulation() { storage_->stop(); }

  void run() {
    while (!ended_) {
      const bool idle = loading_.empty() && gathering_.empty() && ready_.empty() && planned_all_;
      bool moved = false;
      std::vector<int> turns{0, 1, 2, 3, 4, 5, 6};
      std::shuffle(turns.begin(), turns.end(), random_);
      for (const int turn : turns) {
        // Now and then a turn is left out, so that the others get far ahead.
        if (!idle && random_() % 3 == 0) continue;
        moved = take(turn) || moved;
        if (::testing::Test::HasFatalFailure()) return;
      }
      ASSERT_TRUE(moved || !idle) << "nothing is in work, and nothing can begin";
    }
    EXPECT_EQ(pipeline_.buffers().used(), 0u) << "memory of loads that were never dropped";
    EXPECT_EQ(dropped_.size(), begun_) << "every load is dropped once";
    EXPECT_EQ(pipeline_.rows_ahead(), 0u);
    EXPECT_EQ(pipeline_.loads_ahead(), 0u);
  }

  std::uint64_t evictions() const { return planner_->evictions(); }
  std::uint64_t split_steps() const { return split_steps_; }
  std::uint64_t parted_steps() const { return parted_steps_; }

 private:
  bool take(int turn) {
    switch (turn) {
      case 0:
        return plan();
      case 1:
        return begin_load();
      case 2:
        return finish_load();
      case 3:
        return begin_gather();
      case 4:
        return finish_gather();
      case 5:
        return hand_over();
      default:
        return release_slot();
    }
  }

  bool plan() {
    if (planned_all_) return false;
    std::vector<std::unique_ptr<Step>> steps;
    const std::uint64_t changes = shards_.changes();
    const Planner::Outcome outcome = planner_->plan(false, steps);
    planned_all_ = outcome == Planner::Outcome::all;
    while (outcome == Planner::Outcome::blocked && shards_.changes() == changes) std::this_thread::yield();
    for (const std::unique_ptr<Step>& step : steps) note_planned(*step);
    Discarded discarded;
    pipeline_.append(steps, discarded);
    pipeline_.seal(planner_->sealed());
    check(discarded);
    return true;
  }

  void note_planned(const Step& step) {
    ASSERT_FALSE(step.error.has_value()) << step.error->to_string();
    if (step.units.size() > 1) ++split_steps_;
    for (std::size_t u = 0; u < step.units.size(); ++u) {
      const Unit& unit = step.units[u];
      ++units_;
      ASSERT_EQ(unit.first_row, u == 0 ? 0 : step.units[u - 1].end_row) << "rows between units";
      bool waits = unit.loads_before == loads_before_ || step.end_of_epoch;
      loads_before_ = unit.loads_before;
      for (std::uint32_t r = unit.first_row; r < unit.end_row; ++r) {
        const PlannedRow& row = step.rows[r];
        if (row.block == nullptr) continue;
        ASSERT_LT(row.block->load->number, unit.loads_before);
        last_unit_[row.block->load->number] = units_;
        const bool of_first_batch = r / step.batch_rows == unit.first_row / step.batch_rows;
        waits = waits || (of_first_batch && row.block->load->number + 1 == unit.loads_before);
      }
      ASSERT_TRUE(waits) << "a batch waits for loads that only later ones of its step need";
    }
    ASSERT_TRUE(step.end_of_epoch || step.units.back().end_row == step.row_count);
  }

  bool begin_load() {
    const bool ahead = random_() % 2 == 0;
    const bool can = pipeline_.can_load(ahead);
    Load* const load = pipeline_.claim_load(ahead);
    EXPECT_EQ(load != nullptr, can);
    if (load == nullptr) return false;
    EXPECT_EQ(load->number, begun_++) << "loads begin in the order of the plan";
    EXPECT_GE(load->stored.size(), load->extent.stored_bytes);
    EXPECT_LE(pipeline_.buffers().used(), budget_);
    loading_.push_back(load);
    return true;
  }

  bool finish_load() {
    if (loading_.empty()) return false;
    std::swap(loading_[random_() % loading_.size()], loading_.back());
    Load* const load = loading_.back();
    loading_.pop_back();
    loaded_.insert(load->number);
    Discarded discarded;
    pipeline_.loaded(*load, discarded);
    return true;
  }

  bool begin_gather() {
    std::map<const Step*, bool> asked_for;
    for (const Step* const step : gathering_) asked_for[step] = step->asked_for;
    const bool can = pipeline_.can_gather(*ring_);
    Step* const step = pipeline_.claim_gather(*ring_);
    EXPECT_EQ(step != nullptr, can);
    if (step == nullptr) return false;
    for (const auto& [other, before] : asked_for) {
      EXPECT_EQ(other->asked_for, before) << "another thread reads it, without the lock";
    }
    if (step->next_unit == 0) {
      EXPECT_EQ(step->number, next_slot_) << "slots go to steps in order";
      next_slot_ += step->batches();
    }
    const Unit& unit = step->units[step->next_unit];
    for (std::uint32_t r = unit.first_row; r < unit.end_row; ++r) {
      if (step->rows[r].block == nullptr) continue;
      EXPECT_EQ(dropped_.count(step->rows[r].block->load->number), 0u) << "dropped before its last use";
      if (::testing::Test::HasFailure()) return true;
      EXPECT_EQ(step->rows[r].block->load->state, Load::State::ready);
    }
    // A prefix is ready, whatever finished in between.
    for (std::uint64_t number = 0; number < unit.loads_before; ++number) EXPECT_EQ(loaded_.count(number), 1u);
    EXPECT_EQ(std::count(gathering_.begin(), gathering_.end(), step), 0) << "one unit of a step at a time";
    gathering_.push_back(step);
    return true;
  }

  bool finish_gather() {
    if (gathering_.empty()) return false;
    std::swap(gathering_[random_() % gathering_.size()], gathering_.back());
    Step* const step = gathering_.back();
    gathering_.pop_back();
    ++gathered_units_;
    Discarded discarded;
    pipeline_.gathered(*step, discarded);
    check(discarded);
    return true;
  }

  void check(const Discarded& discarded) {
    for (const std::unique_ptr<Load>& load : discarded.loads) {
      EXPECT_TRUE(dropped_.insert(load->number).second) << "dropped twice";
      EXPECT_EQ(loaded_.count(load->number), 1u) << "dropped while it was being read";
      EXPECT_LE(last_unit_[load->number], gathered_units_) << "dropped before its last use";
    }
  }

  bool hand_over() {
    Step* const first = pipeline_.first();
    if (first == nullptr || (!first->done && first->ready_batches() == first->handed_over)) return false;
    for (; first->handed_over < first->ready_batches(); ++first->handed_over) {
      EXPECT_EQ(first->number + first->handed_over, handed_over_++) << "batches are handed over in order";
      ready_.push_back(first->lease);
    }
    if (!first->done) {
      ++parted_steps_;
      return true;
    }
    const std::unique_ptr<Step> step = pipeline_.take_first();
    EXPECT_EQ(step.get(), first);
    EXPECT_EQ(step->retired, step->units.size());
    EXPECT_EQ(step->handed_over, step->batches());
    if (step->end_of_epoch) {
      ended_ = true;
      EXPECT_TRUE(pipeline_.empty());
    }
    return true;
  }

  bool release_slot() {
    if (ready_.empty()) return false;
    std::swap(ready_[random_() % ready_.size()], ready_.back());
    ready_.pop_back();
    return true;
  }

  std::mt19937_64 random_;
  const std::uint64_t budget_;
  std::unique_ptr<Storage> storage_;
  ShardTable shards_;
  std::unique_ptr<Planner> planner_;
  ReadWindow window_;
  Pipeline pipeline_;
  std::shared_ptr<SlotRing> ring_;

  bool planned_all_ = false;
  bool ended_ = false;
  std::uint64_t units_ = 0;
  std::uint64_t gathered_units_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t next_slot_ = 0;
  std::uint64_t handed_over_ = 0;
  std::uint64_t split_steps_ = 0;
  std::uint64_t parted_steps_ = 0;  // of which some batches were handed over before others were gathered
  std::uint64_t loads_before_ = 0;  // of the last unit that was planned
  std::map<std::uint64_t, std::uint64_t> last_unit_;  // of a load
  std::set<std::uint64_t> loaded_;
  std::set<std::uint64_t> dropped_;
  std::vector<Load*> loading_;
  std::vector<Step*> gathering_;
  std::vector<std::shared_ptr<SlotLease>> ready_;
};

class PipelineTest : public ::testing::Test {
 protected:
  /// Plays the shape with budgets from a single block on.
  void play(const SampleShape& shape, std::uint64_t least, bool must_evict) {
    testing::TempFolder folder;
    const Dataset dataset = testing::make_sample(folder.path("data"), shape);
    constexpr std::uint64_t kSeeds = testing::kSanitized ? 60 : 400;
    std::uint64_t evictions = 0;
    std::uint64_t split_steps = 0;
    std::uint64_t parted_steps = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      PlanOptions plan;
      plan.batch = std::vector<std::uint32_t>{1, 7, 64}[seed % 3];
      plan.open_runs = std::vector<std::uint32_t>{1, 8, 96}[seed / 3 % 3];
      plan.pool = seed % 2 == 0 ? 1 : 128;
      plan.tail = std::vector<Tail>{Tail::drop, Tail::pad, Tail::wrap}[seed / 2 % 3];
      plan.seed = seed;
      const std::uint64_t budget = least + (seed % 4 == 0 ? 0 : 4096 * (seed / 4 % 40));
      SCOPED_TRACE("seed " + std::to_string(seed) + ", budget " + std::to_string(budget));
      Simulation simulation(dataset, plan, budget, 1 + static_cast<std::uint32_t>(seed % 5),
                            1 + static_cast<std::uint32_t>(seed / 5 % 4), seed);
      simulation.run();
      if (HasFailure()) return;
      evictions += simulation.evictions();
      split_steps += simulation.split_steps();
      parted_steps += simulation.parted_steps();
    }
    EXPECT_GT(parted_steps, 0u) << "no step's batches were handed over one by one";
    if (must_evict) {
      EXPECT_GT(evictions, 0u);
      EXPECT_GT(split_steps, 0u) << "no step was cut into units";
    }
  }
};

TEST_F(PipelineTest, StoredBlocksGetThroughAnyBudgetFromOneBlockOn) {
  play({.shard_records = {301, 77, 0, 400}, .min_bytes = 100, .codec = Codec::none}, 4096, true);
}

TEST_F(PipelineTest, CompressedBlocksGetThroughAnyBudgetFromOneBlockOn) {
  play({.shard_records = {301, 77, 0, 400}, .min_bytes = 100}, 8192, true);
}

TEST_F(PipelineTest, LargeRecordsBesideSharedBlocksGetThroughAnyBudget) {
  play({.shard_records = {60, 1, 50}, .max_bytes = 40000, .codec = Codec::none, .block_bytes = 16384, .run_records = 8},
       BufferPool::rounded(40000 + 16384), false);
}

// Gathering reads `asked_for` without the lock.
TEST(PipelineStepsTest, AStepThatIsBeingGatheredIsLeftAlone) {
  const ReadWindow window(1 << 20, 1 << 20);
  Pipeline pipeline(1 << 20, window);
  const std::shared_ptr<SlotRing> ring =
      SlotRing::make(2, 4096, {.registration = Registration::off, .provider = {}}).value();
  std::vector<std::unique_ptr<Extent>> extents;
  std::vector<std::unique_ptr<Step>> steps;
  const auto add_unit = [&](Step& step) {
    auto extent = std::make_unique<Extent>();
    extent->blocks = 1;
    extent->stored_bytes = 100;
    extent->load = std::make_unique<Load>(*extent, extents.size());
    step.loads.push_back(extent->load.get());
    extents.push_back(std::move(extent));
    step.units.emplace_back().loads_before = extents.size();
  };
  steps.push_back(std::make_unique<Step>());
  steps.push_back(std::make_unique<Step>());
  Step& first = *steps[0];
  Step& second = *steps[1];
  add_unit(first);
  add_unit(first);
  add_unit(second);
  Discarded discarded;
  pipeline.append(steps, discarded);
  pipeline.seal(3);

  pipeline.loaded(*pipeline.claim_load(true), discarded);
  ASSERT_EQ(pipeline.claim_gather(*ring), &first);
  EXPECT_EQ(first.following, nullptr) << "the bytes of the next step are not there";
  pipeline.loaded(*pipeline.claim_load(true), discarded);
  pipeline.loaded(*pipeline.claim_load(true), discarded);
  ASSERT_EQ(pipeline.claim_gather(*ring), &second);
  pipeline.gathered(first, discarded);
  ASSERT_EQ(pipeline.claim_gather(*ring), &first);
  EXPECT_FALSE(second.asked_for);
}

/// Extents of one cost, by hand.
class ResidencyTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCost = 4096;

  std::unique_ptr<Extent> make_extent() {
    auto extent = std::make_unique<Extent>();
    extent->blocks = 1;
    extent->stored_bytes = kCost;
    extent->user = &user_;
    return extent;
  }

  RunEntry user_;
};

TEST_F(ResidencyTest, EvictsWhatWasUsedLastAndNothingThatTheUnitUses) {
  Residency residency(4 * kCost, false);
  std::vector<std::unique_ptr<Extent>> extents;
  for (std::uint64_t i = 0; i < 4; ++i) {
    extents.push_back(make_extent());
    ASSERT_TRUE(residency.fits(kCost));
    EXPECT_EQ(residency.begin(*extents.back()).number, i);
    extents.back()->last_row = 10 * i;
  }
  EXPECT_FALSE(residency.fits(kCost));
  std::vector<std::unique_ptr<Load>> evicted;
  // Rows from 30 on are the unit's own.
  ASSERT_TRUE(residency.make_room(2 * kCost, 30, evicted));
  ASSERT_EQ(evicted.size(), 2u);
  EXPECT_EQ(&evicted[0]->extent, extents[2].get());
  EXPECT_EQ(&evicted[1]->extent, extents[1].get());
  EXPECT_EQ(extents[2]->load, nullptr);
  EXPECT_NE(extents[3]->load, nullptr);
  EXPECT_EQ(residency.evictions(), 2u);
  EXPECT_FALSE(residency.make_room(4 * kCost, 30, evicted)) << "the unit's own must stay";
  EXPECT_NE(extents[3]->load, nullptr);
}

TEST_F(ResidencyTest, WhatHasEndedCountsUntilItIsReleased) {
  Residency residency(kCost, false);
  const std::unique_ptr<Extent> first = make_extent();
  residency.begin(*first);
  const std::unique_ptr<Load> ended = residency.end(*first);
  EXPECT_EQ(&ended->extent, first.get());
  EXPECT_TRUE(residency.extents().empty());
  EXPECT_FALSE(residency.fits(1));
  residency.release(kCost);
  EXPECT_TRUE(residency.fits(kCost));
}

TEST(ReadWindowTest, DoublesOnEveryWaitUpToItsMostAndHalvesOnlyAfterALongTimeWithout) {
  ReadWindow window(4 << 20, 64 << 20);
  EXPECT_EQ(window.bytes(), 4u << 20);
  EXPECT_FALSE(window.cold());
  for (const std::uint64_t expected : {8u << 20, 16u << 20, 32u << 20, 64u << 20, 64u << 20}) {
    window.miss();
    EXPECT_EQ(window.bytes(), expected);
  }
  EXPECT_TRUE(window.cold());
  std::uint64_t without = 0;
  while (window.bytes() == 64u << 20) {
    window.hit(1 << 20);
    without += 1 << 20;
    ASSERT_LE(without, std::uint64_t{2} << 30) << "it never shrinks";
  }
  EXPECT_GE(without, 8u * (64u << 20));
  EXPECT_EQ(window.bytes(), 32u << 20);
  for (int i = 0; i < 100000 && window.cold(); ++i) window.hit(1 << 20);
  EXPECT_EQ(window.bytes(), 4u << 20);
}

TEST(ReadWindowTest, AWaitMakesReadAheadOfNothingASensibleSize) {
  ReadWindow window(0, 64 << 20);
  EXPECT_EQ(window.bytes(), 0u);
  window.miss();
  EXPECT_GE(window.bytes(), 1u << 20);
  for (int i = 0; i < 100000 && window.cold(); ++i) window.hit(1 << 20);
  EXPECT_EQ(window.bytes(), 0u);
  ReadWindow tiny(4 << 20, 100);
  tiny.miss();
  EXPECT_EQ(tiny.bytes(), 100u) << "never above its most";
}

}  // namespace
}  // namespace dovetail::detail
