// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include <dovetail/order.h>

#include "reader/plan/lane_order.h"
#include "reader/plan/stretch.h"

namespace dovetail {
namespace {

constexpr std::size_t kMixedRows = 256;  // of a mix, taken together

}  // namespace

struct LaneCursor::State {
  State(std::shared_ptr<const LaneOrder::Layout> lane_layout, std::uint64_t output)
      : layout(std::move(lane_layout)),
        epoch(*layout->epoch),
        orders(epoch),
        position(output),
        tracks(epoch.facts->sources.size()) {}

  /// A source's part of the segment under way.
  struct Track {
    std::optional<detail::PassCursor> cursor;
    std::optional<Stretch> stretch;  // that the cursor walks
    std::uint64_t pass_end = 0;      // of the stretch, in outputs of its pass
    std::uint64_t next = 0;          // outputs of the source in the base lane that lie behind
    std::uint64_t end = 0;           // and with the whole segment
    std::size_t rows = 0;            // of those that are taken together
    std::span<Pick> taken;           // for them, and not yet dealt
  };

  bool enter_segment();
  void begin_stretch(std::uint32_t source);
  void take(std::uint32_t source, std::span<Pick> out);
  void take_mixed(std::span<Pick> out);
  void next(std::span<Pick> out);
  const Stretch& stretch_of(const Pick& pick) const;

  std::shared_ptr<const LaneOrder::Layout> layout;
  const detail::EpochLayout& epoch;
  detail::PassOrders orders;
  std::uint64_t position;
  detail::BaseRange segment;  // what is left of it
  RowStatus status = RowStatus::first;
  std::vector<Track> tracks;  // one per source
  std::uint64_t next_first_run = 0;
  std::vector<Stretch> ended;  // during the last `next`
  std::vector<Active> active;
};

const Stretch& LaneCursor::State::stretch_of(const Pick& pick) const {
  const auto holds = [&](const Stretch& stretch) {
    return pick.run >= stretch.first_run() && pick.run < stretch.end_run();
  };
  for (const Track& track : tracks) {
    if (track.cursor && holds(*track.stretch)) return *track.stretch;
  }
  // Ascending, because `next` leaves them so.
  const auto after =
      std::upper_bound(ended.begin(), ended.end(), pick.run,
                       [](std::uint64_t run, const Stretch& stretch) { return run < stretch.first_run(); });
  return *(after - 1);
}

bool LaneCursor::State::enter_segment() {
  const std::optional<LaneOrder::Layout::Segment> found = layout->segment(position);
  if (!found) return false;
  segment = found->range;
  status = found->status;
  for (std::uint32_t source = 0; source < tracks.size(); ++source) {
    Track& track = tracks[source];
    if (track.cursor) ended.push_back(*track.stretch);
    track.cursor.reset();
    track.next = epoch.outputs_of(source, segment.output);
    track.end = epoch.outputs_of(source, segment.output + segment.count);
  }
  return true;
}

void LaneCursor::State::begin_stretch(std::uint32_t source) {
  Track& track = tracks[source];
  if (track.cursor) ended.push_back(*track.stretch);
  const std::uint64_t length = epoch.source_records(source, segment.lane);
  const std::uint64_t pass = track.next / length;
  const std::uint64_t begin = track.next % length;
  track.pass_end = std::min(length, begin + (track.end - track.next));
  const detail::PassOrder order = layout->order(orders, segment.lane, source, pass);
  track.stretch.emplace(Stretch(std::make_shared<const Stretch::Content>(
      Stretch::Content{order, begin, track.pass_end, next_first_run, status})));
  track.cursor.emplace(order, begin, next_first_run);
  next_first_run += order.runs();
}

void LaneCursor::State::take(std::uint32_t source, std::span<Pick> out) {
  Track& track = tracks[source];
  while (!out.empty()) {
    if (!track.cursor || track.cursor->position() == track.pass_end) begin_stretch(source);
    const std::uint64_t left = track.pass_end - track.cursor->position();
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left));
    track.cursor->next(out.first(count));
    track.next += count;
    out = out.subspan(count);
  }
}

void LaneCursor::State::take_mixed(std::span<Pick> out) {
  std::array<std::uint32_t, kMixedRows> sources{};
  std::array<Pick, kMixedRows> picks;
  while (!out.empty()) {
    const std::span<Pick> rows = out.first(std::min(out.size(), kMixedRows));
    const std::span<std::uint32_t> row_sources = std::span(sources).first(rows.size());
    epoch.mixed->sources(segment.output, row_sources);
    // All rows of a source are taken at once, one source after the other, and then dealt.
    for (const std::uint32_t source : row_sources) ++tracks[source].rows;
    std::size_t taken = 0;
    for (std::uint32_t source = 0; taken < rows.size(); ++source) {
      Track& track = tracks[source];
      track.taken = std::span(picks).subspan(taken, std::exchange(track.rows, 0));
      take(source, track.taken);
      taken += track.taken.size();
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::span<Pick>& left = tracks[row_sources[row]].taken;
      rows[row] = left.front();
      left = left.subspan(1);
    }
    segment.output += rows.size();
    out = out.subspan(rows.size());
  }
}

void LaneCursor::State::next(std::span<Pick> out) {
  ended.clear();
  while (!out.empty()) {
    if (segment.count == 0 && !enter_segment()) {
      std::fill(out.begin(), out.end(), Pick{});
      position += out.size();
      return;
    }
    const std::span<Pick> part =
        out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), segment.count)));
    if (epoch.mixed) {
      take_mixed(part);
    } else {
      take(0, part);
      segment.output += part.size();
    }
    segment.count -= part.size();
    position += part.size();
    out = out.subspan(part.size());
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
  for (const State::Track& track : state.tracks) {
    if (track.cursor) state.active.push_back({*track.stretch, track.cursor->next_run()});
  }
  std::sort(state.active.begin(), state.active.end(),
            [](const Active& a, const Active& b) { return a.stretch.first_run() < b.stretch.first_run(); });
  return state.active;
}

}  // namespace dovetail
