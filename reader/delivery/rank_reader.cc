// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/rank_reader.h"

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "format/guard_memory.h"
#include "format/try.h"
#include "reader/delivery/open_runs.h"

namespace dovetail::detail {

namespace {

/// The most bytes that one read fetches, unless a single block is larger.
constexpr std::uint64_t kReadBytes = 64 << 10;
constexpr std::uint64_t kDirectReadBytes = 1 << 20;  // for a storage that bypasses the page cache
/// Flights that are walked ahead of filling, so that their records are prefetched into the caches.
constexpr std::size_t kWalkedAhead = 2;

/// The size of all records, if they have one size and are copied to rows from runs in memory; else
/// 0.
std::uint32_t fetched_record_bytes(const ReaderSetup& setup) {
  const std::uint32_t bytes = common_record_bytes(setup.dataset).value_or(0);
  return bytes >= kPlacedBytes && setup.places ? 0 : bytes;
}

FetchRules fetch_rules(const ReaderSetup& setup) {
  const std::uint64_t most = setup.storage->facts().direct ? kDirectReadBytes : kReadBytes;
  return {.read_bytes = std::min(most, setup.memory.read_ahead_bytes / 8),
          .placed_bytes = setup.places ? kPlacedBytes : UINT64_MAX,
          .record_bytes = fetched_record_bytes(setup),
          .scattered_group = setup.scattered_group};
}

}  // namespace

RankReader::RankReader(ReaderSetup setup)
    : setup_(std::move(setup)),
      queue_(std::make_shared<ReadyQueue>(setup_.ring, setup_.options)),
      rules_{.on_damage = setup_.options.on_damage,
             .oversize = setup_.options.oversize,
             .rank = setup_.options.ranks.rank,
             .batch_rows = setup_.plan.options().batch,
             .rows_per_lane = setup_.plan.options().batch / (setup_.plan.lanes() / setup_.plan.readers()),
             .slab_bytes = setup_.memory.slab_bytes,
             .record_bytes = fetched_record_bytes(setup_),
             .columns = setup_.columns.get(),
             .transform = setup_.options.transform ? &setup_.options.transform : nullptr,
             .seed = setup_.plan.options().seed,
             .stopping = &end_.stopping},
      // If the first loss ends the reader, its error is enough.
      damage_(setup_.dataset, setup_.options.on_damage == OnDamage::fail ? nullptr : setup_.options.log),
      shards_(setup_.dataset, *setup_.storage, std::max(1u, setup_.max_open_shards / 2), [this] { kick(); }),
      store_(
          {.rules = fetch_rules(setup_), .budget = setup_.memory.read_ahead_bytes, .spare_bytes = setup_.spare_bytes},
          shards_, *setup_.storage, damage_),
      rows_(setup_, rules_, shards_, store_),
      parts_{setup_.dataset, *setup_.ring, shards_, *setup_.storage, damage_},
      metrics_(setup_.options.metrics.empty() ? nullptr : std::make_unique<MetricsFile>(setup_.options, [this] {
        return stats();
      })) {}

RankReader::~RankReader() {
  stop();
}

Result<void> RankReader::start() {
  if (metrics_ != nullptr) {
    DOVETAIL_TRY(metrics_->begin());
    queue_->on_asynchronous([reader = weak_from_this()](bool end_of_epoch) {
      const std::shared_ptr<RankReader> alive = reader.lock();
      if (alive != nullptr) alive->metrics_->handed_over(end_of_epoch, Clock::now());
    });
  }
  setup_.ring->listen(weak_from_this());
  kick();
  return {};
}

void RankReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    end_.stopping = true;
  }
  // A request must not wait for reads that hang. Its handler may call stop() itself.
  queue_->stop();
  queue_->complete();
  std::call_once(end_.stopped, [this] { stop_all(); });
}

