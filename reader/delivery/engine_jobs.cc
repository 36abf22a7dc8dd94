// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include "format/guard_memory.h"
#include "reader/delivery/engine.h"
#include "reader/delivery/scatter.h"
#include "reader/fetch/shortage.h"

namespace dovetail::detail {

namespace {

/// Small batches are gathered in so little time that a clock would show: of these, one in so many is timed and stands
/// for the others.
constexpr std::chrono::microseconds kShortGather{20};
constexpr unsigned kUntimedGathers = 15;

}  // namespace

void Engine::run_plan(const Job& job) {
  const Clock::time_point began = Clock::now();
  const std::uint64_t changes = shards_.changes();
  const Planner::Outcome outcome = planner_.plan(job.cold, planned_steps_);
  const std::vector<std::uint32_t> lost = planner_.take_lost_shards();
  for (const Coming& range : planner_.take_coming()) {
    storage_->will_need(range.file->file(), range.offset, range.bytes);
  }
  Discarded discarded;
  std::vector<DamagedRange> noted;
  const Clock::time_point ended = Clock::now();
  trace(TimelineEvent::Kind::plan, job, began, ended);
  Lock lock(*this);
  stats_.time_planning += ended - began;
  stats_.evictions = planner_.evictions();
  for (const std::uint32_t shard : lost) note_lost_shard_locked(shard, noted);
  pipeline_.append(planned_steps_, discarded);
  pipeline_.seal(planner_.sealed());
  planning_ = false;
  planned_all_ = outcome == Planner::Outcome::all;
  blocked_ = outcome == Planner::Outcome::blocked;
  blocked_at_ = changes;
  hand_over_locked(discarded);
  kick_locked();
  lock.unlock();
  let_go(discarded);
  warn(noted);
}

void Engine::run_seal() {
  planner_.seal();
  const Lock lock(*this);
  pipeline_.seal(planner_.sealed());
  planning_ = false;
  kick_locked();
}

void Engine::let_go(Discarded& discarded) {
  discarded.leases.clear();
  discarded.loads.clear();
  if (discarded.runs.empty()) return;
  discarded.runs.clear();
  kick();
}

void Engine::run_load(const Job& job) {
  Load& load = *job.load;
  const Extent& extent = load.extent;
  const Clock::time_point began = Clock::now();
  const std::span<std::byte> into(load.stored_begin(), extent.stored_bytes);
  const Result<bool> there = storage_->try_read(extent.file->file(), extent.file_offset, ReadInto{into});
  if (there.has_value() && !*there) return read_later(load);
  if (!there.has_value()) load.read = there.error();
  const Clock::time_point read = Clock::now();
  load.check_and_decode(*storage_);
  const Clock::time_point decoded = Clock::now();
  const Clock::time_point ended = scatter_load(job, decoded);
  trace(TimelineEvent::Kind::load, job, began, ended);
  trace(TimelineEvent::Kind::read, job, began, read);
  trace(TimelineEvent::Kind::decode, job, read, decoded);
  {
    const std::lock_guard lock(mutex_);
    window_.hit(extent.stored_bytes);
  }
  finish_load(load, {.reading = read - began, .decoding = decoded - read, .scattering = ended - decoded});
}

Engine::Clock::time_point Engine::scatter_load(const Job& job, Clock::time_point decoded) {
  if (!scatters_) return decoded;
  scatter(*job.load, ring_->bytes().data(), streams_);
  const Clock::time_point ended = Clock::now();
  trace(TimelineEvent::Kind::scatter, job, decoded, ended);
  return ended;
}

void Engine::read_later(Load& load) {
  const Extent& extent = load.extent;
  {
    const std::lock_guard lock(mutex_);
    load.state = Load::State::reading;
    window_.miss();
    ++stats_.waiting_reads;
  }
  const std::span<std::byte> into(load.stored_begin(), extent.stored_bytes);
  storage_->read(extent.file->file(), extent.file_offset, ReadInto{into},
                 [this, &load, began = Clock::now()](Result<void> read) {
                   load.read = std::move(read);
                   arrived(load, began);
                 });
}

void Engine::arrived(Load& load, Clock::time_point began) noexcept {
  const Lock lock(*this);
  try {
    note_waited_locked(load.extent, began);
    load.state = Load::State::working;
    arrived_loads_.push_back(&load);
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
  kick_locked();
}

void Engine::run_decode(const Job& job) {
  const Clock::time_point began = Clock::now();
  job.load->check_and_decode(*storage_);
  const Clock::time_point decoded = Clock::now();
  const Clock::time_point ended = scatter_load(job, decoded);
  trace(TimelineEvent::Kind::decode, job, began, decoded);
  finish_load(*job.load, {.reading = {}, .decoding = decoded - began, .scattering = ended - decoded});
}

void Engine::finish_load(Load& load, const LoadTimes& times) {
  Discarded discarded;
  std::vector<DamagedRange> noted;
  Lock lock(*this);
  stats_.time_reading += times.reading;
  stats_.time_decoding += times.decoding;
  stats_.time_gathering += times.scattering;
  ++stats_.reads;
  stats_.read_bytes += load.extent.stored_bytes;
  stats_.retried_reads += load.retried_reads;
  for (const std::optional<Error>& damage : load.damage) {
    if (damage.has_value() && is_shortage(*damage)) return fail_locked(*damage);
  }
  for (std::uint32_t block = 0; block < load.damage.size(); ++block) {
    if (load.damage[block].has_value()) note_damage_locked(load.extent, block, *load.damage[block], noted);
  }
  if (!load.damage.empty()) pipeline_.note_lost(load, ring_->bytes().data());
  pipeline_.loaded(load, discarded);
  if (scatters_) hand_over_locked(discarded);
  kick_locked();
  lock.unlock();
  let_go(discarded);
  warn(noted);
}

void Engine::run_gather(const Job& job) {
  Step& step = *job.step;
  if (job.timed) {
    const Clock::time_point began = Clock::now();
    gather_unit(step, *ring_, rules_, *storage_);
    const Clock::time_point ended = Clock::now();
    trace(TimelineEvent::Kind::gather, job, began, ended);
    step.gathering_time = ended - began;
  } else {
    gather_unit(step, *ring_, rules_, *storage_);
  }
  std::uint32_t waiting = 0;
  for (const DirectRead& read : step.direct) waiting += read.waits ? 1 : 0;
  if (waiting == 0) return finish_gather(step);
  step.direct_left = waiting;
  {
    const std::lock_guard lock(mutex_);
    window_.miss();
    stats_.waiting_reads += waiting;
  }
  // The last of them may end the unit before this loop does, so that it looks at none after that one.
  for (DirectRead& read : step.direct) {
    if (!read.waits) continue;
    read_later(step, read);
    if (--waiting == 0) return;
  }
}

void Engine::read_later(Step& step, DirectRead& read) {
  storage_->read(read.extent->file->file(), read.extent->file_offset, destination(step, read),
                 [this, &step, &read, began = Clock::now()](Result<void> outcome) {
                   read.read = std::move(outcome);
                   arrived(step, read, began);
                 });
}

void Engine::arrived(Step& step, DirectRead& read, Clock::time_point began) noexcept {
  const Lock lock(*this);
  try {
    note_waited_locked(*read.extent, began);
    arrived_records_.emplace_back(&step, &read);
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
  kick_locked();
}

void Engine::run_check(const Job& job) {
  const Clock::time_point began = Clock::now();
  check_direct(*job.step, *job.direct, *storage_);
  const Clock::time_point ended = Clock::now();
  trace(TimelineEvent::Kind::check, job, began, ended);
  {
    const std::lock_guard lock(mutex_);
    stats_.time_decoding += ended - began;
  }
  if (--job.step->direct_left == 0) finish_gather(*job.step);
}

void Engine::finish_gather(Step& step) {
  finish_unit(step, *ring_, rules_);
  Discarded discarded;
  std::vector<DamagedRange> noted;
  Lock lock(*this);
  for (const DirectRead& read : step.direct) {
    if (read.damage.has_value() && is_shortage(*read.damage)) return fail_locked(*read.damage);
  }
  for (const DirectRead& read : step.direct) {
    if (read.damage.has_value()) note_damage_locked(*read.extent, 0, *read.damage, noted);
  }
  stats_.unfit_records += std::exchange(step.unfit_records, 0u);
  for (const UnfitRecord& record : step.unfit) note_unfit_locked(record, noted);
  step.unfit.clear();
  const std::uint64_t direct_bytes = step.units[step.next_unit].direct_bytes;
  stats_.reads += step.direct_reads;
  stats_.direct_reads += std::exchange(step.direct_reads, 0u);
  stats_.read_bytes += direct_bytes;
  stats_.direct_bytes += direct_bytes;
  note_gather_time_locked(std::exchange(step.gathering_time, {}));
  stats_.retried_reads += step.retried_reads.exchange(0);
  window_.hit(std::exchange(step.direct_bytes, 0u));
  pipeline_.gathered(step, discarded);
  hand_over_locked(discarded);
  kick_locked();
  lock.unlock();
  let_go(discarded);
  warn(noted);
}

bool Engine::times_gather_locked() {
  if (untimed_gathers_ == 0 || options_.timeline != nullptr) return true;
  --untimed_gathers_;
  return false;
}

void Engine::note_gather_time_locked(std::chrono::nanoseconds spent) {
  if (spent > spent.zero()) {
    short_gather_ = spent;
    untimed_gathers_ = spent < kShortGather ? kUntimedGathers : 0;
  }
  stats_.time_gathering += spent > spent.zero() ? spent : short_gather_;
}

void Engine::note_waited_locked(const Extent& extent, Clock::time_point began) {
  const Clock::time_point ended = Clock::now();
  waited_reads_.add(extent.shard, extent.stored_bytes, ended - began);
  if (options_.timeline == nullptr) return;
  options_.timeline->record({.kind = TimelineEvent::Kind::storage_read,
                             .rank = options_.ranks.rank,
                             .begin = began,
                             .end = ended,
                             .bytes = extent.stored_bytes,
                             .shard = extent.shard,
                             .step = {}});
}

void Engine::trace(TimelineEvent::Kind kind, const Job& job, Clock::time_point began, Clock::time_point ended) const {
  if (options_.timeline == nullptr) return;
  TimelineEvent event{.kind = kind,
                      .by_trainer = job.by_trainer,
                      .rank = options_.ranks.rank,
                      .begin = began,
                      .end = ended,
                      .shard = {},
                      .step = {}};
  const Extent* const extent = job.load != nullptr     ? &job.load->extent
                               : job.direct != nullptr ? job.direct->extent
                                                       : nullptr;
  if (extent != nullptr) {
    event.shard = extent->shard;
    event.bytes = extent->stored_bytes;
  }
  if (job.step != nullptr) {
    const Step& step = *job.step;
    const Unit& unit = step.units[step.next_unit];
    const std::uint32_t first = job.direct != nullptr ? job.direct->row : unit.first_row;
    const std::uint32_t last = job.direct != nullptr ? first : std::max(unit.end_row, first + 1) - 1;
    event.epoch = step.epoch;
    event.step = step.number + first / step.batch_rows;
    event.steps = last / step.batch_rows - first / step.batch_rows + 1;
    if (extent == nullptr) event.bytes = gathered_bytes(step);
  }
  options_.timeline->record(event);
}

void Engine::note_damage_locked(const Extent& extent, std::uint32_t block, const Error& damage,
                                std::vector<DamagedRange>& noted) {
  const std::uint64_t number = extent.first_block + block;
  if (!damaged_blocks_.emplace(extent.shard, number).second) return;
  noted.push_back({.file = extent.file->file().path(),
                   .offset = extent.file->blocks()[number].offset,
                   .first_record = extent.file->first_record(number),
                   .end_record = extent.file->first_record(number + 1),
                   .reason = damage.to_string()});
  stats_.damaged.push_back(noted.back());
}

void Engine::note_unfit_locked(const UnfitRecord& record, std::vector<DamagedRange>& noted) {
  if (unfit_records_.size() == kNamedUnfit) return;
  if (!unfit_records_.emplace(record.shard, record.record).second) return;
  noted.push_back({.file = record.error.path(),
                   .offset = record.error.offset().value_or(0),
                   .first_record = record.record,
                   .end_record = record.record + 1,
                   .reason = record.error.to_string()});
  stats_.damaged.push_back(noted.back());
}

void Engine::note_lost_shard_locked(std::uint32_t shard, std::vector<DamagedRange>& noted) {
  const Error failure = shards_.failure(shard);
  noted.push_back({.file = dataset_.shard_path(shard),
                   .offset = failure.offset().value_or(0),
                   .first_record = 0,
                   .end_record = dataset_.shards()[shard].records,
                   .reason = failure.to_string()});
  stats_.damaged.push_back(noted.back());
}

void Engine::warn(const std::vector<DamagedRange>& noted) {
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
