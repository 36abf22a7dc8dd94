// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "format/guard_memory.h"
#include "reader/delivery/rank_reader.h"
#include "reader/delivery/rank_reader_lock.h"

namespace dovetail::detail {

namespace {

// Pieces of runs, with the reader's lock taken once for all of them.
constexpr std::uint64_t kFetchedAtOnce = 256 << 10;

}  // namespace

void RankReader::run_walk(Flight& flight, bool by_trainer) {
  const Clock::time_point began = Clock::now();
  FlightStart start = flight;
  Result<bool> begun = start.batches > 0;
  if (start.batches == 0) begun = begin_flight(start);
  const std::uint64_t changes = store_.changes();
  std::uint32_t rows = 0;
  if (begun.has_value() && *begun && !start.end_of_epoch) {
    store_.walk_to(start.first_row + start.row_count);
    rows = epoch_->walk->walk(flight.rows, flight.walked, start.row_count);
    store_.walk_to(start.first_row + flight.walked + rows);
    if (flight.walked + rows == start.row_count && epoch_->next_step == epoch_->plan.steps()) epoch_->walk.reset();
  }
  const bool blocked = begun.has_value() && *begun && flight.walked + rows < start.row_count;
  const std::optional<Error> failure = blocked ? store_.failure() : std::nullopt;
  note_damage();
  const Clock::time_point ended = Clock::now();
  trace({.kind = TimelineEvent::Kind::plan,
         .by_trainer = by_trainer,
         .begin = began,
         .end = ended,
         .shard = {},
         .step = {}});
  Lock lock(*this);
  stats_.time_planning += ended - began;
  walking_ = false;
  static_cast<FlightStart&>(flight) = std::move(start);
  flight.busy = false;
  flight.walked += rows;
  walked_rows_ += rows;
  blocked_at_ = blocked ? std::optional(changes) : std::nullopt;
  if (!begun.has_value()) walk_failure_ = begun.error();
  if (failure.has_value()) walk_failure_ = *failure;
  if (!begun.has_value() || !*begun) flights_.pop_back();  // it is the last one
  if (begun.has_value() && !*begun) walked_all_ = true;
  hand_over_locked();
  kick_locked();
}

Result<bool> RankReader::begin_flight(FlightStart& flight) {
  if (epoch_ == nullptr) {
    if (last_epoch_ || (options_.epochs != 0 && next_epoch_ - options_.start.epoch == options_.epochs)) return false;
    if (const Result<void> begun = begin_epoch(); !begun.has_value()) return begun.error();
  }
  flight.origin = epoch_->origin;
  flight.epoch = epoch_->plan.epoch();
  flight.first_row = first_row_;
  const std::uint64_t left = epoch_->plan.steps() - epoch_->next_step;
  if (left == 0) {
    store_.walk_to(first_row_);
    epoch_.reset();
    flight.end_of_epoch = true;
    return true;
  }
  flight.step = epoch_->next_step;
  flight.batches = static_cast<std::uint32_t>(std::min<std::uint64_t>(batches_per_slot_, left));
  flight.row_count = flight.batches * rules_.batch_rows;
  epoch_->next_step += flight.batches;
  first_row_ += flight.row_count;
  return true;
}

Result<void> RankReader::begin_epoch() {
  // What was not there may be back, as a damaged block may be good when it is read again.
  shards_.forget_failures();
  Result<EpochPlan> plan = plan_.epoch(next_epoch_);
  if (!plan.has_value()) return plan.error();
  const std::uint64_t first_step = std::max(std::exchange(first_step_, 0), plan->first_step());
  Result<State> origin = plan_.state({next_epoch_, plan->first_step()});
  if (!origin.has_value()) return origin.error();
  auto walk = RankWalk::begin(*plan, options_.ranks.rank, first_step, rules_.batch_rows, rules_.record_bytes, store_);
  epoch_ = std::make_unique<Epoch>(Epoch{.plan = std::move(*plan),
                                         .walk = std::move(walk),
                                         .origin = std::make_shared<const State>(std::move(*origin)),
                                         .next_step = first_step});
  last_epoch_ = next_epoch_ == std::numeric_limits<std::uint32_t>::max();
  ++next_epoch_;
  return {};
}

void RankReader::run_fetch(RunStore::Work work, bool by_trainer) {
  std::uint64_t bytes = fetch_piece(std::move(work), by_trainer);
  while (bytes < kFetchedAtOnce) {
    std::optional<RunStore::Work> next = store_.claim(true);
    if (!next.has_value()) break;
    bytes += fetch_piece(std::move(*next), by_trainer);
  }
  note_damage();
  const std::optional<Error> failure = store_.failure();
  const Lock lock(*this);
  if (failure.has_value()) {
    walk_failure_ = *failure;
    hand_over_locked();
  }
  kick_locked();
}

std::uint64_t RankReader::fetch_piece(RunStore::Work work, bool by_trainer) {
  const bool arrived = work.arrival != nullptr;
  const std::optional<RunStore::Done> done = store_.run(std::move(work));
  if (done.has_value() && options_.timeline != nullptr) {
    using Kind = TimelineEvent::Kind;
    const auto trace_part = [&](Kind kind, Clock::time_point begin, Clock::time_point end) {
      trace({.kind = kind,
             .by_trainer = by_trainer,
             .begin = begin,
             .end = end,
             .bytes = done->bytes,
             .shard = done->shard,
             .step = {}});
    };
    if (!arrived) trace_part(Kind::load, done->began, done->ended);
    if (!arrived) trace_part(Kind::read, done->began, done->read);
    trace_part(Kind::decode, done->read, done->ended);
  }
  return done.has_value() ? done->bytes : 0;
}

void RankReader::run_fill(Flight& flight, bool by_trainer) {
  const Clock::time_point began = Clock::now();
  const std::uint64_t changes = shards_.changes();
  SlotFill& fill = flight.fill;
  if (!std::exchange(flight.begun, true)) fill.begin(flight.lease, flight.epoch, flight.step, flight.batches);
  while (flight.filled < flight.walked && fill_part(flight)) continue;
  fill.let_go();
  const Clock::time_point ended = Clock::now();
  flight.filling_time += ended - began;
  trace_rows({.kind = TimelineEvent::Kind::gather,
              .by_trainer = by_trainer,
              .begin = began,
              .end = ended,
              .shard = {},
              .step = {}},
             flight, flight.settled);
  flight.shards_at = fill.waits_for_shard() ? std::optional(changes) : std::nullopt;
  if (fill.error().has_value()) fill.drop_reads();
  if (const std::vector<RowRead*> reads = fill.waiting(); !reads.empty()) {
    return read_later(flight, reads);
  }
  finish_fill(flight);
}

bool RankReader::fill_part(Flight& flight) {
  SlotFill& fill = flight.fill;
  // A walk that goes on may have made the last one longer.
  while (flight.rows.parts[flight.next_part].end == flight.filled) ++flight.next_part;
  const WalkedRows::Part part = flight.rows.parts[flight.next_part];
  const std::uint32_t rows = std::min(part.end, flight.walked) - flight.filled;
  std::size_t done = 0;
  if (part.status == RowStatus::empty) {
    done = fill.fill_empty(rows);
  } else if (rules_.record_bytes != 0) {
    done = fill.fill(std::span<const Entry>(flight.rows.same).subspan(flight.filled, rows), part.status);
  } else {
    const auto records = std::span<const SizedEntry>(flight.rows.sized).subspan(flight.filled, rows);
    done = plan_.options().order == OrderKind::global ? fill.fill_from_blocks(records, part.status)
                                                      : fill.fill(records, part.status);
  }
  flight.filled += static_cast<std::uint32_t>(done);
  return done == rows;
}

void RankReader::read_later(Flight& flight, const std::vector<RowRead*>& reads) {
  {
    const std::lock_guard lock(mutex_);
    flight.reads_left = static_cast<std::uint32_t>(reads.size());
    stats_.waiting_reads += reads.size();
  }
  // The last of them may end the flight before this loop does, so that it looks at none after that one.
  for (RowRead* const read : reads) {
    storage_->read(read->file->file(), read->offset(), read->destination(),
                   [this, &flight, read, began = Clock::now()](Result<void> outcome) {
                     read->read = std::move(outcome);
                     arrived(flight, *read, began);
                   });
  }
}

void RankReader::arrived(Flight& flight, RowRead& read, Clock::time_point began) noexcept {
  const Lock lock(*this);
  try {
    note_waited_locked({read.shard, read.into.size(), began, Clock::now()});
    arrived_.emplace_back(&flight, &read);
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
  kick_locked();
}

void RankReader::run_check(Flight& flight, RowRead& read, bool by_trainer) {
  const Clock::time_point began = Clock::now();
  flight.fill.check(read);
  const Clock::time_point ended = Clock::now();
  trace_rows({.kind = TimelineEvent::Kind::check,
              .by_trainer = by_trainer,
              .begin = began,
              .end = ended,
              .bytes = read.into.size(),
              .shard = read.shard,
              .step = {}},
             flight, read.row);
  {
    const std::lock_guard lock(mutex_);
    stats_.time_decoding += ended - began;
    if (--flight.reads_left > 0) return;
  }
  flight.fill.resume();
  finish_fill(flight);
}

void RankReader::finish_fill(Flight& flight) {
  SlotFill& fill = flight.fill;
  const std::vector<Loss> unfit = fill.take_unfit();
  const FillCounts counts = fill.take_counts();
  const std::uint32_t ready = fill.ready_batches();
  note_damage();
  if (!unfit.empty()) note_unfit(unfit);
  std::uint64_t filled = 0;
  {
    const Lock lock(*this);
    stats_.reads += counts.direct_reads;
    stats_.direct_reads += counts.direct_reads;
    stats_.read_bytes += counts.direct_bytes;
    stats_.direct_bytes += counts.direct_bytes;
    stats_.retried_reads += counts.retried_reads;
    stats_.unfit_records += counts.unfit_records;
    stats_.time_gathering += std::exchange(flight.filling_time, {});
    flight.busy = false;
    flight.settled = flight.filled;
    flight.ready = ready;
    flight.error = fill.error();
    flight.lease = fill.lease();
    if (ready == flight.batches) fill.take_lease();
    filled = filled_rows_locked();
    hand_over_locked();
  }
  store_.filled_to(filled);
  kick();
}

void RankReader::trace(TimelineEvent event) const {
  if (options_.timeline == nullptr) return;
  event.rank = options_.ranks.rank;
  options_.timeline->record(event);
}

void RankReader::trace_rows(TimelineEvent event, const Flight& flight, std::uint32_t row) const {
  if (options_.timeline == nullptr) return;
  const std::uint32_t last = std::max(flight.filled, row + 1) - 1;
  event.epoch = flight.epoch;
  event.step = flight.step + row / rules_.batch_rows;
  event.steps = last / rules_.batch_rows - row / rules_.batch_rows + 1;
  trace(event);
}

void RankReader::note_waited_locked(const RunStore::Waited& read) {
  waited_reads_.add(read.shard, read.bytes, read.arrived - read.asked);
  trace({.kind = TimelineEvent::Kind::storage_read,
         .begin = read.asked,
         .end = read.arrived,
         .bytes = read.bytes,
         .shard = read.shard,
         .step = {}});
}

void RankReader::note_waited(const RunStore::Waited& read) noexcept {
  const Lock lock(*this);
  try {
    note_waited_locked(read);
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
}

std::uint64_t RankReader::filled_rows_locked() const {
  for (const std::unique_ptr<Flight>& flight : flights_) {
    if (flight->batches > 0 && (flight->busy || flight->settled < flight->row_count)) {
      return flight->first_row + flight->settled;
    }
  }
  return walked_rows_;
}

void RankReader::note_damage() {
  if (!damage_.has_new()) return;
  std::vector<DamagedRange> noted;
  {
    // Whoever hands over rows takes this lock next: the statistics are never behind them.
    const std::lock_guard lock(mutex_);
    noted = damage_.take_new();
    stats_.damaged.insert(stats_.damaged.end(), noted.begin(), noted.end());
  }
  warn(noted);
}

void RankReader::note_unfit(const std::vector<Loss>& unfit) {
  std::vector<DamagedRange> noted;
  {
    const std::lock_guard lock(mutex_);
    for (const Loss& record : unfit) {
      if (unfit_records_.size() == kNamedUnfit) break;
      if (!unfit_records_.emplace(record.shard, record.first_record).second) continue;
      noted.push_back({.file = record.error.path(),
                       .offset = record.error.offset().value_or(0),
                       .first_record = record.first_record,
                       .end_record = record.end_record,
                       .reason = record.error.to_string()});
    }
    stats_.damaged.insert(stats_.damaged.end(), noted.begin(), noted.end());
  }
  warn(noted);
}

void RankReader::warn(const std::vector<DamagedRange>& noted) {
  if (noted.empty() || !options_.log || options_.on_damage == OnDamage::fail) return;
  for (const DamagedRange& range : noted) {
    try {
      options_.log("records [" + std::to_string(range.first_record) + ", " + std::to_string(range.end_record) +
                   ") of " + range.file + " are lost: " + range.reason);
    } catch (const std::exception&) {  // short of memory: a warning is no reason to stop
    }
  }
}

}  // namespace dovetail::detail
