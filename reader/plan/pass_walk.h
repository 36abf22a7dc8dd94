// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/input_walk.h"
#include "reader/plan/pass_order.h"
#include "reader/plan/pool.h"

namespace dovetail::detail {

/// The content of a pool slot where a walk begins in the middle of a pass.
struct PooledPick {
  std::uint32_t slot = 0;
  Pick pick;                ///< The run by its position in the pass.
  std::uint64_t group = 0;  ///< The group of the run.
};

/// Walks a pass output by output. Besides the members that `InputWalk` needs, `Runs` has
///
///     std::size_t restore(std::span<const PooledPick>, std::span<Entry> pool);
///                  fills the slots of the first picks, at least those of one group, and returns
///                  their number; 0 if they are not ready yet. The group stays open
///     void entered(std::span<const Entry>);
///                  these entries enter the pool now
///     void retire(std::span<Entry> pool);
///                  all records of the open group have been dealt; those that have not left the
///                  pool are in `pool`, and may be changed
///     std::uint64_t scattered_ready(std::uint64_t position);
///                  with `OrderKind::global`: how many runs from there on are ready
///     Entry scattered(std::uint64_t position);
///                  the only record of such a run
///
/// Ownership: owns the runs, shares the order.
/// Threads:   none.
/// Cost:      memory for the pool and the open runs: O(K + C), never for records.
template <class Runs>
class PassWalk {
 public:
  using Entry = typename Runs::Entry;

  /// Starts before output `output`, at most the records of the pass. `make_runs` returns the runs.
  /// Cost: about K ln K draws for a pool of K slots; independent of `output`.
  template <class MakeRuns>
  PassWalk(PassOrder order, std::uint64_t output, const MakeRuns& make_runs)
      : order_(std::move(order)), position_(output), runs_(make_runs()) {
    if (order_.layout_ == nullptr) return;
    walk_ = std::make_unique<Walk>(*order_.layout_, runs_);
    if (position_ != 0) begin_in_the_middle();
  }
  PassWalk(const PassWalk&) = delete;
  PassWalk& operator=(const PassWalk&) = delete;

  const PassOrder& order() const noexcept { return order_; }
  std::uint64_t position() const noexcept { return position_; }
  Runs& runs() noexcept { return runs_; }

  /// Fills the front of `out` with the next outputs and returns their number. That is less than
  /// `out.size()` only if runs are not ready. Needs: the pass has `out.size()` outputs left. Cost:
  /// no allocation.
  std::size_t next(std::span<Entry> out);
  /// Outputs that `next` can give without opening a further group; 0 if runs are not ready.
  std::uint64_t ready_outputs();

  /// The records that have not left the pass: the entries of `pooled()`, the rest of `open_runs()`,
  /// and all runs from position `next_run()` on. Needs: `Runs::ready` never returns false.
  std::vector<Entry> pooled() const;
  std::vector<OpenRun> open_runs() const {
    return walk_ == nullptr || position_ == 0 ? std::vector<OpenRun>{} : walk_->inputs.open_runs();
  }
  std::uint64_t next_run() const noexcept {
    if (walk_ == nullptr) return position_;
    return position_ == 0 ? 0 : walk_->inputs.next_run();
  }

 private:
  struct Walk {
    Walk(const PassLayout& layout, Runs& runs)
        : lane(layout), inputs(layout, runs), slots(layout), pool(layout.pool()) {}

    /// Outputs whose slot is refilled; later outputs empty the pool.
    std::uint64_t refilled() const noexcept { return lane.records() - lane.pool(); }
    /// Exchanges each input in `entries` with the content of the slot that its output empties.
    /// `entries` then holds the outputs from `output` on.
    void pass_through_pool(std::uint64_t output, std::span<Entry> entries, const Runs& runs) noexcept;

    const PassLayout& lane;
    InputWalk<Runs> inputs;
    SlotDraws slots;
    std::vector<Entry> pool;
    std::size_t filled = 0;        // slots of the pool that are filled
    std::vector<PooledPick> held;  // contents of the pool to restore, group by group
    std::size_t restored = 0;      // how many of them are restored
  };

  void begin_in_the_middle();
  bool restore_pool();
  bool fill_pool();

