// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/engine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "reader/delivery/engine_jobs.h"

namespace dovetail::detail {

namespace {

/// Runs are read with one call up to this size: beyond it larger reads gain nothing.
constexpr std::uint64_t kMaxExtentBytes = 1 << 20;

}  // namespace

Engine::Engine(EngineSetup setup)
    : dataset_(std::move(setup.dataset)),
      plan_(std::move(setup.plan)),
      options_(std::move(setup.options)),
      rules_{.on_damage = options_.on_damage,
             .oversize = options_.oversize,
             .rank = options_.ranks.rank,
             .rows_per_lane =
                 static_cast<std::uint32_t>(std::uint64_t{plan_.readers()} * plan_.options().batch / plan_.lanes())},
      extent_bytes_(std::min(kMaxExtentBytes, setup.read_ahead_bytes / 8)),
      ring_(std::move(setup.ring)),
      queue_(std::make_shared<ReadyQueue>(ring_, options_.max_held)),
      storage_(make_pread_pool(setup.io_threads)),
      workers_(setup.decode_threads),
      strand_(boost::asio::make_strand(workers_)),
      shards_(dataset_, *storage_, strand_, std::max(1u, setup.max_open_shards / 2), [this] { pump(); }),
      max_live_shards_(setup.max_open_shards),
      buffers_(setup.read_ahead_bytes),
      next_epoch_(options_.start.epoch),
      first_step_(options_.start.step) {
  ring_->on_release([this] { post_pump(); });
}

Engine::~Engine() {
  stop();
}

void Engine::start() {
  post_pump();
}

void Engine::stop() {
  const std::lock_guard lock(stop_mutex_);
  if (stopped_) return;
  stopped_ = true;
  stopping_ = true;
  ring_->on_release({});
  queue_->stop();
  storage_->stop();  // first: its completions still need the workers
  workers_.join();
}

void Engine::post_pump() {
  if (stopping_ || pump_posted_.exchange(true)) return;
  boost::asio::post(strand_, [this] {
    pump_posted_ = false;
    pump();
  });
}

void Engine::pump() noexcept {
  if (stopping_ || failed_) return;
  try {
    do {
      plan_more();
      start_gathers();
    } while (hand_over());
    if (planned_all_ && steps_.empty() && !failed_) queue_->finish();
    queue_->set_cause(current_cause());
    const std::lock_guard lock(stats_mutex_);
    stats_.shards_opened = shards_.opened();
    stats_.read_ahead_bytes = buffers_.used();
    stats_.read_ahead_peak = buffers_.peak();
  } catch (const std::exception& failure) {
    fail(Error::from_errno(ENOMEM, failure.what()));
  }
}

void Engine::fail(Error error) {
  if (failed_) return;
  failed_ = true;
  queue_->push(std::move(error));
}

void Engine::start_gathers() {
  // Slots go to steps in order: a later step must never hold the slot that an earlier one needs.
  for (const std::unique_ptr<Step>& step : steps_) {
    if (step->done || step->gathering) continue;  // while gathering, the step is the worker's
    if (step->lease == nullptr) step->lease = ring_->acquire();
    if (step->lease == nullptr) return;
    const Unit& unit = step->units[step->next_unit];
    if (!unit.admitted || unit.missing > 0) continue;
    step->gathering = true;
    on_worker([this, step = step.get()] { gather_next_unit(*step, *ring_, rules_); },
              [this, step = step.get()] { on_gathered(*step); });
  }
}

void Engine::on_gathered(Step& step) {
  Unit& unit = step.units[step.next_unit];
  for (const Unit::Use& use : unit.uses) {
    Extent& extent = *use.extent;
    --extent.pins;
    extent.remaining -= use.rows;
    if (extent.pins == 0 && extent.remaining == 0) discharge(extent);
  }
  unit.uses.clear();
  step.gathering = false;
  ++step.next_unit;
  step.done = step.error.has_value() || step.next_unit == step.units.size();
  pump();
}

bool Engine::hand_over() {
  bool any = false;
  while (!steps_.empty() && steps_.front()->done) {
    if (steps_.front()->error.has_value()) {
      fail(*steps_.front()->error);  // the step stays: extents on their way still name its units
      return false;
    }
    any = true;
    const std::unique_ptr<Step> step = std::move(steps_.front());
    steps_.pop_front();
    rows_ahead_ -= step->rows.size();
    if (step->end_of_epoch) {
      retire(*step->epoch);
      queue_->push(EndOfEpoch{step->epoch_number});
      continue;
    }
    if (step->lease->spilled()) {
      const std::lock_guard lock(stats_mutex_);
      ++stats_.spilled_batches;
    }
    ReadyBatch batch{.lease = std::move(step->lease),
                     .origin = step->epoch->origin(),
                     .step = step->number,
                     .rows = static_cast<std::uint32_t>(step->rows.size()),
                     .bytes = step->value_bytes};
    std::copy(std::begin(step->status_counts), std::end(step->status_counts), std::begin(batch.status_counts));
    queue_->push(std::move(batch));
  }
  return any;
}

Stall Engine::current_cause() const {
  if (steps_.empty()) return Stall::storage;
  const Step& head = *steps_.front();
  if (head.done || head.gathering) return Stall::decode;
  const Unit& unit = head.units[head.next_unit];
  for (const Unit::Use& use : unit.uses) {
    if (use.extent->state == Extent::State::loading && !use.extent->read_done) return Stall::storage;
  }
  return head.lease == nullptr ? Stall::slot : Stall::decode;
}

State Engine::state() const {
  const ReadyQueue::HandedOver last = queue_->handed_over();
  if (last.origin == nullptr) return plan_.state(last.position.value_or(options_.start)).value();  // planned before
  State state = *last.origin;
  state.phases.back().steps += last.position->step - state.position().step;
  return state;
}

ReaderStats Engine::stats() const {
  ReaderStats stats;
  {
    const std::lock_guard lock(stats_mutex_);
    stats = stats_;
  }
  queue_->add_to(stats);
  stats.registered = ring_->registered();
  stats.registration_note = ring_->note();
  stats.slots = ring_->slots();
  stats.slot_bytes = ring_->slot_bytes();
  stats.budget_bytes = options_.memory_bytes;
  return stats;
}

}  // namespace dovetail::detail
