// SPDX-License-Identifier: Apache-2.0
#include "tests/support/replaced_new.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<dovetail::test::MemoryRule> has_memory = nullptr;
std::atomic<std::uint64_t> count = 0;
std::atomic<std::size_t> used = 0;
std::atomic<std::size_t> most = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  const auto rule = has_memory.load(std::memory_order_relaxed);
  if (rule != nullptr && !rule(bytes)) throw std::bad_alloc();
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  ++count;
  const std::size_t now = used += ::malloc_usable_size(memory);
  for (std::size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) used -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace dovetail::test {

void set_memory_rule(MemoryRule rule) noexcept {
  has_memory = rule;
}

std::uint64_t allocations() noexcept {
  return count;
}

std::size_t allocated_bytes() noexcept {
  return used;
}

std::size_t peak_bytes() noexcept {
  return most;
}

void forget_peak() noexcept {
  most = used.load();
}

}  // namespace dovetail::test
