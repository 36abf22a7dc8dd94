// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/lane_walk.h"
#include "reader/plan/pick_walk.h"

namespace dovetail {

/// Numbers the runs of all passes that a cursor enters, and maps such a number to its pass.
struct LaneCursor::State {
  using Runs = detail::PickRuns;
  struct Pass {
    detail::PassOrder order;
    std::uint64_t first_run = 0;  ///< The number of the pass's first run.
    RowStatus status = RowStatus::first;

    bool has(std::uint64_t run) const noexcept { return run >= first_run && run - first_run < order.runs(); }
    Run run(std::uint64_t number) const { return order.run(number - first_run); }
  };

  State(std::shared_ptr<const detail::LaneLayout> layout, std::uint64_t output)
      : current(layout->epoch->facts->sources.size()), walk(std::move(layout), output, *this) {}

  Runs begin(const detail::PassBegin& begun) {
    const std::uint64_t first_run = std::exchange(next_first_run, next_first_run + begun.order.runs());
    current[begun.source].emplace(Pass{begun.order, first_run, begun.status});
    return Runs(first_run);
  }
  void end(std::uint32_t source) {
    ended.push_back(std::move(*current[source]));
    current[source].reset();
  }
  const Pass& pass_of(const Pick& pick) const {
    for (const std::optional<Pass>& pass : current) {
      if (pass && pass->has(pick.run)) return *pass;
    }
    // `next` leaves `ended` sorted by `first_run`.
    const auto after = std::upper_bound(ended.begin(), ended.end(), pick.run,
                                        [](std::uint64_t run, const Pass& pass) { return run < pass.first_run; });
    return *(after - 1);
  }

  std::vector<std::optional<Pass>> current;  // by source
  std::vector<Pass> ended;                   // passes that ended during the last `next`
  std::uint64_t next_first_run = 0;
  detail::LaneWalk<State> walk;
};

LaneCursor LaneOrder::cursor(std::uint64_t output) const {
  return LaneCursor(std::make_unique<LaneCursor::State>(layout_, output));
}

PlannedRecord LaneOrder::at(std::uint64_t output) const {
  LaneCursor there = cursor(output);
  Pick pick;
  there.next({&pick, 1});
  return there.record(pick);
}

LaneCursor::LaneCursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LaneCursor::LaneCursor(LaneCursor&&) noexcept = default;
LaneCursor& LaneCursor::operator=(LaneCursor&&) noexcept = default;
LaneCursor::~LaneCursor() = default;

std::uint64_t LaneCursor::position() const noexcept {
  return state_->walk.position();
}

void LaneCursor::next(std::span<Pick> out) {
  state_->ended.clear();
  while (!out.empty()) {
    const auto [rows, status] = state_->walk.next(out);
    if (status == RowStatus::empty) std::fill_n(out.begin(), rows, Pick{});
    out = out.subspan(rows);
  }
  std::sort(state_->ended.begin(), state_->ended.end(),
            [](const State::Pass& a, const State::Pass& b) { return a.first_run < b.first_run; });
}

PlannedRecord LaneCursor::record(const Pick& pick) const {
  if (!pick.planned()) return {};
  const State::Pass& pass = state_->pass_of(pick);
  return {pass.run(pick.run).first_id + pick.record, pass.status};
}

Run LaneCursor::run_of(const Pick& pick) const {
  return state_->pass_of(pick).run(pick.run);
}

}  // namespace dovetail
