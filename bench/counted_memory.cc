// SPDX-License-Identifier: Apache-2.0
#include "bench/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace dovetail::bench {
namespace {

// Atomic only because libraries may have threads of their own.
std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> highest{0};

}  // namespace

MemoryMeter::MemoryMeter() noexcept : begin_(bench::in_use) {
  highest = begin_;
}

std::size_t MemoryMeter::in_use() const noexcept {
  return bench::in_use - begin_;
}

std::size_t MemoryMeter::peak() const noexcept {
  return highest - begin_;
}

}  // namespace dovetail::bench

// All other forms of `new` and `delete` end in these, except the over-aligned ones, which are not
// counted.
void* operator new(std::size_t size) {
  using namespace dovetail::bench;
  void* const memory = std::malloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  in_use += malloc_usable_size(memory);
  highest = std::max<std::size_t>(highest, in_use);
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  dovetail::bench::in_use -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
