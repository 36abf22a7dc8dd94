// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <dovetail/order.h>

#include "reader/plan/lane_walk.h"
#include "reader/plan/pass_walk.h"
#include "reader/plan/stretch.h"

namespace dovetail {

/// Numbers the runs of the stretches that a cursor is in, and knows which stretch a number belongs to.
struct LaneCursor::State {
  using Runs = detail::PickRuns;

  State(std::shared_ptr<const detail::LaneLayout> layout, std::uint64_t output)
      : current(layout->epoch->facts->sources.size()), walk(std::move(layout), output, *this) {}

  Runs begin(const detail::StretchBegin& stretch) {
    const std::uint64_t first_run = std::exchange(next_first_run, next_first_run + stretch.order.runs());
    current[stretch.source].emplace(Stretch(std::make_shared<const Stretch::Content>(
        Stretch::Content{stretch.order, stretch.begin, stretch.end, first_run, stretch.status})));
    return Runs(first_run);
  }
  void end(std::uint32_t source) {
    ended.push_back(*current[source]);
    current[source].reset();
  }
  const Stretch& stretch_of(const Pick& pick) const;

  std::vector<std::optional<Stretch>> current;  // of each source
  std::vector<Stretch> ended;                   // during the last `next`
  std::uint64_t next_first_run = 0;
  std::vector<Active> active;
  detail::LaneWalk<State> walk;
};

const Stretch& LaneCursor::State::stretch_of(const Pick& pick) const {
  for (const std::optional<Stretch>& stretch : current) {
    if (stretch && pick.run >= stretch->first_run() && pick.run < stretch->end_run()) return *stretch;
  }
  // Ascending, because `next` leaves them so.
  const auto after =
      std::upper_bound(ended.begin(), ended.end(), pick.run,
                       [](std::uint64_t run, const Stretch& stretch) { return run < stretch.first_run(); });
  return *(after - 1);
}

LaneCursor LaneOrder::cursor(std::uint64_t output) const {
  return LaneCursor(std::make_unique<LaneCursor::State>(layout_, output));
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
            [](const Stretch& a, const Stretch& b) { return a.first_run() < b.first_run(); });
}

PlannedRecord LaneCursor::record(const Pick& pick) const {
  if (!pick.planned()) return {};
  const Stretch& stretch = state_->stretch_of(pick);
  return {stretch.run(pick.run).first_id + pick.record, stretch.status()};
}

Run LaneCursor::run_of(const Pick& pick) const {
  return state_->stretch_of(pick).run(pick.run);
}

std::span<const LaneCursor::Active> LaneCursor::active() {
  State& state = *state_;
  state.active.clear();
  for (const Stretch& stretch : state.ended) state.active.push_back({stretch, stretch.end_run()});
  for (std::uint32_t source = 0; source < state.current.size(); ++source) {
    const std::optional<Stretch>& stretch = state.current[source];
    if (stretch) state.active.push_back({*stretch, stretch->first_run() + state.walk.pass(source)->next_run()});
  }
  std::sort(state.active.begin(), state.active.end(),
            [](const Active& a, const Active& b) { return a.stretch.first_run() < b.stretch.first_run(); });
  return state.active;
}

}  // namespace dovetail
