// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_stream.h"

#include <utility>

namespace dovetail::test::emulated_cuda::detail {

namespace {

// A plain value: it is still there while the other variables of an ending thread go.
thread_local bool does_work = false;

}  // namespace

// One that a thread has begun while all others were cleared is nobody's.
Stream::~Stream() {
  abandon(cudaErrorCudartUnloading);
  close();
  join();
}

cudaError_t Stream::submit(Work work, std::uint64_t* number) {
  const std::lock_guard lock(mutex_);
  if (abandoned_ != cudaSuccess) return abandoned_;
  if (closed_) return cudaErrorInvalidResourceHandle;
  queue_.push_back(std::move(work));
  ++submitted_;
  if (number != nullptr) *number = submitted_;
  if (!thread_.joinable()) thread_ = std::thread(&Stream::run, this);
  changed_.notify_all();
  return cudaSuccess;
}

std::uint64_t Stream::last() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

cudaError_t Stream::state_of(std::uint64_t number) const {
  if (completed_ >= number) return cudaSuccess;
  // What runs may still touch memory, and nobody may know yet that it is the last.
  return abandoned_ == cudaSuccess || running_ ? cudaErrorNotReady : abandoned_;
}

cudaError_t Stream::query(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return state_of(number);
}

cudaError_t Stream::wait(std::uint64_t number) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_of(number) != cudaErrorNotReady; });
  return state_of(number);
}

bool Stream::idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !running_;
}

bool Stream::hold(const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return abandoned_ != cudaSuccess || ready(); });
  return abandoned_ == cudaSuccess;
}

bool Stream::hold_for(std::chrono::microseconds time) {
  std::unique_lock lock(delay_mutex_);
  return !delay_ends_.wait_for(lock, time, [&] { return !delays_; });
}

void Stream::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::abandon(cudaError_t why) {
  std::deque<Work> dropped;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    if (abandoned_ == cudaSuccess) abandoned_ = why;
    dropped.swap(queue_);
    changed_.notify_all();
  }
  const std::lock_guard lock(delay_mutex_);  // only now, so that work whose delay is cut short does not count as done
  delays_ = false;
  delay_ends_.notify_all();
}

void Stream::settle() {
  std::unique_lock lock(mutex_);
  if (thread_.get_id() == std::this_thread::get_id()) return;
  changed_.wait(lock, [&] { return !running_; });
}

void Stream::join() {
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();  // closed, so nobody begins one
}

bool Stream::on_a_stream() noexcept {
  return does_work;
}

void Stream::run() {
  does_work = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    lock.unlock();
    work(*this);
    work = nullptr;  // what it owns is gone once it counts as done
    lock.lock();
    running_ = false;
    if (abandoned_ == cudaSuccess) ++completed_;
    changed_.notify_all();
  }
}

}  // namespace dovetail::test::emulated_cuda::detail