void RankReader::stop_all() {
  setup_.storage->stop();  // first: its completions still need the workers
  setup_.workers->join();
  std::unique_lock busy(mutex_);
  at_work_.no_trainer.wait(busy, [this] { return at_work_.trainers == 0; });
  busy.unlock();
  if (metrics_ != nullptr) metrics_->write();
}

void RankReader::async_next(ReadyQueue::Handler handler) {
  queue_->async_next(std::move(handler));
  kick();
}

ReadyQueue::Outcome RankReader::next(ReadyQueue::Deadline until) {
  ReadyQueue::Outcome outcome;  // the only one returned, so that it is constructed in place
  take_next(outcome, until);
  if (metrics_ != nullptr && outcome.has_value()) metrics_->handed_over(!outcome->has_value(), Clock::now());
  return outcome;
}

void RankReader::take_next(ReadyQueue::Outcome& outcome, ReadyQueue::Deadline until) {
  Clock::time_point now;
  if (queue_->begin(outcome, now)) return;
  // Help at least once, even if `until` has passed: a reader with one thread may leave all work to
  // a trainer that only polls.
  while (help(now)) {
    if (queue_->take(outcome, now)) return;
    if (until.has_value() && Clock::now() >= *until) break;
  }
  queue_->wait(outcome, until);
}

bool RankReader::help(Clock::time_point& now) noexcept {
  Job job;
  {
    const Lock lock(*this);
    if (!setup_.options.transform) job = claim_locked();  // a transform never runs on a thread of the trainer
    if (job.kind == Job::Kind::none) {
      // From here on the trainer waits, and its core is free for a worker.
      queue_->stand_still(cause_locked());
      kick_locked();
      return false;
    }
    ++at_work_.trainers;
    kick_locked();
  }
  now = run(std::move(job), now);
  const std::lock_guard lock(mutex_);
  if (--at_work_.trainers == 0 && end_.stopping) at_work_.no_trainer.notify_all();
  return true;
}

void RankReader::work() {
  Clock::time_point now = Clock::now();
  for (;;) {
    Job job;
    {
      const Lock lock(*this);
      if (at_work_.workers <= setup_.threads - (queue_->busy_trainer() ? 1 : 0)) job = claim_locked();
      if (job.kind == Job::Kind::none) {
        --at_work_.workers;
        return;
      }
      kick_locked();
    }
    now = run(std::move(job), now);
  }
}

void RankReader::kick() noexcept {
  const Lock lock(*this);
  kick_locked();
}

void RankReader::kick_locked() noexcept {
  if (queue_->waiting()) queue_->set_cause(cause_locked());
  if (at_work_.workers >= setup_.threads - (queue_->busy_trainer() ? 1 : 0) || !has_work_locked()) return;
  try {
    setup_.workers->post([this] { work(); });
    ++at_work_.workers;
  } catch (const std::exception& failure) {
    fail_locked(error_from(failure));
  }
}

bool RankReader::has_work_locked() const {
  if (ended_locked()) return false;
  const auto can_fill = [this](const auto& flight) { return can_fill_locked(*flight); };
  return !arrived_.empty() || wants_walk_locked() || std::any_of(flights_.begin(), flights_.end(), can_fill) ||
         store_.has_work();
}

RankReader::Job RankReader::claim_locked() noexcept try {
  if (ended_locked()) return {};
  return choose_locked();
} catch (const std::exception& failure) {
  fail_locked(error_from(failure));
  return {};
}

RankReader::Job RankReader::choose_locked() {
  if (!arrived_.empty()) {
    Job job = std::move(arrived_.front());
    arrived_.pop_front();
    return job;
  }
  // Request reads that wait for storage before all other jobs.
  if (store_.cold()) {
    if (auto fetch = store_.claim()) return {.kind = Job::Kind::fetch, .fetch = std::move(*fetch)};
  }
  const auto is_walked = [](const auto& flight) { return flight->lease == nullptr && flight->is_walked(); };
  const auto walked = static_cast<std::size_t>(std::count_if(flights_.begin(), flights_.end(), is_walked));
  const bool walks = wants_walk_locked();
  if (!walks || walked >= kWalkedAhead) {
    if (Job fill = claim_fill_locked(); fill.kind != Job::Kind::none) return fill;
  }
  if (walks) return claim_walk_locked();
  if (auto fetch = store_.claim()) return {.kind = Job::Kind::fetch, .fetch = std::move(*fetch)};
  // `claim` may have made runs ready that need no read, and may have closed shards. So look again.
  return wants_walk_locked() ? claim_walk_locked() : claim_fill_locked();
}

