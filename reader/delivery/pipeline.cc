// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/pipeline.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "reader/delivery/slab.h"

namespace dovetail::detail {

void Pipeline::append(std::vector<std::unique_ptr<Step>>& steps, Discarded& discarded) {
  for (std::unique_ptr<Step>& step : steps) {
    if (!step->error.has_value()) {
      loads_.insert(loads_.end(), step->loads.begin(), step->loads.end());
      planned_rows_ += step->row_count;
      for (const Unit& unit : step->units) planned_bytes_ += unit.load_bytes + unit.direct_bytes;
      if (step->end_of_epoch) {
        step->next_unit = step->units.size();
        step->done = true;
      }
    }
    steps_.push_back(std::move(step));
  }
  steps.clear();
  hand_out_lost();
  settle(discarded);
}

const Unit* Pipeline::first_unit() const {
  for (const std::unique_ptr<Step>& step : steps_) {
    if (!step->done) return &step->units[step->next_unit];
  }
  return nullptr;
}

bool Pipeline::can_load(bool ahead) const {
  const std::uint64_t at = next_load_ - ready_before_;
  if (at >= loads_.size() || next_load_ >= sealed_) return false;
  const std::uint64_t cost = loads_[at]->extent.load_cost();
  if (!buffers_.fits(cost)) return false;
  if (ahead && begun_bytes_ - used_bytes_ + cost <= window_.bytes()) return true;
  const Unit* const unit = first_unit();
  return unit != nullptr && next_load_ < unit->loads_before;
}

Load* Pipeline::claim_load(bool ahead) {
  if (!can_load(ahead)) return nullptr;
  Load& load = *loads_[next_load_ - ready_before_];
  AlignedBuffer stored = buffers_.take(load.extent.stored_at() + load.extent.stored_bytes);
  if (load.extent.decoded_bytes > 0) load.decoded = buffers_.take(load.extent.decoded_bytes);
  load.stored = std::move(stored);
  load.state = Load::State::working;
  ++next_load_;
  begun_bytes_ += load.extent.load_cost();
  return &load;
}

void Pipeline::loaded(Load& load, Discarded& discarded) {
  load.state = Load::State::ready;
  if ((load.decoded && !load.extent.keeps_stored) || load.complete) buffers_.give_back(std::move(load.stored));
  if (load.complete) buffers_.give_back(std::move(load.decoded));
  while (!loads_.empty() && loads_.front()->state == Load::State::ready) {
    loads_.pop_front();
    ++ready_before_;
  }
  settle(discarded);
}

void Pipeline::settle(Discarded& discarded) {
  while (first_open_ < steps_.size() && is_complete(*steps_[first_open_])) ++first_open_;
  retire(discarded);
}

bool Pipeline::is_complete(Step& step) {
  if (step.done || !step.laid_out || step.gathering || step.needs_gathering()) return step.done;
  for (; step.next_unit < step.units.size(); ++step.next_unit) {
    if (step.units[step.next_unit].loads_before > ready_before_) return false;
    count_gathered(step.units[step.next_unit]);
  }
  step.done = true;
  return true;
}

void Pipeline::count_gathered(const Unit& unit) {
  gathered_rows_ += unit.end_row - unit.first_row;
  gathered_bytes_ += unit.load_bytes + unit.direct_bytes;
  used_bytes_ += unit.load_bytes;
}

void Pipeline::note_lost(const Load& load, const std::byte* first_slot) {
  std::size_t record = 0;
  for (const LoadedBlock& block : load.blocks) {
    const std::size_t end = record + load.extent.file->blocks()[load.extent.first_block + block.number].records;
    for (; record < end && !load.destinations.empty(); ++record) {
      if (!block.damaged() || load.destinations[record] == Load::kNowhere) continue;
      lost_.push_back({first_slot + load.destinations[record], &load.extent, block.number, *load.damage[block.number]});
    }
  }
  hand_out_lost();
}

void Pipeline::hand_out_lost() {
  if (lost_.empty()) return;
  std::map<const std::byte*, Step*> by_slot;
  for (const std::unique_ptr<Step>& step : steps_) {
    if (step->laid_out && !step->done) by_slot[step->lease->bytes().data()] = step.get();
  }
  std::erase_if(lost_, [&](LostRecord& lost) {
    const auto after = by_slot.upper_bound(lost.destination);
    if (after == by_slot.begin()) return false;
    Step& step = *std::prev(after)->second;
    const std::span<std::byte> bytes = step.lease->bytes();
    if (lost.destination >= bytes.data() + bytes.size()) return false;  // its step is still being planned
    const auto batch =
        static_cast<std::uint32_t>(static_cast<std::size_t>(lost.destination - bytes.data()) / step.slab_bytes);
    if (batch >= step.batches()) return true;  // the step ends with a failure before it
    const SlabParts slab = parts_of(step, batch);
    const std::span<const std::int64_t> offsets(slab.offsets, std::size_t{step.batch_rows} + 1);
    // Behind all rows that begin there: those before the last have no bytes.
    const auto behind = std::upper_bound(offsets.begin(), offsets.end(), lost.destination - slab.values);
    const auto row = static_cast<std::uint32_t>(behind - offsets.begin() - 1);
    step.lost.push_back({.row = batch * step.batch_rows + row,
                         .block = lost.block,
                         .extent = lost.extent,
                         .damage = std::move(lost.damage)});
    return true;
  });
}

bool Pipeline::can_gather(const SlotRing& ring) const {
  for (std::size_t at = first_open_; at < steps_.size(); ++at) {
    const Step& step = *steps_[at];
    if (step.done || step.gathering) continue;
    return step.units[step.next_unit].loads_before <= ready_before_ && (step.lease != nullptr || ring.has_free());
  }
  return false;
}

Step* Pipeline::claim_gather(SlotRing& ring) {
  while (first_open_ < steps_.size() && (steps_[first_open_]->done)) ++first_open_;
  for (std::size_t at = first_open_; at < steps_.size(); ++at) {
    Step& step = *steps_[at];
    if (step.gathering || is_complete(step)) continue;
    // Loads are ready in order, so no later step can be where this one is not. Slots go to steps in order as well: a
    // later step must never hold the slot that an earlier one needs.
    if (step.units[step.next_unit].loads_before > ready_before_) return nullptr;
    if (step.lease == nullptr) step.lease = ring.acquire();
    if (step.lease == nullptr) return nullptr;
    step.gathering = true;
    step.lost_before.insert(step.lost_before.end(), std::make_move_iterator(step.lost.begin()),
                            std::make_move_iterator(step.lost.end()));
    step.lost.clear();
    step.following = nullptr;
    const bool ends_step = step.next_unit + 1 == step.units.size();
    Step* const next = ends_step && at + 1 < steps_.size() ? steps_[at + 1].get() : nullptr;
    // One that is being gathered, as it may be where this step has several units, is left alone: its thread reads it.
    if (next != nullptr && !next->done && !next->gathering && !next->laid_out &&
        next->units.front().loads_before <= ready_before_) {
      step.following = next;
      next->asked_for = true;
    }
    return &step;
  }
  return nullptr;
}

void Pipeline::gathered(Step& step, Discarded& discarded) {
  count_gathered(step.units[step.next_unit]);
  step.gathering = false;
  ++step.next_unit;
  step.done = step.error.has_value() || step.next_unit == step.units.size();
  settle(discarded);
}

void Pipeline::retire(Discarded& discarded) {
  for (const std::unique_ptr<Step>& step : steps_) {
    while (step->retired < step->next_unit) {
      Unit& unit = step->units[step->retired++];
      drop(unit.evicted, discarded);
      drop(unit.ended, discarded);
      discarded.runs.insert(discarded.runs.end(), std::make_move_iterator(unit.runs.begin()),
                            std::make_move_iterator(unit.runs.end()));
      unit.runs.clear();
    }
    if (!step->done) {
      drop(step->units[step->retired].evicted, discarded);
      return;
    }
    if (step->error.has_value()) return;
  }
}

void Pipeline::drop(std::vector<std::unique_ptr<Load>>& loads, Discarded& discarded) {
  for (std::unique_ptr<Load>& load : loads) {
    buffers_.give_back(std::move(load->stored));
    buffers_.give_back(std::move(load->decoded));
    discarded.loads.push_back(std::move(load));
  }
  loads.clear();
}

std::unique_ptr<Step> Pipeline::take_first() {
  std::unique_ptr<Step> step = std::move(steps_.front());
  steps_.pop_front();
  if (first_open_ > 0) --first_open_;
  return step;
}

bool Pipeline::waits_for_seal() const {
  const Unit* const unit = first_unit();
  return unit != nullptr && unit->loads_before > sealed_;
}

bool Pipeline::waits_for_slot() const {
  for (const std::unique_ptr<Step>& step : steps_) {
    if (step->done) continue;
    // While it is being gathered its slot may be exchanged for a larger one.
    return !step->gathering && step->lease == nullptr && step->units[step->next_unit].loads_before <= ready_before_;
  }
  return false;
}

bool Pipeline::waits_for_storage() const {
  for (const std::unique_ptr<Step>& step : steps_) {
    if (step->done) continue;
    if (step->gathering && step->direct_left > 0) return true;
    break;
  }
  const Unit* const unit = first_unit();
  if (unit == nullptr || loads_.empty() || ready_before_ >= unit->loads_before) return false;
  return loads_.front()->state == Load::State::reading;
}

}  // namespace dovetail::detail
