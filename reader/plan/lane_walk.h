// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dovetail/order.h>

#include "reader/plan/lane_order.h"
#include "reader/plan/pass_walk.h"

namespace dovetail::detail {

/// Consecutive outputs of one pass that a lane gives: as far as the lane has them, or up to the end
/// of a segment.
struct PassBegin {
  PassOrder order;
  std::uint64_t begin = 0;  ///< Outputs [begin, end) of the pass.
  std::uint64_t end = 0;
  RowStatus status = RowStatus::first;
  std::uint32_t source = 0;
};

/// Walks a lane output by output, through its passes and, in a mix, the turns of its sources.
/// `Passes` has
///
///     using Runs = ...;                see `PassWalk`
///     Runs begin(const PassBegin&);    a pass of a source begins; the previous one has ended
///     void end(std::uint32_t source);  the pass of that source has given its last output
///
/// Ownership: shares the layout, borrows the passes.
/// Threads:   none.
/// Cost:      memory for the pools and the open runs: O(K + C) for each source, never for records.
template <class Passes>
class LaneWalk {
 public:
  using Runs = typename Passes::Runs;
  using Entry = typename Runs::Entry;

  LaneWalk(std::shared_ptr<const LaneLayout> layout, std::uint64_t output, Passes& passes)
      : layout_(std::move(layout)),
        passes_(passes),
        orders_(*layout_->epoch),
        position_(output),
        tracks_(layout_->epoch->facts->sources.size()) {}
  LaneWalk(const LaneWalk&) = delete;
  LaneWalk& operator=(const LaneWalk&) = delete;

  /// The number of the next output.
  std::uint64_t position() const noexcept { return position_; }

  /// Consecutive rows with the same status.
  struct Part {
    std::size_t rows = 0;
    RowStatus status = RowStatus::empty;  ///< `empty`, `first` or `repeated`.
  };
  /// Fills the front of `out` with the next rows: all of them, or up to where the status may
  /// change. `rows` is 0 if runs are not ready. Entries of empty rows are not written. Needs: `out`
  /// is not empty.
  /// Cost: allocates only where a pass begins.
  Part next(std::span<Entry> out);

 private:
  static constexpr std::size_t kMixedRows = 256;  // rows of a mix that are taken together

  /// The state of one source in the current segment.
  struct Track {
    std::unique_ptr<PassWalk<Runs>> walk;
    std::uint64_t pass_end = 0;  // where the segment ends in this pass; in outputs of the pass
    std::uint64_t next = 0;      // outputs of the source in the base lane before the next one
    std::uint64_t end = 0;       // value of `next` at the end of the segment
    std::size_t rows = 0;        // rows of this source in the current batch of mixed rows
    std::uint64_t ready = 0;     // outputs that the source can give now
    std::span<Entry> taken;      // entries of these rows that are not dealt yet
  };

  bool enter_segment();
  void begin_pass(std::uint32_t source);
  std::size_t take(std::uint32_t source, std::span<Entry> out);
  std::size_t take_mixed(std::span<Entry> out);
  /// How many of the rows with these `sources` can be taken now. Sets `Track::rows` of each source
  /// to its share.
  std::size_t ready_rows(std::span<const std::uint32_t> sources);

  std::shared_ptr<const LaneLayout> layout_;
  Passes& passes_;
  PassOrders orders_;
  std::uint64_t position_;
  BaseRange segment_;  // the part that is not walked yet
  RowStatus status_ = RowStatus::first;
  std::vector<Track> tracks_;  // one per source
};

template <class Passes>
bool LaneWalk<Passes>::enter_segment() {
  const std::optional<LaneLayout::Segment> found = layout_->segment(position_);
  if (!found) return false;
  segment_ = found->range;
  status_ = found->status;
  for (std::uint32_t source = 0; source < tracks_.size(); ++source) {
    Track& track = tracks_[source];
    if (track.walk != nullptr) passes_.end(source);
    track.walk.reset();
    track.next = layout_->epoch->outputs_of(source, segment_.output);
    track.end = layout_->epoch->outputs_of(source, segment_.output + segment_.count);
  }
  return true;
}

template <class Passes>
void LaneWalk<Passes>::begin_pass(std::uint32_t source) {
  Track& track = tracks_[source];
  if (track.walk != nullptr) passes_.end(source);
  track.walk.reset();
  const std::uint64_t length = layout_->epoch->source_records(source, segment_.lane);
  const std::uint64_t pass = track.next / length;
  const std::uint64_t begin = track.next % length;
  track.pass_end = std::min(length, begin + (track.end - track.next));
  const PassBegin begun{layout_->order(orders_, segment_.lane, source, pass), begin, track.pass_end, status_, source};
  track.walk = std::make_unique<PassWalk<Runs>>(begun.order, begin, [&] { return passes_.begin(begun); });
}

template <class Passes>
std::size_t LaneWalk<Passes>::take(std::uint32_t source, std::span<Entry> out) {
  Track& track = tracks_[source];
  std::size_t taken = 0;
  while (taken < out.size()) {
    if (track.walk == nullptr || track.walk->position() == track.pass_end) begin_pass(source);
    const std::uint64_t left = track.pass_end - track.walk->position();
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(out.size() - taken, left));
    const std::size_t given = track.walk->next(out.subspan(taken, most));
    taken += given;
    track.next += given;
    if (given < most) break;
  }
  return taken;
}

template <class Passes>
std::size_t LaneWalk<Passes>::ready_rows(std::span<const std::uint32_t> sources) {
  for (Track& track : tracks_) track.rows = 0;
  std::size_t rows = 0;
  for (; rows < sources.size(); ++rows) {
    Track& track = tracks_[sources[rows]];
    if (track.rows == 0) {
      if (track.walk == nullptr || track.walk->position() == track.pass_end) begin_pass(sources[rows]);
      track.ready = std::min(track.walk->ready_outputs(), track.pass_end - track.walk->position());
    }
    if (track.rows == track.ready) break;
    ++track.rows;
  }
  return rows;
}

template <class Passes>
std::size_t LaneWalk<Passes>::take_mixed(std::span<Entry> out) {
  std::array<std::uint32_t, kMixedRows> sources{};
  std::array<Entry, kMixedRows> entries;
  std::size_t done = 0;
  while (done < out.size()) {
    std::span<std::uint32_t> row_sources = std::span(sources).first(std::min(out.size() - done, kMixedRows));
    layout_->epoch->mixed->sources(segment_.output + done, row_sources);
    row_sources = row_sources.first(ready_rows(row_sources));
    if (row_sources.empty()) break;
    // Take all rows of a source at once, source by source, then deal them to the rows.
    std::size_t taken = 0;
    for (std::uint32_t source = 0; taken < row_sources.size(); ++source) {
      Track& track = tracks_[source];
      track.taken = std::span(entries).subspan(taken, track.rows);
      taken += take(source, track.taken);
    }
    for (const std::uint32_t source : row_sources) {
      std::span<Entry>& left = tracks_[source].taken;
      out[done++] = left.front();
      left = left.subspan(1);
    }
  }
  return done;
}

template <class Passes>
typename LaneWalk<Passes>::Part LaneWalk<Passes>::next(std::span<Entry> out) {
  if (segment_.count == 0 && !enter_segment()) {
    position_ += out.size();
    return {out.size(), RowStatus::empty};
  }
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), segment_.count)));
  const std::size_t rows = layout_->epoch->mixed ? take_mixed(out) : take(0, out);
  segment_.output += rows;
  segment_.count -= rows;
  position_ += rows;
  return {rows, status_};
}

}  // namespace dovetail::detail
