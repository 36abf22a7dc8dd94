// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <utility>

#include "reader/delivery/engine.h"
#include "reader/delivery/engine_jobs.h"

namespace dovetail::detail {

bool Engine::admit_pending() {
  while (!unadmitted_.empty()) {
    if (failed_ || !admit(*unadmitted_.front())) return false;
    unadmitted_.pop_front();
  }
  return true;
}

bool Engine::is_head(const Unit& unit) const {
  for (const std::unique_ptr<Step>& step : steps_) {
    if (!step->done) return &unit == &step->units[step->next_unit];
  }
  return false;
}

bool Engine::admit(Unit& unit) {
  std::uint64_t cost = 0;
  for (const Unit::Use& use : unit.uses) {
    if (use.extent->state == Extent::State::absent) cost += use.extent->load_cost();
  }
  if (!buffers_.fits(cost) && !is_head(unit)) return false;
  for (const Unit::Use& use : unit.uses) ++use.extent->pins;
  if (!make_room(unit, cost)) return false;
  unit.admitted = true;
  for (const Unit::Use& use : unit.uses) {
    Extent& extent = *use.extent;
    if (extent.state == Extent::State::ready) continue;
    if (extent.state == Extent::State::absent) start_load(extent);
    extent.waiting.push_back(&unit);
    ++unit.missing;
  }
  return true;
}

bool Engine::make_room(Unit& unit, std::uint64_t cost) {
  // What was admitted last is needed last, as far as the plan has been looked at.
  for (auto at = resident_.end(); at != resident_.begin() && !buffers_.fits(cost);) {
    --at;
    Extent& extent = **at;
    if (extent.pins > 0 || extent.state != Extent::State::ready) continue;
    ++at;
    discharge(extent);
    const std::lock_guard lock(stats_mutex_);
    ++stats_.evictions;
  }
  if (buffers_.fits(cost)) return true;
  // In line: batches before it are still delivered.
  unit.step->error = Error(Errc::budget_too_small,
                           "one row needs " + std::to_string(cost) + " bytes of read-ahead beside the slots, and " +
                               std::to_string(buffers_.budget()) + " are left: raise memory_bytes");
  unit.step->done = true;
  planned_all_ = true;
  return false;
}

void Engine::start_load(Extent& extent) {
  extent.state = Extent::State::loading;
  extent.read_done = false;
  extent.stored = buffers_.take(extent.stored_bytes);
  if (extent.decoded_bytes > 0) extent.decoded = buffers_.take(extent.decoded_bytes);
  resident_.push_back(&extent);
  extent.resident_at = std::prev(resident_.end());
  storage_->read(extent.file->file(), extent.file_offset, {extent.stored.data(), extent.stored_bytes},
                 [this, extent = extent.shared_from_this()](Result<void> read) {
                   extent->read_done = true;
                   on_worker([extent, read = std::move(read)] { extent->load(read); },
                             [this, extent] { on_loaded(*extent); });
                 });
}

void Engine::on_loaded(Extent& extent) {
  extent.state = Extent::State::ready;
  if (extent.decoded) buffers_.give_back(std::move(extent.stored));
  for (Unit* const unit : extent.waiting) --unit->missing;
  extent.waiting.clear();
  {
    const std::lock_guard lock(stats_mutex_);
    ++stats_.reads;
    stats_.read_bytes += extent.stored_bytes;
    stats_.retried_reads += std::exchange(extent.retried_reads, 0u);
  }
  if (!extent.damage.empty()) note_damage(extent);
  pump();
}

void Engine::note_damage(const Extent& extent) {
  for (std::uint32_t block = 0; block < extent.damage.size(); ++block) {
    if (!extent.damage[block].has_value()) continue;
    const std::uint64_t number = extent.first_block + block;
    if (!damaged_blocks_.emplace(extent.shard, number).second) continue;
    note_damage(DamagedRange{.file = extent.file->file().path(),
                             .offset = extent.file->blocks()[number].offset,
                             .first_record = extent.file->first_record(number),
                             .end_record = extent.file->first_record(number + 1),
                             .reason = extent.damage[block]->to_string()});
  }
}

void Engine::note_damage(DamagedRange range) {
  if (options_.log && options_.on_damage != OnDamage::fail) {
    try {
      options_.log("records [" + std::to_string(range.first_record) + ", " + std::to_string(range.end_record) +
                   ") of " + range.file + " are damaged: " + range.reason);
    } catch (...) {  // a warning that cannot be written is no reason to stop
    }
  }
  const std::lock_guard lock(stats_mutex_);
  stats_.damaged.push_back(std::move(range));
}

void Engine::discharge(Extent& extent) {
  resident_.erase(extent.resident_at);
  buffers_.give_back(std::move(extent.stored));
  buffers_.give_back(std::move(extent.decoded));
  extent.records.clear();
  extent.state = Extent::State::absent;
}

void Engine::retire(EpochFeed& epoch) {
  for (LaneFeed& lane : epoch.lanes()) {
    lane.for_each_extent([this](Extent& extent) {
      if (extent.state == Extent::State::ready) discharge(extent);
    });
  }
}

}  // namespace dovetail::detail
