// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <dovetail/error.h>

namespace dovetail::detail {

/// The process that something with threads or a file that is being written was made in. In a fork of it there are none of these
/// threads, the locks are as they happened to be, and the file has one position for both: what was made before must be left
/// alone there.
///
/// Threads: any. Cost: a load from a page that the kernel clears in a forked child; a system call where it cannot.
class ProcessMark {
 public:
  ProcessMark() noexcept : process_(current()) {}

  bool forked() const noexcept { return process_ != current(); }
  /// What a call on it gets in the child.
  Error error() const;

 private:
  static std::uint64_t current() noexcept;
  std::uint64_t process_;
};

/// Takes over something that must not be destroyed in this process.
template <class T>
void leave_alone(T object) noexcept {
  union Kept {
    Kept() noexcept {}
    ~Kept() {}
    T object;
  } kept;
  new (&kept.object) T(std::move(object));
}

}  // namespace dovetail::detail
