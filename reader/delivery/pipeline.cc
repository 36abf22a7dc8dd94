// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/pipeline.h"

#include <iterator>
#include <utility>

namespace dovetail::detail {

void Pipeline::append(std::vector<std::unique_ptr<Step>> steps, Discarded& discarded) {
  for (std::unique_ptr<Step>& step : steps) {
    if (!step->error.has_value()) {
      loads_.insert(loads_.end(), step->loads.begin(), step->loads.end());
      planned_rows_ += step->rows.size();
      for (const Unit& unit : step->units) planned_bytes_ += unit.load_bytes + unit.direct_bytes;
      if (step->end_of_epoch) {
        step->next_unit = step->units.size();
        step->done = true;
      }
    }
    steps_.push_back(std::move(step));
  }
  retire(discarded);
}

const Unit* Pipeline::first_unit() const {
  for (const std::unique_ptr<Step>& step : steps_) {
    if (!step->done) return &step->units[step->next_unit];
  }
  return nullptr;
}

bool Pipeline::can_load(bool ahead) const {
  const std::uint64_t at = next_load_ - ready_before_;
  if (at >= loads_.size()) return false;
  const std::uint64_t cost = loads_[at]->extent.load_cost();
  if (!buffers_.fits(cost)) return false;
  if (ahead && begun_bytes_ - used_bytes_ + cost <= window_.bytes()) return true;
  const Unit* const unit = first_unit();
  return unit != nullptr && next_load_ < unit->loads_before;
}

Load* Pipeline::claim_load(bool ahead) {
  if (!can_load(ahead)) return nullptr;
  Load& load = *loads_[next_load_ - ready_before_];
  load.stored = buffers_.take(load.extent.stored_bytes);
  if (load.extent.decoded_bytes > 0) load.decoded = buffers_.take(load.extent.decoded_bytes);
  load.state = Load::State::working;
  ++next_load_;
  begun_bytes_ += load.extent.load_cost();
  return &load;
}

void Pipeline::loaded(Load& load) {
  load.state = Load::State::ready;
  if (load.decoded) buffers_.give_back(std::move(load.stored));
  while (!loads_.empty() && loads_.front()->state == Load::State::ready) {
    loads_.pop_front();
    ++ready_before_;
  }
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
    if (step.done || step.gathering) continue;
    // Loads are ready in order, so no later step can be where this one is not. Slots go to steps in order as well: a
    // later step must never hold the slot that an earlier one needs.
    if (step.units[step.next_unit].loads_before > ready_before_) return nullptr;
    if (step.lease == nullptr) step.lease = ring.acquire();
    if (step.lease == nullptr) return nullptr;
    step.gathering = true;
    step.following = nullptr;
    Step* const next = at + 1 < steps_.size() ? steps_[at + 1].get() : nullptr;
    // One that is being gathered, as it may be where this step has several units, is left alone: its thread reads it.
    if (next != nullptr && !next->done && !next->gathering && next->units.front().loads_before <= ready_before_) {
      step.following = next;
      next->asked_for = true;
    }
    return &step;
  }
  return nullptr;
}

void Pipeline::gathered(Step& step, Discarded& discarded) {
  const Unit& unit = step.units[step.next_unit];
  gathered_rows_ += unit.end_row - unit.first_row;
  gathered_bytes_ += unit.load_bytes + unit.direct_bytes;
  used_bytes_ += unit.load_bytes;
  step.gathering = false;
  ++step.next_unit;
  step.done = step.error.has_value() || step.next_unit == step.units.size();
  retire(discarded);
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

Step* Pipeline::finished() {
  return steps_.empty() || !steps_.front()->done ? nullptr : steps_.front().get();
}

std::unique_ptr<Step> Pipeline::take_finished() {
  std::unique_ptr<Step> step = std::move(steps_.front());
  steps_.pop_front();
  if (first_open_ > 0) --first_open_;
  return step;
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
