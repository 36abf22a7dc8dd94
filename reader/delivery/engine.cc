// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/engine.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include "format/guard_memory.h"

namespace dovetail::detail {

namespace {

/// With several threads, what one of them reads for another: enough that nobody waits, little enough for the caches.
constexpr std::uint64_t kLeastWindow = 4 << 20;
constexpr std::uint64_t kMostWindow = 64 << 20;

/// How far the plan runs ahead of gathering.
constexpr std::uint64_t kLeastRowsAhead = 8 * Planner::kRowsAtOnce;
constexpr std::uint64_t kMostRowsAhead = 64 * Planner::kRowsAtOnce;
constexpr std::size_t kMostStepsAhead = 4096;

/// That the stats name.
constexpr std::size_t kSlowestShards = 5;

/// With more than this in slots, what is scattered to them leaves the caches of a core before the trainer gets it.
constexpr std::size_t kStreamedBytes = 1 << 20;

ExtentRules extent_rules(const StorageFacts& storage, const EngineSetup& setup) {
  const std::uint64_t most = storage.direct ? kDirectExtentBytes : kCachedExtentBytes;
  // What becomes columns goes through blocks. Where batches share slots no record is that large, whatever a damaged index says.
  const bool none_direct = setup.scatters || setup.batches_per_slot > 1 || setup.columns != nullptr;
  return {.join_bytes = std::min(most, setup.read_ahead_bytes / 8),
          .direct_bytes = none_direct ? UINT64_MAX : kDirectRecordBytes};
}

ReadWindow read_window(const StorageFacts& storage, std::uint64_t budget, unsigned threads, bool scatters) {
  const std::uint64_t most = std::min(kMostWindow, budget / 2);
  // What is scattered leaves the caches anyway.
  return ReadWindow(storage.direct || scatters ? most : threads > 1 ? kLeastWindow : 0, most, storage.direct);
}

}  // namespace

Engine::Engine(EngineSetup setup)
    : dataset_(setup.dataset),
      plan_(setup.plan),
      options_(setup.options),
      ring_(setup.ring),
      queue_(std::make_shared<ReadyQueue>(ring_, options_.max_held, options_.timeline, options_.ranks.rank)),
      storage_(std::move(setup.storage)),
      threads_(setup.threads),
      rows_at_once_(setup.rows_at_once),
      slab_bytes_(setup.slab_bytes),
      slot_rows_(std::uint64_t{setup.batches_per_slot} * setup.plan.options().batch),
      scatters_(setup.scatters),
      streams_(ring_->bytes().size() > kStreamedBytes),
      max_open_shards_(setup.max_open_shards),
      shards_(dataset_, *storage_, std::max(1u, setup.max_open_shards / 2), [this] { kick(); }),
      planner_({.dataset = dataset_,
                .plan = plan_,
                .options = options_,
                .extents = extent_rules(storage_->facts(), setup),
                .read_ahead_bytes = setup.read_ahead_bytes,
                .max_open_shards = setup.max_open_shards,
                .rows_at_once = setup.rows_at_once,
                .batches_per_step = setup.batches_per_slot,
                .slab_bytes = setup.slab_bytes,
                .scatter_into = setup.scatters ? ring_.get() : nullptr},
               shards_),
      columns_(std::move(setup.columns)),
      rules_{.on_damage = options_.on_damage,
             .oversize = options_.oversize,
             .rank = options_.ranks.rank,
             .rows_per_lane = planner_.rows_per_lane(),
             .columns = columns_.get()},
      workers_(setup.threads),
      window_(read_window(storage_->facts(), setup.read_ahead_bytes, setup.threads, setup.scatters)),
      pipeline_(setup.read_ahead_bytes, window_),
      replay_(options_.replay) {
  ring_->on_release([this] { slot_is_free(); }, queue_);
}

Engine::~Engine() {
  stop();
}

void Engine::start() {
  kick();
}

void Engine::stop() {
  stop_all();
  queue_->complete();
}

void Engine::stop_all() {
  const std::lock_guard lock(stop_mutex_);
  if (stopped_) return;
  stopped_ = true;
  stopping_ = true;
  ring_->on_release({});
  queue_->stop();
  storage_->stop();  // first: its completions still need the workers
  workers_.join();
  std::unique_lock busy(mutex_);
  idle_.wait(busy, [this] { return helping_ == 0; });
}

void Engine::async_next(ReadyQueue::Handler handler) {
  queue_->async_next(std::move(handler));
  kick();
}

bool Engine::help() noexcept {
  Job job;
  {
    const Lock lock(*this);
    if (replay_.complete()) {
      replay_.refill(*queue_);
      return true;
    }
    job = claim_locked(Role::trainer);
    if (job.kind == Job::Kind::none) {
      // From here on the trainer stands still, and its core is free for a worker.
      queue_->stand_still(cause_locked());
      kick_locked();
      return false;
    }
    ++helping_;
    kick_locked();
  }
  run(job);
  const std::lock_guard lock(mutex_);
  if (--helping_ == 0 && stopping_) idle_.notify_all();
  return true;
}

void Engine::work() {
  for (;;) {
    Job job;
    {
      const Lock lock(*this);
      const bool beside_trainer = queue_->busy_trainer();
      if (active_ <= threads_ - (beside_trainer ? 1 : 0)) {
        job = claim_locked(beside_trainer ? Role::supplier : Role::worker);
      }
      if (job.kind == Job::Kind::none) {
        --active_;
        return;
      }
      kick_locked();
    }
    run(job);
  }
}

void Engine::slot_is_free() noexcept {
  const std::lock_guard lock(mutex_);
  kick_locked();
}

void Engine::kick() noexcept {
  const Lock lock(*this);
  kick_locked();
}

void Engine::kick_locked() noexcept {
  if (replay_.complete() && !stopping_) return replay_.refill(*queue_);
  if (queue_->waiting()) queue_->set_cause(cause_locked());
  const bool beside_trainer = queue_->busy_trainer();
  if (active_ >= threads_ - (beside_trainer ? 1 : 0)) return;
  if (!has_work_locked(beside_trainer ? Role::supplier : Role::worker)) return;
  try {
    boost::asio::post(workers_.executor(), [this] { work(); });
    ++active_;
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
}

bool Engine::has_work_locked(Role role) const {
  if (ended_locked()) return false;
  if (!arrived_loads_.empty() || !arrived_records_.empty()) return true;
  // Waking costs more than a short job: a supplier is woken for half a window.
  if (role == Role::supplier) {
    const bool plans =
        scatters_ ? 4 * ring_->free_slots() > ring_->slots() : 2 * pipeline_.rows_ahead() < Planner::kRowsAtOnce;
    return (pipeline_.can_load(true) && 2 * pipeline_.loads_ahead() <= window_.bytes()) ||
           (plans && wants_plan_locked());
  }
  return (!planning_ && pipeline_.waits_for_seal()) || pipeline_.can_gather(*ring_) || pipeline_.can_load(true) ||
         wants_plan_locked();
}

Engine::Job Engine::claim_locked(Role role) noexcept try {
  if (ended_locked()) return {};
  Job job = choose_locked(role);
  job.by_trainer = role == Role::trainer;
  if (job.kind == Job::Kind::gather) job.timed = times_gather_locked();
  return job;
} catch (const std::exception& failure) {
  fail_locked(error_from(failure));
  return {};
}

Engine::Job Engine::choose_locked(Role role) {
  if (role != Role::supplier) {
    if (Step* const step = pipeline_.claim_gather(*ring_)) return {.kind = Job::Kind::gather, .step = step};
  }
  if (!arrived_records_.empty()) {
    const auto [step, read] = arrived_records_.front();
    arrived_records_.pop_front();
    return {.kind = Job::Kind::check, .step = step, .direct = read};
  }
  if (!arrived_loads_.empty()) {
    Load* const load = arrived_loads_.front();
    arrived_loads_.pop_front();
    return {.kind = Job::Kind::decode, .load = load};
  }
  // One thread plans at a time, which must not become what the others wait for: beside them it comes first.
  const bool plans_first = scatters_ && role != Role::trainer && wants_plan_locked();
  if (!plans_first) {
    if (Load* const load = pipeline_.claim_load(true)) return {.kind = Job::Kind::load, .load = load};
  }
  if (plans_first || wants_plan_locked()) {
    planning_ = true;
    planner_.reuse(spare_steps_);
    return {.kind = Job::Kind::plan, .cold = window_.cold()};
  }
  if (!planning_ && pipeline_.waits_for_seal()) {
    planning_ = true;
    return {.kind = Job::Kind::seal};
  }
  if (role == Role::supplier) {
    if (Step* const step = pipeline_.claim_gather(*ring_)) return {.kind = Job::Kind::gather, .step = step};
  }
  return {};
}

bool Engine::wants_plan_locked() const {
  if (planning_ || planned_all_) return false;
  if (blocked_ && shards_.changes() == blocked_at_) return false;
  if (scatters_) return can_lay_out_locked();
  if (pipeline_.empty()) return true;
  // Rows that are gathered let shards go.
  if (shards_.live() >= max_open_shards_) return false;
  if (pipeline_.steps() < 2) return true;
  if (pipeline_.steps() >= kMostStepsAhead || pipeline_.rows_ahead() >= kMostRowsAhead) return false;
  if (pipeline_.steps() < ring_->slots() + 2) return true;
  if (pipeline_.rows_ahead() < Planner::kRowsAtOnce) return true;
  const std::uint64_t most = window_.cold() ? kMostRowsAhead : kLeastRowsAhead;
  return pipeline_.rows_ahead() < most && pipeline_.bytes_ahead() < 2 * window_.bytes();
}

bool Engine::can_lay_out_locked() const {
  if (blocked_) return true;  // its step has a slot already
  const std::uint32_t free = ring_->free_slots();
  if (free == 0 || (!pipeline_.empty() && shards_.live() >= max_open_shards_)) return false;
  // Many steps at a time, unless the next one waits for it.
  return free * slot_rows_ >= rows_at_once_ || 2 * free >= ring_->slots() || pipeline_.empty() ||
         pipeline_.waits_for_seal();
}

void Engine::run(const Job& job) noexcept {
  try {
    switch (job.kind) {
      case Job::Kind::plan:
        return run_plan(job);
      case Job::Kind::seal:
        return run_seal();
      case Job::Kind::load:
        return run_load(job);
      case Job::Kind::decode:
        return run_decode(job);
      case Job::Kind::gather:
        return run_gather(job);
      case Job::Kind::check:
        return run_check(job);
      case Job::Kind::none:
        return;
    }
  } catch (const std::exception& failure) {
    const Error error = error_from(failure);
    const Lock lock(*this);
    fail_locked(error);
  }
}

void Engine::fail_locked(Error error) noexcept {
  if (failed_ || replay_.complete()) return;  // what is repeated needs nothing that could fail
  failed_ = true;
  queue_->fail(std::move(error));
}

void Engine::hand_over_locked(Discarded& discarded) {
  while (!failed_ && !replay_.complete()) {
    Step* const step = pipeline_.first();
    if (step == nullptr) break;
    if (const std::uint32_t ready = step->ready_batches(); ready > step->handed_over) {
      queue_->make_room(options_.replay + std::size_t{2});
      ReadyBatches batches{.lease = step->lease,
                           .origin = step->origin,
                           .step = step->number,
                           .next = step->handed_over,
                           .end = ready,
                           .rows = step->batch_rows,
                           .slab_bytes = step->slab_bytes};
      stats_.spilled_batches += batches.lease->spilled() ? 1 : 0;
      if (replay_.wanted()) replay_.keep(batches);
      // Only now that memory was there, and before the trainer may be the last who has it: a slot must not come free here.
      if (step->done) step->lease.reset();
      queue_->push(std::move(batches));
      step->handed_over = ready;
    }
    if (!step->done) break;
    if (step->error.has_value()) return fail_locked(*step->error);
    if (step->end_of_epoch) {
      queue_->make_room(1);
      queue_->push(EndOfEpoch{step->epoch});
    }
    if (step->lease != nullptr) discarded.leases.push_back(std::move(step->lease));
    step->origin.reset();
    spare_steps_.push_back(pipeline_.take_first());
  }
  if (planned_all_ && pipeline_.empty() && !planning_ && !replay_.wanted()) queue_->finish();
}

Stall Engine::cause_locked() const {
  if (pipeline_.empty() || pipeline_.waits_for_storage()) return Stall::storage;
  return pipeline_.waits_for_slot() ? Stall::slot : Stall::decode;
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
    const std::lock_guard lock(mutex_);
    stats = stats_;
    stats.read_ahead_bytes = pipeline_.buffers().used();
    stats.read_ahead_peak = pipeline_.buffers().peak();
    stats.slowest_shards = waited_reads_.slowest(dataset_, kSlowestShards);
  }
  queue_->add_to(stats);
  stats.shards_opened = shards_.opened();
  stats.storage = storage_->facts().kind;
  stats.storage_note = storage_->facts().note;
  stats.cached_reads = storage_->cached_reads();
  HungReads hung = storage_->hung_reads();
  stats.hung_reads = hung.met;
  stats.given_up_reads = hung.given_up;
  stats.hung_now = std::move(hung.now);
  stats.registered = ring_->registered();
  stats.registration_note = ring_->memory().note();
  stats.registration_time = ring_->memory().registration_time();
  stats.provided_memory = ring_->memory().provided();
  stats.numa_node = ring_->memory().numa_node();
  stats.slots = ring_->slots();
  stats.slot_bytes = ring_->slot_bytes();
  stats.budget_bytes = options_.memory_bytes;
  return stats;
}

}  // namespace dovetail::detail