RankReader::Job RankReader::claim_fill_locked() {
  Flight* const fill = next_fill_locked();
  if (fill == nullptr) return {};
  if (fill->lease == nullptr) fill->lease = setup_.ring->acquire();
  fill->busy = true;
  return {.kind = Job::Kind::fill, .flight = fill};
}

RankReader::Job RankReader::claim_walk_locked() {
  if (flights_.empty() || flights_.back()->is_walked()) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Flight>(rules_, parts_));
    flights_.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  flights_.back()->busy = true;
  return {.kind = Job::Kind::walk, .flight = flights_.back().get()};
}

bool RankReader::wants_walk_locked() const {
  if (walked_.all || walked_.failure.has_value()) return false;
  if (walked_.blocked_at.has_value() && *walked_.blocked_at == store_.changes()) return false;
  const std::size_t most = setup_.ring->slots() + kWalkedAhead;
  if (flights_.empty() || flights_.back()->is_walked()) return flights_.size() < most;
  return !flights_.back()->busy;
}

bool RankReader::can_fill_locked(const Flight& flight) const {
  if (flight.busy || flight.reads_left > 0 || flight.filled == flight.walked || flight.error) return false;
  // A flight that is not walked to its end is filled only while the walk is blocked. The walk may
  // wait for the memory that these rows free.
  if (flight.walked < flight.row_count && !walked_.blocked_at.has_value() && !walked_.failure.has_value()) return false;
  if (flight.shards_at.has_value() && *flight.shards_at == shards_.changes()) return false;
  return flight.lease != nullptr || setup_.ring->has_free();
}

Flight* RankReader::next_fill_locked() const {
  for (const std::unique_ptr<Flight>& flight : flights_) {
    if (can_fill_locked(*flight)) return flight.get();
    // Flights take slots in order of delivery. Otherwise later flights could hold all slots while
    // the next batch has none.
    if (flight->lease == nullptr && flight->row_count > 0) break;
  }
  return nullptr;
}

RankReader::Clock::time_point RankReader::run(Job job, Clock::time_point now) noexcept {
  try {
    switch (job.kind) {
      case Job::Kind::walk:
        return run_walk(*job.flight, now);
      case Job::Kind::fill:
        return run_fill(*job.flight, now);
      case Job::Kind::check:
        return run_check(std::move(job), now);
      case Job::Kind::fetch:
        return run_fetch(std::move(job), now);
      case Job::Kind::none:
        break;
    }
  } catch (const std::exception& failure) {
    const Error error = error_from(failure);
    const Lock lock(*this);
    fail_locked(error);
  }
  return now;
}

void RankReader::fail_locked(Error error) noexcept {
  if (end_.failed || replays_locked()) return;  // batches that are replayed cannot fail
  end_.failed = true;
  queue_->fail(std::move(error));
}

