// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/slot_ring.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "format/try.h"
#include "reader/memory/poison.h"

namespace dovetail::detail {

namespace {

/// Bounds of the watcher's sleep between two polls. Copies take some microseconds to milliseconds,
/// and a poll about one.
constexpr std::chrono::microseconds kLeastPause{20};
constexpr std::chrono::microseconds kMostPause{1000};
constexpr std::size_t kManyEvents = 8;
constexpr unsigned long kTimerSlackNanoseconds = 1000;

}  // namespace

Result<std::shared_ptr<SlotRing>> SlotRing::make(std::uint32_t slots, std::size_t slot_bytes,
                                                 const HostMemoryOptions& memory) {
  if (slots == 0 || slot_bytes > SIZE_MAX / slots) return Error(Errc::invalid_option, "slots beyond the address space");
  DOVETAIL_ASSIGN(HostMemory made, HostMemory::make(slots * slot_bytes, memory));
  return std::shared_ptr<SlotRing>(new SlotRing(std::move(made), slots, slot_bytes));
}

SlotRing::SlotRing(HostMemory memory, std::uint32_t slots, std::size_t slot_bytes)
    : memory_(std::move(memory)), slots_(slots), slot_bytes_(slot_bytes) {
  for (std::uint32_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
  leaving_.reserve(slots);  // so that `release` needs no memory
  free_slots_ = slots;
}

SlotRing::~SlotRing() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wakes_.notify_one();
  if (watcher_.get_id() ==
      std::this_thread::get_id()) {  // it was the last to use the ring, in `make_free`, and ends now
    *gone_ = true;
    watcher_.detach();
  } else if (watcher_.joinable()) {
    watcher_.join();
  }
  bool used = false;
  for (Leaving& leaving : leaving_) {
    bool slot_used = false;
    for (const DeviceEvent& event : leaving.events) {
      slot_used = !DeviceEvents::wait(event) || slot_used;
      events_.give_back(event);
    }
    if (slot_used && leaving.spilled.has_value()) leaving.spilled->leave();
    used = used || slot_used;
  }
  unpoison(memory_.bytes());
  if (used) memory_.leave();
}

std::span<std::byte> SlotRing::slot_bytes_of(std::uint32_t slot) const noexcept {
  return memory_.bytes().subspan(slot * slot_bytes_, slot_bytes_);
}

std::shared_ptr<SlotLease> SlotRing::acquire() {
  if (!has_free()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  const std::uint32_t slot = free_.back();
  auto lease = std::make_shared<SlotLease>(shared_from_this(), slot, std::nullopt);
  free_.pop_back();
  --free_slots_;
  unpoison(lease->bytes());
  return lease;
}

Result<std::shared_ptr<SlotLease>> SlotRing::spill(SlotLease& slot, std::size_t bytes) {
  DOVETAIL_ASSIGN(HostMemory memory, HostMemory::make(bytes, {.registration = Registration::off, .provider = {}}));
  auto lease = std::make_shared<SlotLease>(shared_from_this(), slot.slot_.value(), std::move(memory));
  slot.slot_.reset();
  return lease;
}

Result<DeviceEvent> SlotRing::mark(DeviceStream stream) {
  {
    const std::lock_guard lock(mutex_);
    try {
      if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    } catch (const std::exception& failure) {
      return Error::from_errno(EAGAIN, std::string("cannot start a thread that waits for copies: ") + failure.what());
    }
  }
  return events_.record(stream, memory_.device());
}

void SlotRing::release(Leaving leaving) noexcept {
  if (leaving.events.empty()) return make_free(leaving.slot);
  {
    const std::lock_guard lock(mutex_);
    leaving_.push_back(std::move(leaving));
  }
  wakes_.notify_one();
}

void SlotRing::make_free(std::uint32_t slot) noexcept {
  poison(slot_bytes_of(slot));
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
    ++free_slots_;
  }
  if (const std::shared_ptr<SlotListener> listener = listener_.lock()) listener->slot_is_free();
}

bool SlotRing::collect() noexcept {
  // Only this thread removes entries of `leaving_`, so an entry stays valid while the lock is open.
  // The driver may take long.
  const std::shared_ptr<const bool> gone = gone_;
  std::size_t at = 0;
  bool freed = false;
  std::unique_lock lock(mutex_);
  while (at < leaving_.size()) {
    std::vector<DeviceEvent>& events = leaving_[at].events;
    lock.unlock();
    if (!events.empty()) DeviceEvents::make_device_current(events.front());
    events_.forget_passed(events);
    lock.lock();
    if (!events.empty()) {
      ++at;
      continue;
    }
    Leaving taken = std::move(leaving_[at]);
    leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(at));
    lock.unlock();
    taken.spilled.reset();
    make_free(taken.slot);
    if (*gone) return true;  // the listener released the last use of the ring
    freed = true;
    lock.lock();
  }
  return freed;
}

