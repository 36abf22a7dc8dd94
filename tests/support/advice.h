// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace dovetail::test {

/// Whether the system takes any advice about memory, and follows none, as an emulator may; a kernel
/// refuses what it does not know.
inline bool takes_any_advice() {
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool taken = ::madvise(page, bytes, -1) == 0;
  ::munmap(page, bytes);
  return taken;
}

}  // namespace dovetail::test
