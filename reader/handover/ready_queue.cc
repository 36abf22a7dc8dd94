// SPDX-License-Identifier: Apache-2.0
#include "reader/handover/ready_queue.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "reader/fill/slab_parts.h"
#include "reader/trace/timeline_event.h"

namespace dovetail::detail {

namespace {

/// A trainer that keeps a batch for at most this long on average does little but request batches.
/// The average is checked after one request, two, four, and so on, up to a fixed interval.
constexpr std::chrono::microseconds kQuick{25};
constexpr std::uint32_t kLookedAt = 8;

/// Threads yield so often before they sleep: yielding is cheaper if another thread is about to
/// finish a batch.
constexpr std::uint32_t kSpins = 20;

}  // namespace

ReadyQueue::ReadyQueue(std::shared_ptr<SlotRing> ring, const ReaderOptions& options)
    : ring_(std::move(ring)),
      max_held_(options.max_held),
      replay_(options.replay),
      timeline_(options.timeline),
      rank_(options.ranks.rank),
      slots_held_(slots_held(max_held_, "batches")),
      waits_{.clock = StallClock(Clock::now()), .first_request = {}} {}

void ReadyQueue::make_room() {
  const std::lock_guard lock(mutex_);
  if (items_.full()) items_.set_capacity(2 * (items_.size() + 1));
}

void ReadyQueue::push(ReadyItem item) noexcept {
  const std::lock_guard lock(mutex_);
  assert(!items_.full());
  items_.push_back(std::move(item));
  // After a stop, keep the batch until the queue is destroyed. Releasing its slot here could take a
  // lock that the caller holds.
  if (error_.has_value()) return;
  ready_ = static_cast<std::uint32_t>(items_.size());
  match_locked();
}

void ReadyQueue::fail(Error error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_.has_value()) failure_ = std::move(error);
  if (items_.empty()) ready_ = 1;  // makes spinning threads stop
  match_locked();
}

void ReadyQueue::finish() noexcept {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  match_locked();
}

void ReadyQueue::handing_over(const Outcome& outcome) {
  if (on_asynchronous_ && outcome.has_value()) on_asynchronous_(!outcome->has_value());
}

void ReadyQueue::set_cause(Stall cause) {
  const std::lock_guard lock(mutex_);
  if (waits_.cause == cause) return;
  waits_.cause = cause;
  update_clock_locked();
}

bool ReadyQueue::begin(Outcome& outcome, Clock::time_point& now) {
  const std::lock_guard lock(mutex_);
  if (outstanding_locked()) {
    outcome = busy_;
    return true;
  }
  note_request_locked(true);
  if (take_locked(outcome)) return true;
  now = Clock::now();  // reading the clock costs as much as copying some rows
  request_ = Helping();
  waits_.cause = Stall::decode;
  update_clock_locked(now);
  return false;
}

bool ReadyQueue::take(Outcome& outcome, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const bool taken = take_locked(outcome);
  if (taken) request_ = std::monostate();
  update_clock_locked(now);
  return taken;
}

void ReadyQueue::wait(Outcome& outcome, Deadline until) {
  if (std::exchange(pace_.was_busy, false)) spin();
  std::unique_lock lock(mutex_);
  request_ = Waiting();
  const auto takes = [&] { return take_locked(outcome); };
  if (!until.has_value()) {
    arrived_.wait(lock, takes);
  } else if (!arrived_.wait_until(lock, *until, takes)) {
    outcome = not_yet_;
  }
  request_ = std::monostate();
  waiting_ = false;
  update_clock_locked();
}

void ReadyQueue::spin() const noexcept {
  for (std::uint32_t turn = 0; turn < kSpins && ready_.load(std::memory_order_relaxed) == 0; ++turn) {
    std::this_thread::yield();
  }
}

void ReadyQueue::stand_still(Stall cause) {
  pace_.was_busy = pace_.busy.exchange(false);
  waiting_ = true;
  set_cause(cause);
}

void ReadyQueue::note_request_locked(bool helps) {
  if (!helps) pace_.busy = false;
  // Reading the clock costs as much as copying some rows.
  if (++pace_.requests < pace_.look_after) return;
  const Clock::time_point now = Clock::now();
  const auto kept = waits_.clock.spent(Stall::consumer, now) + waits_.clock.spent(Stall::filling, now);
  pace_.busy = helps && kept - std::exchange(pace_.kept, kept) < kQuick * pace_.look_after;
  pace_.requests = 0;
  pace_.look_after = std::min(2 * pace_.look_after, kLookedAt);
}

bool ReadyQueue::take_locked(Outcome& outcome) noexcept {
  if (!waits_.first_request.has_value()) waits_.first_request = Clock::now();
  if (error_.has_value()) {
    outcome = *error_;
  } else if (ring_->held() >= max_held_) {
    outcome = slots_held_;
  } else if (has_item_locked()) {
    take_front_locked(*outcome);
  } else if (failure_.has_value()) {
    error_ = failure_;
    outcome = *error_;
  } else {
    return finished_;  // without a batch, which means the end
  }
  return true;
}

