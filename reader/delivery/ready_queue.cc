// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/ready_queue.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>

#include "reader/delivery/slab.h"
#include "reader/delivery/timeline_event.h"

namespace dovetail::detail {

namespace {

/// A trainer that is back within this time, so many times in a row, is busy with nothing but reading.
constexpr std::chrono::microseconds kQuick{25};
constexpr std::uint32_t kQuickRequests = 8;

/// A batch that another thread is about to finish is nearer than a sleep and a wake-up.
constexpr std::uint32_t kSpins = 20;

}  // namespace

ReadyQueue::ReadyQueue(std::shared_ptr<SlotRing> ring, std::uint32_t max_held, std::shared_ptr<Timeline> timeline,
                       std::uint32_t rank)
    : ring_(std::move(ring)),
      max_held_(max_held),
      timeline_(std::move(timeline)),
      rank_(rank),
      last_outcome_(StallClock::Clock::now()),
      clock_(last_outcome_) {}

void ReadyQueue::push(ReadyItem item) {
  std::unique_lock lock(mutex_);
  if (error_.has_value()) {
    // It stays until the queue goes: whoever pushes may hold a lock that giving the slot back takes as well.
    items_.push_back(std::move(item));
    return;
  }
  items_.push_back(std::move(item));
  ready_ = static_cast<std::uint32_t>(items_.size());
  match(lock);
}

void ReadyQueue::finish() {
  std::unique_lock lock(mutex_);
  finished_ = true;
  match(lock);
}

void ReadyQueue::set_cause(Stall cause) {
  const std::lock_guard lock(mutex_);
  if (cause_ == cause) return;
  cause_ = cause;
  update_clock_locked();
}

std::size_t ReadyQueue::size() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

ReadyQueue::Outcome ReadyQueue::next(TrainerHelp& help, Deadline until) {
  std::unique_lock lock(mutex_);
  if (outstanding_locked()) return std::move(*take_locked());
  note_request_locked(true);
  std::optional<Outcome> outcome = take_locked();
  const bool at_once = outcome.has_value();
  const bool was_quick = busy_trainer();
  const auto is_late = [&] { return until.has_value() && StallClock::Clock::now() >= *until; };
  bool helped = true;
  while (!outcome.has_value() && helped && !is_late()) {
    request_ = Helping();
    cause_ = Stall::decode;
    update_clock_locked();
    lock.unlock();
    helped = help.help();
    if (!helped && was_quick) spin();
    lock.lock();
    request_ = std::monostate();
    outcome = take_locked();
  }
  if (!outcome.has_value()) {
    SyncRequest request;
    request_ = &request;
    update_clock_locked();
    const auto is_there = [&] { return request.outcome.has_value(); };
    if (!until.has_value()) {
      request.arrived.wait(lock, is_there);
    } else if (!request.arrived.wait_until(lock, *until, is_there)) {
      request_ = std::monostate();
      request.outcome = Error(Errc::not_yet, "no batch has come in the time given; ask again");
    }
    outcome = std::move(request.outcome);
  }
  waiting_ = false;
  update_clock_locked();
  last_outcome_ = at_once ? StallClock::Clock::now() : clock_.since();  // a clock costs as much as some rows
  return std::move(*outcome);
}

void ReadyQueue::spin() const noexcept {
  for (std::uint32_t turn = 0; turn < kSpins && ready_.load(std::memory_order_relaxed) == 0; ++turn) {
    std::this_thread::yield();
  }
}

void ReadyQueue::stand_still(Stall cause) {
  busy_trainer_ = false;
  waiting_ = true;
  set_cause(cause);
}

void ReadyQueue::note_request_locked(bool helps) {
  const bool quick = StallClock::Clock::now() - last_outcome_ < kQuick;
  quick_requests_ = quick && helps ? std::min(quick_requests_ + 1, kQuickRequests) : 0;
  busy_trainer_ = quick_requests_ == kQuickRequests;
}

void ReadyQueue::async_next(Handler handler) {
  auto request = std::make_unique<AsyncRequest>(std::move(handler));
  std::unique_lock lock(mutex_);
  if (!outstanding_locked()) note_request_locked(false);
  if (std::optional<Outcome> outcome = take_locked(); outcome.has_value()) {
    lock.unlock();
    AsyncRequest::complete(std::move(request), std::move(*outcome));
    return;
  }
  request->ticket = ++tickets_;
  if (auto slot = boost::asio::get_associated_cancellation_slot(request->handler); slot.is_connected()) {
    slot.assign([queue = weak_from_this(), ticket = request->ticket](boost::asio::cancellation_type) {
      if (const std::shared_ptr<ReadyQueue> alive = queue.lock()) alive->cancel(ticket);
    });
  }
  request_ = std::move(request);
  waiting_ = true;
  update_clock_locked();
}

bool ReadyQueue::outstanding_locked() const {
  return !std::holds_alternative<std::monostate>(request_);
}

std::optional<ReadyQueue::Outcome> ReadyQueue::take_locked() {
  if (outstanding_locked()) {
    return Outcome(Error(Errc::busy, "a request for the next batch is outstanding already"));
  }
  if (!first_request_.has_value()) first_request_ = StallClock::Clock::now();
  if (error_.has_value()) return Outcome(*error_);
  if (ring_->held() >= max_held_) {
    return Outcome(
        Error(Errc::slots_held, "all " + std::to_string(max_held_) +
                                    " batches that the trainer may hold are held: release one, or raise max_held"));
  }
  if (!items_.empty()) return take_front_locked();
  if (finished_) return Outcome(std::optional<Batch>());
  return std::nullopt;
}

ReadyQueue::Outcome ReadyQueue::take_front_locked() {
  if (auto* const front = std::get_if<ReadyBatches>(&items_.front());
      front != nullptr && front->next + 1 < front->end) {
    const std::uint32_t batch = front->next++;
    return deliver_locked(*front, batch, front->lease);
  }
  ReadyItem item = std::move(items_.front());
  items_.pop_front();
  ready_ = static_cast<std::uint32_t>(items_.size());
  update_clock_locked();
  if (auto* const last = std::get_if<ReadyBatches>(&item)) {
    return deliver_locked(*last, last->next, std::move(last->lease));
  }
  if (const auto* error = std::get_if<Error>(&item)) {
    error_ = *error;
    return *error;
  }
  const std::uint32_t ended = std::get<EndOfEpoch>(item).epoch;
  // No epoch comes after the last one that can be numbered.
  if (ended != std::numeric_limits<std::uint32_t>::max()) handed_over_ = {nullptr, Position{ended + 1, 0}};
  return std::optional<Batch>();
}

ReadyQueue::Outcome ReadyQueue::deliver_locked(const ReadyBatches& from, std::uint32_t batch,
                                               std::shared_ptr<SlotLease> lease) {
  const std::uint64_t step = from.step + batch;
  const std::size_t slab_at = batch * from.slab_bytes;
  const SlabParts slab(lease->bytes().subspan(slab_at), from.rows);
  const std::array<std::uint32_t, kRowStatuses> counts = count_status({slab.status, from.rows});
  const BatchColumns* const columns = lease->columns().empty() ? nullptr : &lease->columns()[batch];
  const auto bytes = columns != nullptr ? columns->layout.bytes : static_cast<std::uint64_t>(slab.offsets[from.rows]);
  ++delivered_.batches;
  delivered_.rows += from.rows;
  delivered_.bytes += bytes;
  delivered_.rows_empty += counts[0];
  delivered_.rows_first += counts[1];
  delivered_.rows_repeated += counts[2];
  delivered_.rows_substituted += counts[3] + counts[5];
  delivered_.rows_damaged_empty += counts[4] + counts[6];
  if (handed_over_.origin != from.origin) handed_over_.origin = from.origin;
  handed_over_.position = Position{from.origin->epoch, step + 1};
  if (timeline_ != nullptr) {
    const auto now = StallClock::Clock::now();
    timeline_->record({.kind = TimelineEvent::Kind::batch,
                       .rank = rank_,
                       .begin = now,
                       .end = now,
                       .bytes = bytes,
                       .shard = {},
                       .epoch = from.origin->epoch,
                       .step = step});
  }
  return std::optional<Batch>(
      SlotLease::to_batch(std::move(lease), slab_at, from.origin, step, from.rows, counts[1], columns));
}

void ReadyQueue::match(std::unique_lock<BriefMutex>& lock) {
  if (!outstanding_locked() || std::holds_alternative<Helping>(request_)) {
    update_clock_locked();
    return;
  }
  auto request = std::exchange(request_, std::monostate());
  std::optional<Outcome> outcome = take_locked();
  if (!outcome.has_value()) {
    request_ = std::move(request);
    update_clock_locked();
    return;
  }
  waiting_ = false;
  update_clock_locked();
  if (auto* waiting = std::get_if<SyncRequest*>(&request)) {
    (*waiting)->outcome.emplace(std::move(*outcome));
    (*waiting)->arrived.notify_one();  // under the lock: the request lives on the waiter's stack
    return;
  }
  lock.unlock();
  AsyncRequest::complete(std::move(std::get<std::unique_ptr<AsyncRequest>>(request)), std::move(*outcome));
}

void ReadyQueue::cancel(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  auto* request = std::get_if<std::unique_ptr<AsyncRequest>>(&request_);
  if (request == nullptr || (*request)->ticket != ticket) return;
  std::unique_ptr<AsyncRequest> ended = std::move(*request);
  request_ = std::monostate();
  waiting_ = false;
  update_clock_locked();
  lock.unlock();
  AsyncRequest::complete(std::move(ended), cancelled("the request was cancelled"));
}

void ReadyQueue::stop() {
  std::deque<ReadyItem> dropped;
  std::unique_lock lock(mutex_);
  if (!error_.has_value()) error_ = cancelled("the reader was stopped");
  dropped.swap(items_);
  ready_ = 1;  // for who spins: the error
  match(lock);
  if (lock.owns_lock()) lock.unlock();  // slots are released with no lock held
}

std::optional<Error> ReadyQueue::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

ReadyQueue::HandedOver ReadyQueue::handed_over() const {
  const std::lock_guard lock(mutex_);
  return handed_over_;
}

void ReadyQueue::update_clock_locked() {
  const bool requested = outstanding_locked();
  const Stall now = requested ? cause_ : !items_.empty() ? Stall::consumer : Stall::filling;
  if (now == clock_.state()) return;
  const StallClock::Clock::time_point at = StallClock::Clock::now();
  if (timeline_ != nullptr) {
    timeline_->record({.kind = TimelineEvent::Kind::state,
                       .stall = clock_.state(),
                       .rank = rank_,
                       .begin = clock_.since(),
                       .end = at,
                       .shard = {},
                       .step = {}});
  }
  clock_.enter(now, at);
}

void ReadyQueue::add_to(ReaderStats& stats) const {
  const std::lock_guard lock(mutex_);
  const StallClock::Clock::time_point now = StallClock::Clock::now();
  stats.batches = delivered_.batches;
  stats.rows = delivered_.rows;
  stats.bytes = delivered_.bytes;
  stats.rows_first = delivered_.rows_first;
  stats.rows_repeated = delivered_.rows_repeated;
  stats.rows_empty = delivered_.rows_empty;
  stats.rows_substituted = delivered_.rows_substituted;
  stats.rows_damaged_empty = delivered_.rows_damaged_empty;
  stats.waiting_for_storage = clock_.spent(Stall::storage, now);
  stats.waiting_for_decode = clock_.spent(Stall::decode, now);
  stats.waiting_for_slot = clock_.spent(Stall::slot, now);
  stats.waiting_for_consumer = clock_.spent(Stall::consumer, now);
  stats.filling = clock_.spent(Stall::filling, now);
  if (first_request_.has_value()) stats.since_first_request = now - *first_request_;
}

}  // namespace dovetail::detail
