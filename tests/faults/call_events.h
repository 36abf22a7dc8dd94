// SPDX-License-Identifier: Apache-2.0
// Something that happens at the n-th call of the system that a reader makes, or when it returns.
// The program is linked with --wrap for each of them.
#pragma once

#include <cstdint>
#include <functional>

namespace dovetail::test {

/// What begins and ends a call; each counts.
enum class CallEvent : std::uint8_t { read_begins, other };

/// While it lives, reads never find their bytes in the page cache, and the n-th event runs `at`,
/// once.
///
/// Threads: calls of all threads count; `at` runs on the one that makes the call, which goes on
///          once it returns. With `only_reads`, that is a thread that reads a file, about to do so.
class AtEvent {
 public:
  /// `file` is the descriptor that is read, from `offset`; -1 where the event is something else.
  using At = std::function<void(int file, std::int64_t offset)>;
  enum class Counted : bool { all, only_reads };

  AtEvent(std::uint64_t n, At at, Counted counted = Counted::all);
  AtEvent(const AtEvent&) = delete;
  AtEvent& operator=(const AtEvent&) = delete;
  /// Waits for `at` where it runs.
  ~AtEvent();

  /// From now on nothing happens any more; whether `at` has begun.
  bool disarm() noexcept;
};

}  // namespace dovetail::test
