// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retry_state.h"

#include <exception>
#include <thread>
#include <utility>

namespace dovetail::detail {

void run_apart(const RetryStatePtr& shared, std::function<void()> job) {
  {
    const std::lock_guard lock(shared->mutex);
    shared->jobs.push_back(std::move(job));
    if (shared->threads == kMostThreads) return;
    ++shared->threads;
  }
  const auto work = [shared] {
    std::unique_lock lock(shared->mutex);
    while (!shared->jobs.empty()) {
      std::function<void()> next = std::move(shared->jobs.front());
      shared->jobs.pop_front();
      lock.unlock();
      try {
        next();
      } catch (const std::exception&) {  // short of memory: its time will run out
      }
      next = nullptr;  // closing a file that it has may hang, too
      lock.lock();
    }
    --shared->threads;
  };
  try {
    std::thread(work).detach();
  } catch (const std::exception&) {  // the job waits for another thread, or for its time to run out
    const std::lock_guard lock(shared->mutex);
    --shared->threads;
  }
}

void hint_apart(const RetryStatePtr& shared, Hint hint) noexcept try {
  std::deque<Hint> dropped;  // which closes files, with no lock held
  {
    const std::lock_guard lock(shared->mutex);
    if (!shared->wants_hints) return;
    if (shared->hinting && std::chrono::steady_clock::now() - shared->hint_began > shared->after) {
      dropped.swap(shared->hints);  // or its files would stay open
      return;
    }
    if (shared->hints.size() >= kMostHints) return;
    shared->hints.push_back(std::move(hint));
    if (shared->hinting) return;
    shared->hinting = true;
    shared->hint_began = std::chrono::steady_clock::now();
  }
  const auto work = [shared] {
    std::unique_lock lock(shared->mutex);
    while (!shared->hints.empty()) {
      shared->hint_began = std::chrono::steady_clock::now();
      {
        const Hint next = std::move(shared->hints.front());
        shared->hints.pop_front();
        lock.unlock();
        shared->inner->will_need(next.file, next.offset, next.bytes);
      }
      lock.lock();
    }
    shared->hinting = false;
    shared->changed.notify_all();
  };
  try {
    std::thread(work).detach();
  } catch (const std::exception&) {
    const std::lock_guard lock(shared->mutex);
    dropped.swap(shared->hints);
    shared->hinting = false;
  }
} catch (const std::exception&) {  // short of memory
}

}  // namespace dovetail::detail
