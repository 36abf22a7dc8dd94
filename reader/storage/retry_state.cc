// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retry_state.h"

#include <exception>
#include <thread>

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
      const std::function<void()> next = std::move(shared->jobs.front());
      shared->jobs.pop_front();
      lock.unlock();
      try {
        next();
      } catch (const std::exception&) {  // short of memory: its time will run out
      }
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

}  // namespace dovetail::detail
