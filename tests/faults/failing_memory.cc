// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_memory.h"

#include <atomic>

#include "tests/support/replaced_new.h"

namespace {

std::atomic<bool> lasting = false;
std::atomic<std::int64_t> left = 0;  // allocations before the one that fails
std::atomic<bool> struck_once = false;
thread_local bool spared = false;

bool comes_before_the_failure(std::size_t /*bytes*/) {
  if (spared) return true;
  const std::int64_t before = left.fetch_sub(1);
  if (before > 0 || (before < 0 && !lasting.load())) return true;
  struck_once = true;
  return false;
}

}  // namespace

namespace dovetail::test {

AllocationFails::AllocationFails(std::int64_t n, bool lasts) {
  struck_once = false;
  lasting = lasts;
  left = n;
  set_memory_rule(&comes_before_the_failure);
}

AllocationFails::~AllocationFails() {
  set_memory_rule(nullptr);
}

bool AllocationFails::struck() noexcept {
  return struck_once.load();
}

AllocationsSpared::AllocationsSpared() noexcept {
  spared = true;
}

AllocationsSpared::~AllocationsSpared() {
  spared = false;
}

}  // namespace dovetail::test
