// SPDX-License-Identifier: Apache-2.0
#include <dovetail/device_reader.h>

#include <cassert>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <boost/circular_buffer.hpp>

#include "format/moved_from.h"
#include "format/text/out_of_range.h"
#include "format/try.h"
#include "reader/handover/requests.h"
#include "reader/memory/batch_access.h"
#include "reader/memory/batch_columns.h"
#include "reader/memory/batch_keeper.h"
#include "reader/memory/device_ring.h"

namespace dovetail {

namespace {

using Clock = std::chrono::steady_clock;
using Outcome = Result<std::optional<DeviceBatch>>;

constexpr std::uint32_t kMostSlabs = 64;
/// Poll interval for changes that nobody signals.
constexpr std::chrono::milliseconds kRetry{1};

}  // namespace

/// The thread that takes batches from the reader and starts their copies, and the queue between it
/// and the trainer.
///
/// Its requests deliver, beside the batches, the state after each.
class DeviceReader::Impl
    : public detail::Requests<DeviceReader::Impl, DeviceBatch, std::shared_ptr<const State>, std::mutex> {
  friend Requests;

 public:
  Impl(BatchReader&& reader, std::shared_ptr<detail::DeviceRing> ring, const DeviceOptions& options)
      : Requests(std::make_shared<const State>(reader.state())),
        options_(options),
        ring_(std::move(ring)),
        slots_held_(slots_held(options.max_held, "device batches")),
        items_(options.prefetch + std::size_t{1}),
        reader_(std::move(reader)) {}
  ~Impl() { stop(); }

  void start() {
    ring_->on_release([this] {
      const std::lock_guard lock(mutex_);
      room_.notify_one();
    });
    thread_ = std::thread([this] { copy_ahead(); });
  }

  Outcome next();
  void stop();

  const detail::DeviceRing& ring() const noexcept { return *ring_; }
  const detail::ProcessMark& process() const noexcept { return ring_->process(); }
  const BatchReader& reader() const noexcept { return reader_; }
  /// Gives the reader back. For use when `open` fails.
  BatchReader take_reader() noexcept { return std::move(reader_); }
  State state() const {
    const std::lock_guard lock(mutex_);
    return *delivered_;
  }
  DeviceStats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Item {
    Outcome outcome;
    std::shared_ptr<const State> after;  ///< State after the item; null after a failure.
  };

  void copy_ahead();
  /// Waits until fewer than `prefetch` batches are ready and a slab is free. Null after a stop.
  Result<std::shared_ptr<detail::DeviceLease>> wait_for_slab();
  Result<std::optional<Batch>> next_of_reader();
  /// The next item of the reader. If it is a batch, it is copied to `slab`.
  Item take_next(std::shared_ptr<detail::DeviceLease> slab);
  Result<DeviceBatch> copy(Batch batch, std::shared_ptr<detail::DeviceLease> slab);
  /// Frees the slot when its copy has ended. Errors: the end of the copy cannot be observed.
  Result<void> give_back(Batch batch);
  /// Waits for the copies. If that fails, returns false and keeps the slot allocated for ever.
  bool keep_until_copied(Batch batch) noexcept;
  void push(Item item) noexcept;
  bool take_locked(Outcome& outcome) noexcept;
  void asked_locked() noexcept {}
  void changed_locked() noexcept {}
  void handing_over(const Outcome&) noexcept {}

  const DeviceOptions options_;
  const std::shared_ptr<detail::DeviceRing> ring_;
  std::thread thread_;
  std::mutex stop_mutex_;

  const Error slots_held_;
  detail::BatchKeeper keeper_;          // used once at most: the failure ends the thread
  std::condition_variable room_;        // a slab came free, or an item was taken
  boost::circular_buffer<Item> items_;  // ready batches, then a failure if any
  bool stopping_ = false;
  DeviceStats stats_;
  BatchReader reader_;  // moved here last, so that after earlier failures the caller still has it
};

void DeviceReader::Impl::copy_ahead() {
  try {
    if (Result<void> current = ring_->make_current(); !current.has_value()) {
      return push({.outcome = current.error(), .after = {}});
    }
    for (;;) {
      Result<std::shared_ptr<detail::DeviceLease>> slab = wait_for_slab();
      if (!slab.has_value()) return push({.outcome = slab.error(), .after = {}});
      if (*slab == nullptr) return;
      Item item = take_next(std::move(*slab));
      const bool failed = !item.outcome.has_value();
      push(std::move(item));
      if (failed) return;
    }
  } catch (const std::exception& failure) {
    push({.outcome = detail::error_from(failure), .after = {}});
  }
}

Result<std::shared_ptr<detail::DeviceLease>> DeviceReader::Impl::wait_for_slab() {
  const Clock::time_point began = Clock::now();
  std::unique_lock lock(mutex_);
  Result<std::shared_ptr<detail::DeviceLease>> slab = std::shared_ptr<detail::DeviceLease>();
  while (!stopping_) {
    if (items_.size() < options_.prefetch) slab = ring_->acquire();
    if (!slab.has_value() || *slab != nullptr) break;
    if (ring_->waits_for_capture()) {
      room_.wait_for(lock, kRetry);
    } else {
      room_.wait(lock);
    }
  }
  stats_.waiting_for_slab += Clock::now() - began;
  return slab;
}

Result<std::optional<Batch>> DeviceReader::Impl::next_of_reader() {
  for (;;) {
    Result<std::optional<Batch>> next = reader_.next();
    // The caller of `open` may still hold batches, or have a request outstanding. Try again then.
    const bool again = !next.has_value() && (next.error().is(Errc::slots_held) || next.error().is(Errc::busy));
    if (!again) return next;
    std::unique_lock lock(mutex_);
    if (room_.wait_for(lock, kRetry, [this] { return stopping_; })) return stopped_;
  }
}

DeviceReader::Impl::Item DeviceReader::Impl::take_next(std::shared_ptr<detail::DeviceLease> slab) {
  const Clock::time_point began = Clock::now();
  Result<std::optional<Batch>> next = next_of_reader();
  {
    const std::lock_guard lock(mutex_);
    stats_.waiting_for_batch += Clock::now() - began;
  }
  if (!next.has_value()) return {.outcome = next.error(), .after = {}};
  if (!next->has_value()) {
    return {.outcome = std::optional<DeviceBatch>(), .after = std::make_shared<const State>(reader_.state())};
  }
  Result<DeviceBatch> copied = copy(std::move(**next), std::move(slab));
  if (!copied.has_value()) return {.outcome = copied.error(), .after = {}};
  std::shared_ptr<const State> after = copied->state_;
  return {.outcome = std::optional<DeviceBatch>(std::move(*copied)), .after = std::move(after)};
}

Result<DeviceBatch> DeviceReader::Impl::copy(Batch batch, std::shared_ptr<detail::DeviceLease> slab) {
  const ByteView bytes = batch.slab();
  if (bytes.size() > ring_->slab_bytes()) {
    return Error(Errc::batch_too_large,
                 "the batch of step " + std::to_string(batch.step()) + " has " + std::to_string(bytes.size()) +
                     " bytes, more than a slab; spilled batches cannot go to a device, so raise memory_bytes");
  }
  DeviceBatch made;
  made.epoch_ = batch.epoch();
  made.step_ = batch.step();
  made.rows_ = batch.rows();
  made.valid_ = batch.valid();
  made.value_bytes_ = batch.values().size();
  made.row_bytes_ = detail::row_bytes(batch);
  made.state_ = std::make_shared<const State>(batch.state());
  if (const detail::BatchColumns* const columns = detail::BatchAccess::columns(batch)) {
    made.columns_ = std::make_shared<const detail::BatchColumns>(*columns);
  }
  if (Result<void> filling = ring_->fill(*slab, bytes); !filling.has_value()) {
    (void)keep_until_copied(std::move(batch));
    return filling.error();
  }
  made.slab_ = slab->slab();
  made.lease_ = std::move(slab);
  DOVETAIL_TRY(give_back(std::move(batch)));
  const std::lock_guard lock(mutex_);
  ++stats_.batches;
  stats_.bytes += bytes.size();
  return made;
}

Result<void> DeviceReader::Impl::give_back(Batch batch) {
  Result<void> released;
  try {
    released = batch.release(ring_->copies());
  } catch (const std::exception& failure) {
    released = detail::error_from(failure);
  }
  if (released.has_value() || keep_until_copied(std::move(batch))) return {};
  return released;
}

bool DeviceReader::Impl::keep_until_copied(Batch batch) noexcept {
  if (ring_->finish_copies()) return true;
  keeper_.keep(std::move(batch));
  return false;
}

void DeviceReader::Impl::push(Item item) noexcept {
  {
    const std::lock_guard lock(mutex_);
    assert(!items_.full());
    items_.push_back(std::move(item));
    match_locked();
  }
  complete();
}

bool DeviceReader::Impl::take_locked(Outcome& outcome) noexcept {
  if (error_.has_value()) {
    outcome = *error_;
  } else if (ring_->held() >= options_.max_held) {
    outcome = slots_held_;
  } else if (!items_.empty()) {
    Item item = std::move(items_.front());
    items_.pop_front();
    room_.notify_one();
    if (item.after != nullptr) delivered_ = std::move(item.after);
    if (!item.outcome.has_value()) {
      error_ = item.outcome.error();
    } else if (item.outcome->has_value()) {
      (*item.outcome)->lease_->hand_over();
    }
    outcome = std::move(item.outcome);
  } else {
    return false;
  }
  return true;
}

Outcome DeviceReader::Impl::next() {
  Outcome outcome;
  std::unique_lock lock(mutex_);
  if (outstanding_locked()) return busy_;
  request_ = Waiting();
  arrived_.wait(lock, [&] { return take_locked(outcome); });
  request_ = std::monostate();
  return outcome;
}

void DeviceReader::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (!error_.has_value()) error_ = stopped_;
    room_.notify_one();
    match_locked();  // a request must not wait for reads that hang
  }
  complete();
  {
    const std::lock_guard stopping(stop_mutex_);
    reader_.stop();  // ends the thread's wait for a batch
    if (thread_.joinable()) thread_.join();
    ring_->on_release({});
  }
  boost::circular_buffer<Item> dropped;  // slabs are released with no lock held
  const std::lock_guard lock(mutex_);
  dropped.swap(items_);
}

