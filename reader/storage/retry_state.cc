// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/retry_state.h"

#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace dovetail::detail {

void hint_apart(const RetryStatePtr& shared, const InputFile& file, std::uint64_t offset, std::uint64_t bytes) noexcept
    try {
  Hint hint{.file = InputFile::Weak(file), .offset = offset, .bytes = bytes};
  {
    const std::lock_guard lock(shared->mutex);
    if (!shared->wants_hints) return;
    const auto now = std::chrono::steady_clock::now();
    if (shared->hinting && now - shared->hint_began > shared->after)
      return shared->hints.clear();  // they come too late
    if (shared->hints.size() >= kMostHints) return;
    shared->hints.push_back(std::move(hint));
    if (shared->hinting) return;
    shared->hinting = true;
    shared->hint_began = now;
  }
  const auto work = [shared] {
    std::unique_lock lock(shared->mutex);
    while (!shared->hints.empty()) {
      shared->hint_began = std::chrono::steady_clock::now();
      Hint next = std::move(shared->hints.front());
      shared->hints.pop_front();
      lock.unlock();
      if (std::optional<InputFile> open = std::move(next.file).lock()) {
        shared->inner->will_need(*open, next.offset, next.bytes);
        open.reset();  // which may close it
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
    shared->hints.clear();
    shared->hinting = false;
  }
} catch (const std::exception&) {  // short of memory
}

}  // namespace dovetail::detail