  PassOrder order_;
  std::uint64_t position_;
  Runs runs_;
  std::unique_ptr<Walk> walk_;  // null for scattered records
};

template <class Runs>
void PassWalk<Runs>::Walk::pass_through_pool(std::uint64_t output, std::span<Entry> entries,
                                             const Runs& runs) noexcept {
  if (pool.empty()) return;
  Entry* const slot_of = pool.data();
  while (!entries.empty()) {
    const std::span<const std::uint32_t> left = slots.from(output);
    const std::size_t count = std::min(entries.size(), left.size());
    runs.entered(entries.first(count));
    for (std::size_t i = 0; i < count; ++i) std::swap(entries[i], slot_of[left[i]]);
    output += count;
    entries = entries.subspan(count);
  }
}

template <class Runs>
void PassWalk<Runs>::begin_in_the_middle() {
  Walk& walk = *walk_;
  RunGroup group(walk.lane);
  for (const Held& held : pool_before(walk.lane, std::min(position_, walk.refilled()))) {
    const Pick pick = pick_of_input(walk.lane, group, held.input);
    walk.held.push_back({held.slot, pick, group.number()});
  }
  if (walk.pool.empty()) walk.inputs.seek(position_);
  fill_pool();
}

template <class Runs>
bool PassWalk<Runs>::restore_pool() {
  Walk& walk = *walk_;
  while (walk.restored < walk.held.size()) {
    const std::size_t restored = runs_.restore(std::span(walk.held).subspan(walk.restored), walk.pool);
    if (restored == 0) return false;
    walk.restored += restored;
  }
  const std::uint64_t input = std::min(position_ + walk.lane.pool(), walk.lane.records());
  const bool goes_on = input < walk.lane.records() && walk.lane.group_of(input) == walk.held.back().group;
  if (!goes_on) runs_.retire(walk.pool);
  walk.inputs.seek(input);
  walk.held = {};
  walk.filled = walk.pool.size();
  return true;
}

template <class Runs>
bool PassWalk<Runs>::fill_pool() {
  Walk& walk = *walk_;
  if (!walk.held.empty() && !restore_pool()) return false;
  while (walk.filled < walk.pool.size()) {
    const std::size_t taken = walk.inputs.take(std::span(walk.pool).subspan(walk.filled));
    if (taken == 0) return false;
    walk.filled += taken;
    if (walk.inputs.between_groups()) runs_.retire(std::span(walk.pool).first(walk.filled));
  }
  return true;
}

template <class Runs>
std::size_t PassWalk<Runs>::next(std::span<Entry> out) {
  if (walk_ == nullptr) {
    std::size_t given = 0;
    while (given < out.size()) {
      const auto ready = std::min<std::uint64_t>(out.size() - given, runs_.scattered_ready(position_));
      if (ready == 0) break;
      for (Entry& entry : out.subspan(given, static_cast<std::size_t>(ready))) entry = runs_.scattered(position_++);
      given += static_cast<std::size_t>(ready);
    }
    return given;
  }
  Walk& walk = *walk_;
  if (walk.filled < walk.pool.size() && !fill_pool()) return 0;
  std::size_t given = 0;
  while (given < out.size() && position_ < walk.refilled()) {
    const std::uint64_t most = std::min<std::uint64_t>(out.size() - given, walk.refilled() - position_);
    const std::span<Entry> part = out.subspan(given, static_cast<std::size_t>(most));
    const std::size_t taken = walk.inputs.take(part);
    if (taken == 0) return given;
    walk.pass_through_pool(position_, part.first(taken), runs_);
    position_ += taken;
    given += taken;
    if (walk.inputs.between_groups()) runs_.retire(walk.pool);
  }
  for (; given < out.size(); ++given) {
    out[given] = walk.pool[static_cast<std::size_t>(walk.lane.drain()(position_++ - walk.refilled()))];
  }
  return given;
}

template <class Runs>
std::uint64_t PassWalk<Runs>::ready_outputs() {
  const std::uint64_t left = order_.records() - position_;
  if (walk_ == nullptr) return std::min(left, runs_.scattered_ready(position_));
  if (!fill_pool()) return 0;
  if (position_ >= walk_->refilled()) return left;
  const std::uint64_t inputs = walk_->inputs.left_in_group();
  return inputs == walk_->refilled() - position_ ? left : inputs;  // no further group is needed
}

template <class Runs>
std::vector<typename PassWalk<Runs>::Entry> PassWalk<Runs>::pooled() const {
  std::vector<Entry> entries;
  if (walk_ == nullptr || position_ == 0) return entries;
  if (position_ <= walk_->refilled()) return walk_->pool;
  for (std::uint64_t i = position_ - walk_->refilled(); i < walk_->pool.size(); ++i) {
    entries.push_back(walk_->pool[static_cast<std::size_t>(walk_->lane.drain()(i))]);
  }
  return entries;
}

}  // namespace dovetail::detail