Result<DeviceReader> DeviceReader::open(BatchReader&& reader, const DeviceOptions& options) try {
  if (const std::optional<Error> failed = reader.error(); failed.has_value()) return *failed;
  DOVETAIL_TRY(format::check_range("prefetch", options.prefetch, 1u, kMostSlabs));
  DOVETAIL_TRY(format::check_range("max_held", options.max_held, 1u, kMostSlabs));
  DOVETAIL_TRY(format::check_device(options.device));
  Result<std::shared_ptr<detail::DeviceRing>> ring =
      detail::DeviceRing::make(options.device, options.prefetch + options.max_held, reader.slab_bytes());
  if (!ring.has_value()) return ring.error();
  auto impl = std::make_shared<Impl>(std::move(reader), std::move(*ring), options);
  try {
    impl->start();
  } catch (const std::exception&) {
    reader = impl->take_reader();
    throw;
  }
  return DeviceReader(std::move(impl));
} catch (const std::exception& failure) {  // no memory, no more threads
  return detail::error_from(failure);
}

DeviceReader::DeviceReader(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceReader::DeviceReader(DeviceReader&&) noexcept = default;

DeviceReader& DeviceReader::operator=(DeviceReader&& other) noexcept {
  if (this != &other) {
    close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

DeviceReader::~DeviceReader() {
  close();
}

void DeviceReader::close() noexcept {
  if (impl_ != nullptr && impl_->process().forked()) return detail::leave_alone(std::move(impl_));
  stop();
}

int DeviceReader::device() const noexcept {
  return impl_->ring().device();
}
const Plan& DeviceReader::plan() const noexcept {
  return impl_->reader().plan();
}
State DeviceReader::state() const {
  return impl_->state();
}
Result<std::optional<DeviceBatch>> DeviceReader::next() {
  if (impl_ == nullptr) return detail::moved_from();
  if (impl_->process().forked()) return impl_->process().error();
  return impl_->next();
}
void DeviceReader::start_next(Handler handler) {
  if (impl_ == nullptr || impl_->process().forked()) {
    using Request = detail::AsyncRequest<DeviceBatch>;
    return Request::complete(std::make_shared<Request>(std::move(handler)), *error());
  }
  // The handler may destroy this reader on another thread while this thread is still in the call.
  const std::shared_ptr<Impl> alive = impl_;
  alive->async_next(std::move(handler));
}
std::optional<Error> DeviceReader::error() const {
  if (impl_ == nullptr) return detail::moved_from();
  if (impl_->process().forked()) return impl_->process().error();
  return impl_->error();
}
DeviceStats DeviceReader::stats() const {
  return impl_->stats();
}
ReaderStats DeviceReader::reader_stats() const {
  return impl_->reader().stats();
}
void DeviceReader::stop() {
  // Kept alive, because the handler that it ends may destroy this reader.
  if (const auto alive = impl_; alive != nullptr && !alive->process().forked()) alive->stop();
}

}  // namespace dovetail
