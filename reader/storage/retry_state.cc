// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retry_state.h"

#include <exception>
#include <thread>
#include <utility>

namespace dovetail::detail {

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
