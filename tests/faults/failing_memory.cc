// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace {

std::atomic<bool> armed = false;
std::atomic<bool> lasting = false;
std::atomic<std::int64_t> left = 0;  // allocations before the one that fails
std::atomic<bool> struck_once = false;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (armed.load(std::memory_order_relaxed)) {
    const std::int64_t before = left.fetch_sub(1);
    if (before == 0 || (before < 0 && lasting.load())) {
      struck_once = true;
      throw std::bad_alloc();
    }
  }
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace dovetail::testing {

AllocationFails::AllocationFails(std::int64_t n, bool lasts) {
  struck_once = false;
  lasting = lasts;
  left = n;
  armed = true;
}

AllocationFails::~AllocationFails() {
  armed = false;
}

bool AllocationFails::struck() noexcept {
  return struck_once.load();
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace dovetail::testing