void RankReader::hand_over_locked() {
  while (!ended_locked() && !flights_.empty()) {
    Flight& flight = *flights_.front();
    if (flight.ready > flight.handed_over) {
      queue_->make_room();
      if (flight.lease->origin() == nullptr) flight.lease->set_origin(flight.origin);
      ReadyItem batches{.lease = flight.lease,
                        .epoch = flight.epoch,
                        .step = flight.step,
                        .next = flight.handed_over,
                        .end = flight.ready,
                        .rows = rules_.batch_rows,
                        .slab_bytes = rules_.slab_bytes};
      tally_.spilled_batches += batches.lease->spilled() ? 1 : 0;
      if (setup_.options.replay > 0) ++to_replay_;
      // Drop this lease before the trainer gets the batch. If it were the last lease, the slot
      // would be freed under the lock.
      if (flight.ready == flight.batches) flight.lease.reset();
      queue_->push(std::move(batches));
      flight.handed_over = flight.ready;
    }
    if (flight.error.has_value()) return fail_locked(*flight.error);
    if (flight.end_of_epoch) {
      queue_->make_room();
      queue_->push({.lease = nullptr, .epoch = flight.epoch});
    } else if (flight.busy || flight.batches == 0 || flight.handed_over < flight.batches) {
      break;
    }
    static_cast<FlightProgress&>(flight) = {};
    flight.rows.parts.clear();  // which keeps its memory
    spare_.push_back(std::move(flights_.front()));
    flights_.pop_front();
  }
  if (ended_locked()) return;
  const auto rests = [](const Flight& flight) { return !flight.busy && flight.filled == flight.walked; };
  const bool stuck = flights_.empty() || rests(*flights_.front());
  if (walked_.failure.has_value() && stuck) return fail_locked(*walked_.failure);
  if (walked_.all && flights_.empty() && setup_.options.replay == 0) queue_->finish();
}

Stall RankReader::cause_locked() const {
  if (flights_.empty() || flights_.front()->reads_left > 0 || fetches_out_ > 0) return Stall::storage;
  const bool filling = flights_.front()->lease != nullptr;
  if (filling && setup_.options.transform) return Stall::transform;
  return filling || setup_.ring->has_free() ? Stall::decode : Stall::slot;
}

State RankReader::state() const {
  const Delivered::Last last = queue_->handed_over();
  if (last.origin == nullptr) {
    // This position was planned before, so `state` cannot fail.
    return setup_.plan.state(last.position.value_or(setup_.options.start)).value();
  }
  State state = *last.origin;
  state.phases.back().steps += last.position->step - state.position().step;
  return state;
}

std::vector<ShardReads> RankReader::slowest_shards() const {
  constexpr std::size_t kMost = 5;
  std::vector<ShardReads> found;
  {
    const std::lock_guard lock(mutex_);
    found.reserve(waited_.size());
    for (const auto& [shard, reads] : waited_) found.push_back(reads);
  }
  for (ShardReads& reads : found) reads.mean /= static_cast<std::int64_t>(reads.reads);
  std::sort(found.begin(), found.end(), [](const ShardReads& a, const ShardReads& b) {
    return std::tuple(b.mean, a.shard) < std::tuple(a.mean, b.shard);
  });
  found.resize(std::min(kMost, found.size()));
  for (ShardReads& reads : found) reads.file = setup_.dataset.shard_path(reads.shard);
  return found;
}

ReaderStats RankReader::stats() const {
  ReaderStats stats;
  {
    const std::lock_guard lock(mutex_);
    stats = tally_;
  }
  stats.slowest_shards = slowest_shards();
  stats.damaged = damage_.ranges();
  store_.add_to(stats);
  queue_->add_to(stats);
  stats.shards_opened = shards_.opened();
  stats.storage = setup_.storage->facts().kind;
  stats.storage_note = setup_.storage->facts().note;
  stats.cached_reads = setup_.storage->cached_reads();
  HungReads hung = setup_.storage->hung_reads();
  stats.hung_reads = hung.met;
  stats.given_up_reads = hung.given_up;
  stats.hung_now = std::move(hung.now);
  stats.registered = setup_.ring->registered();
  stats.registration_note = setup_.ring->memory().note();
  stats.registration_time = setup_.ring->memory().registration_time();
  stats.provided_memory = setup_.ring->memory().provided();
  stats.numa_node = setup_.ring->memory().numa_node();
  stats.slots = setup_.ring->slots();
  stats.slot_bytes = setup_.ring->slot_bytes();
  stats.budget_bytes = setup_.options.memory_bytes;
  return stats;
}

}  // namespace dovetail::detail
