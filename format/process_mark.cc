// SPDX-License-Identifier: Apache-2.0
#include "format/process_mark.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace dovetail::detail {

namespace {

/// Returns a number that the kernel resets to 0 in a forked child, or null if the kernel cannot do
/// that.
std::atomic<std::uint64_t>* number_of_process() noexcept {
  constexpr std::size_t kBytes = 4096;
  void* const page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  // An emulator may accept any advice and ignore it. So check first that nonsense advice is
  // refused.
  const bool any_taken = ::madvise(page, kBytes, -1) == 0;
  if (!any_taken && ::madvise(page, kBytes, MADV_WIPEONFORK) == 0) return new (page) std::atomic<std::uint64_t>(0);
  ::munmap(page, kBytes);
  return nullptr;
}

/// Mixes the clock with the process id, because a later process may reuse the id.
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
  // Relaxed order suffices: no other data depends on the number, and the first number stored stays.
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
