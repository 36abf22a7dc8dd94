// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <exception>

namespace dovetail::detail {

namespace {
constexpr std::chrono::seconds kIdle{1};
}  // namespace

ThreadPool::Inherited::Inherited() noexcept : has_cores(::sched_getaffinity(0, sizeof cores, &cores) == 0) {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signals);
}

void ThreadPool::Inherited::apply() const noexcept {
  if (has_cores) (void)::sched_setaffinity(0, sizeof cores, &cores);
  ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

ThreadPool::ThreadPool(unsigned most, bool keeps) : keeps_(keeps), most_(most) {
  const std::lock_guard lock(mutex_);
  threads_.reserve(1);
  threads_.emplace_back([this] { run(); });
}

ThreadPool::~ThreadPool() {
  join();
}

void ThreadPool::count(int jobs) noexcept {
  const std::lock_guard lock(mutex_);
  unfinished_ += static_cast<unsigned>(jobs);
}

void ThreadPool::grow() noexcept {
  const std::lock_guard lock(mutex_);
  if (joining_ || threads_.size() >= std::min(unfinished_, most_)) return;
  try {
    threads_.reserve(threads_.size() + 1);
    threads_.emplace_back([this] { run(); });
  } catch (const std::exception&) {  // the running threads must do all jobs
  }
}

void ThreadPool::raise_limit() {
  {
    const std::lock_guard lock(mutex_);
    ++most_;
  }
  grow();
}

unsigned ThreadPool::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(threads_.size());
}

void ThreadPool::run() {
  inherited_.apply();
  while (!context_.stopped()) {
    if (context_.run_one_for(kIdle) == 0 && !keeps_ && retire()) return;
  }
}

bool ThreadPool::retire() {
  std::thread before;
  {
    const std::lock_guard lock(mutex_);
    if (joining_ || threads_.size() <= std::max(1u, unfinished_)) return false;
    const auto self = std::find_if(threads_.begin(), threads_.end(), [](const std::thread& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
    std::swap(*self, threads_.back());
    before = std::exchange(retired_, std::move(threads_.back()));
    threads_.pop_back();
  }
  // Without the lock: as a thread ends, it may take a lock that a caller of `post` holds.
  if (before.joinable()) before.join();
  return true;
}

void ThreadPool::join() {
  std::vector<std::thread> threads;
  std::thread retired;
  {
    const std::lock_guard lock(mutex_);
    joining_ = true;
    threads.swap(threads_);
    retired.swap(retired_);
  }
  open_.reset();
  for (std::thread& thread : threads) thread.join();
  if (retired.joinable()) retired.join();
}

}  // namespace dovetail::detail