void ReadyQueue::take_front_locked(std::optional<Batch>& taken) {
  if (replay_ > 0) {
    const ReadyItem& kept = items_[next_];
    next_ = (next_ + 1) % replay_;
    taken.emplace(deliver_locked(kept, kept.next, kept.lease));
    return;
  }
  if (ReadyItem& front = items_.front(); front.next + 1 < front.end) {
    const std::uint32_t batch = front.next++;
    taken.emplace(deliver_locked(front, batch, front.lease));
    return;
  }
  ReadyItem item = std::move(items_.front());
  items_.pop_front();
  ready_ = static_cast<std::uint32_t>(items_.size());
  update_clock_locked();
  if (item.lease != nullptr) {
    taken.emplace(deliver_locked(item, item.next, std::move(item.lease)));
  } else if (item.epoch != std::numeric_limits<std::uint32_t>::max()) {  // no epoch follows the last number
    delivered_.last = {nullptr, Position{item.epoch + 1, 0}};
  }
}

Batch ReadyQueue::deliver_locked(const ReadyItem& from, std::uint32_t batch, std::shared_ptr<SlotLease> lease) {
  const std::uint64_t step = from.step + batch;
  const std::size_t slab_at = batch * from.slab_bytes;
  const SlabParts slab(lease->bytes().subspan(slab_at), from.rows);
  const std::array<std::uint32_t, kRowStatuses> counts = count_status({slab.status, from.rows});
  const BatchColumns* const columns = lease->columns().empty() ? nullptr : &lease->columns()[batch];
  // With replay, the trainer may have overwritten the offsets, so the size is limited to the slab.
  const auto bytes = columns != nullptr ? columns->layout.bytes
                                        : std::min(static_cast<std::uint64_t>(slab.offsets[from.rows]), slab.capacity);
  ++delivered_.batches;
  delivered_.bytes += bytes;
  for (std::size_t status = 0; status < kRowStatuses; ++status) delivered_.rows[status] += counts[status];
  const std::shared_ptr<const State>& origin = lease->origin();
  if (delivered_.last.origin != origin) delivered_.last.origin = origin;
  delivered_.last.position = Position{origin->epoch, step + 1};
  if (timeline_ != nullptr) {
    const auto now = Clock::now();
    timeline_->record({.kind = TimelineEvent::Kind::batch,
                       .rank = rank_,
                       .begin = now,
                       .end = now,
                       .bytes = bytes,
                       .epoch = origin->epoch,
                       .step = step});
  }
  return SlotLease::to_batch(std::move(lease), slab_at, step, from.rows, counts[1], columns);
}

void ReadyQueue::changed_locked() noexcept {
  waiting_ = std::holds_alternative<std::shared_ptr<AsyncRequest>>(request_);
  update_clock_locked();
}

void ReadyQueue::stop() {
  std::unique_lock lock(mutex_);
  if (!error_.has_value()) error_ = stopped_;
  ready_ = 1;  // makes spinning threads stop, which then find the error
  match_locked();
  while (!items_.empty()) {
    {
      const ReadyItem dropped = std::move(items_.front());
      items_.pop_front();
      lock.unlock();
    }  // slots are released outside of the lock
    lock.lock();
  }
}

Delivered::Last ReadyQueue::handed_over() const {
  const std::lock_guard lock(mutex_);
  return delivered_.last;
}

Stall ReadyQueue::stall_locked() const {
  return requested_locked() ? waits_.cause : has_item_locked() ? Stall::consumer : Stall::filling;
}

void ReadyQueue::update_clock_locked() {
  if (stall_locked() != waits_.clock.state()) update_clock_locked(Clock::now());
}

void ReadyQueue::update_clock_locked(Clock::time_point at) {
  const Stall now = stall_locked();
  if (now == waits_.clock.state()) return;
  at = std::max(at, waits_.clock.since());  // a thread may come later with an older time
  if (timeline_ != nullptr) {
    timeline_->record({.kind = TimelineEvent::Kind::state,
                       .stall = waits_.clock.state(),
                       .rank = rank_,
                       .begin = waits_.clock.since(),
                       .end = at});
  }
  waits_.clock.enter(now, at);
}

void ReadyQueue::add_to(ReaderStats& stats) const {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const std::array<std::uint64_t, kRowStatuses>& rows = delivered_.rows;
  stats.batches = delivered_.batches;
  stats.rows = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
  stats.bytes = delivered_.bytes;
  stats.rows_empty = rows[0];
  stats.rows_first = rows[1];
  stats.rows_repeated = rows[2];
  stats.rows_substituted = rows[3] + rows[5];
  stats.rows_damaged_empty = rows[4] + rows[6];
  stats.waiting_for_storage = waits_.clock.spent(Stall::storage, now);
  stats.waiting_for_decode = waits_.clock.spent(Stall::decode, now);
  stats.waiting_for_transform = waits_.clock.spent(Stall::transform, now);
  stats.waiting_for_slot = waits_.clock.spent(Stall::slot, now);
  stats.waiting_for_consumer = waits_.clock.spent(Stall::consumer, now);
  stats.filling = waits_.clock.spent(Stall::filling, now);
  if (waits_.first_request.has_value()) stats.since_first_request = now - *waits_.first_request;
}

}  // namespace dovetail::detail
