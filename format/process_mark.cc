// SPDX-License-Identifier: Apache-2.0
#include "format/process_mark.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace dovetail::detail {

namespace {

/// A number that a forked child finds to be 0; null where the kernel has nothing of the kind.
std::atomic<std::uint64_t>* number_of_process() noexcept {
  constexpr std::size_t kBytes = 4096;
  void* const page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  // An emulator may take any advice, and follow none.
  const bool any_taken = ::madvise(page, kBytes, -1) == 0;
  if (!any_taken && ::madvise(page, kBytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<std::uint64_t>(0);
  ::munmap(page, kBytes);
  return nullptr;
}

/// Of no process before or after with the same number either.
std::uint64_t new_number() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto nanoseconds =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  return (nanoseconds << 22 ^ static_cast<std::uint64_t>(::getpid())) | 1;
}

}  // namespace

std::uint64_t ProcessMark::current() noexcept {
  static std::atomic<std::uint64_t>* const number = number_of_process();
  if (number == nullptr) return static_cast<std::uint64_t>(::getpid());
  // Relaxed: the number is all there is to see, and the first one stays.
  std::uint64_t seen = number->load(std::memory_order_relaxed);
  if (seen != 0) [[likely]]
    return seen;
  const std::uint64_t made = new_number();
  return number->compare_exchange_strong(seen, made, std::memory_order_relaxed) ? made : seen;
}

Error ProcessMark::error() const {
  return Error(
      Errc::closed,
      "it was opened before this process was forked, and its threads and files belong to the parent; open another "
      "one here");
}

}  // namespace dovetail::detail
