// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <dovetail/order.h>

#include "reader/plan/input_cursor.h"
#include "reader/plan/lane_layout.h"
#include "reader/plan/pool.h"

namespace dovetail {

struct LaneCursor::State {
  State(std::shared_ptr<const LaneOrder::Layout> lane_layout, std::uint64_t output);

  bool ended() const noexcept { return lane.records() == 0 || (!lane.wraps() && position >= lane.records()); }
  /// Outputs of a pass whose slot is refilled; the others empty the pool.
  std::uint64_t refilled() const noexcept { return lane.records() - lane.pool(); }
  void restore();
  void begin_pass();
  void next(std::span<Pick> out);

  std::shared_ptr<const LaneOrder::Layout> layout;
  const detail::LaneLayout& lane;
  detail::InputCursor inputs;
  detail::SlotDraws slots;
  // Filled when the first output of a pass is asked for, and meaningless before.
  std::vector<Pick> pool;
  std::uint64_t position = 0;
  std::uint64_t pass = 0;
  std::uint64_t offset = 0;  // in the pass
};

LaneCursor::State::State(std::shared_ptr<const LaneOrder::Layout> lane_layout, std::uint64_t output)
    : layout(std::move(lane_layout)), lane(*layout), inputs(lane), slots(lane), pool(lane.pool()), position(output) {
  if (ended()) return;
  pass = position / lane.records();
  offset = position % lane.records();
  if (offset != 0) restore();
}

void LaneCursor::State::restore() {
  inputs.restart(pass * lane.runs());
  for (const detail::Held& held : detail::pool_before(lane, std::min(offset, refilled()))) {
    inputs.seek(held.input);
    inputs.take({&pool[held.slot], 1});
  }
  inputs.seek(std::min(offset + lane.pool(), lane.records()));
}

void LaneCursor::State::begin_pass() {
  inputs.restart(pass * lane.runs());
  inputs.take(pool);
}

void LaneCursor::State::next(std::span<Pick> out) {
  while (!out.empty()) {
    if (ended()) {
      std::fill(out.begin(), out.end(), Pick{});
      position += out.size();
      return;
    }
    if (offset == 0) begin_pass();
    const bool refill = offset < refilled();
    const std::uint64_t left = (refill ? refilled() : lane.records()) - offset;
    const std::span<Pick> part = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left)));
    if (refill) {
      inputs.take(part);
      for (Pick& pick : part) std::swap(pick, pool[slots(offset++)]);
    } else {
      for (Pick& pick : part) pick = pool[lane.drain()(offset++ - refilled())];
    }
    position += part.size();
    out = out.subspan(part.size());
    if (offset == lane.records()) {
      offset = 0;
      ++pass;
    }
  }
}

LaneCursor LaneOrder::cursor(std::uint64_t output) const {
  return LaneCursor(std::make_unique<LaneCursor::State>(layout_, output));
}

LaneCursor::LaneCursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LaneCursor::LaneCursor(LaneCursor&&) noexcept = default;
LaneCursor& LaneCursor::operator=(LaneCursor&&) noexcept = default;
LaneCursor::~LaneCursor() = default;

std::uint64_t LaneCursor::position() const noexcept {
  return state_->position;
}

void LaneCursor::next(std::span<Pick> out) {
  state_->next(out);
}

std::vector<Pick> LaneCursor::pooled() const {
  const State& state = *state_;
  std::vector<Pick> picks;
  if (state.offset == 0) return picks;
  if (state.offset <= state.refilled()) return state.pool;
  for (std::uint64_t i = state.offset - state.refilled(); i < state.pool.size(); ++i) {
    picks.push_back(state.pool[state.lane.drain()(i)]);
  }
  return picks;
}

std::vector<LaneCursor::OpenRun> LaneCursor::open_runs() const {
  return state_->offset == 0 ? std::vector<OpenRun>{} : state_->inputs.open_runs();
}

std::uint64_t LaneCursor::next_run() const noexcept {
  const State& state = *state_;
  if (state.ended()) return state.lane.runs();
  return state.offset == 0 ? state.pass * state.lane.runs() : state.inputs.next_run();
}

}  // namespace dovetail
