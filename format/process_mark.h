// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Remembers the process in which an object with threads, or with a file being written, was made. A
/// fork of that process has none of these threads, finds locks in an arbitrary state, and shares
/// the file position with its parent. So the child must not touch the object.
///
/// Threads: any. Cost: one load of a number that a handler of `fork` changes in the child.
class ProcessMark {
 public:
  ProcessMark() noexcept : process_(current()) {}

  bool forked() const noexcept { return process_ != current(); }
  /// The error of a call on the object in the child.
  Error error() const;

 private:
  static std::uint64_t current() noexcept;
  std::uint64_t process_;
};

/// Takes over an object and never destroys it.
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