void SlotRing::watch() {
  ::prctl(PR_SET_NAME, "dovetail-slots");
  ::prctl(PR_SET_TIMERSLACK, kTimerSlackNanoseconds);
  std::chrono::microseconds pause = kLeastPause;
  const std::shared_ptr<const bool> gone = gone_;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (leaving_.empty()) {
      pause = kLeastPause;
      wakes_.wait(lock, [this] { return ending_ || !leaving_.empty(); });
      continue;
    }
    lock.unlock();
    pause = collect() ? kLeastPause : std::min(2 * pause, kMostPause);
    if (*gone) return;
    lock.lock();
    if (!leaving_.empty()) wakes_.wait_for(lock, pause, [this] { return ending_; });
  }
}

SlotLease::SlotLease(std::shared_ptr<SlotRing> ring, std::uint32_t slot, std::optional<HostMemory> spilled)
    : ring_(std::move(ring)), slot_(slot), spilled_(std::move(spilled)) {
  bytes_ = spilled_.has_value() ? spilled_->bytes() : ring_->slot_bytes_of(slot);
}

SlotLease::~SlotLease() {
  if (ring_->process_.forked()) {  // for example by a tensor
    leave_alone(std::move(ring_));
    leave_alone(std::move(spilled_));
    return;
  }
  if (slot_.has_value()) {
    ring_->release({.slot = *slot_, .events = std::move(events_), .spilled = std::move(spilled_)});
  }
}

Result<void> SlotLease::wait_for(DeviceStream stream) {
  if (ring_->process_.forked()) return ring_->process_.error();
  DOVETAIL_ASSIGN(const DeviceEvent event, ring_->mark(stream));
  try {
    const std::lock_guard lock(ring_->mutex_);
    // A lease may be marked many times: once for each of its batches, and for ever with replay.
    if (events_.size() >= kManyEvents) ring_->events_.forget_passed(events_);
    events_.push_back(event);
  } catch (const std::exception& failure) {
    ring_->events_.give_back(event);
    return Error::from_errno(ENOMEM, failure.what());
  }
  return {};
}

void SlotLease::hand_back(std::shared_ptr<SlotLease> lease) noexcept {
  if (lease == nullptr) return;
  if (lease->ring_->process_.forked()) return leave_alone(std::move(lease));
  lease->ring_->handed_back_.fetch_add(1, std::memory_order_relaxed);
}

Batch SlotLease::to_batch(std::shared_ptr<SlotLease> lease, std::size_t slab_at, std::uint64_t step, std::uint32_t rows,
                          std::uint32_t valid, const BatchColumns* columns) {
  std::atomic<std::uint64_t>& handed_out = lease->ring_->handed_out_;
  handed_out.store(handed_out.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Batch batch;
  batch.columns_ = columns;
  batch.slab_ = lease->bytes_.data() + slab_at;
  batch.epoch_ = lease->origin_->epoch;
  batch.step_ = step;
  batch.rows_ = rows;
  batch.valid_ = valid;
  batch.lease_ = std::move(lease);
  return batch;
}

}  // namespace dovetail::detail
