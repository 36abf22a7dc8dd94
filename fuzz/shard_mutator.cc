// SPDX-License-Identifier: Apache-2.0
// Mutates a shard as bytes, and then mostly repairs it: what is left wrong is then behind the
// checksums.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/repair.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t kWindow = 32;

/// Bytes that are put in or cut out move all that follows, which no repair puts back; within a
/// window nothing moves.
std::size_t mutate_window(std::uint8_t* data, std::size_t size, unsigned seed) {
  std::array<std::uint8_t, kWindow> window;
  const std::size_t at = seed % size;
  const std::size_t bytes = std::min(window.size(), size - at);
  std::copy_n(data + at, bytes, window.begin());
  const std::size_t mutated = LLVMFuzzerMutate(window.data(), bytes, bytes);
  std::copy_n(window.begin(), mutated, data + at);
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const unsigned choice = seed % 64;
  seed /= 64;
  const bool whole = size == 0 || choice % 4 == 0;
  const std::size_t mutated = whole ? LLVMFuzzerMutate(data, size, max_size) : mutate_window(data, size, seed);
  if (choice / 4 == 0) return mutated;
  const unsigned repair = choice / 4 % 4 != 0 ? dovetail::fuzz::kRepairAll : seed;
  dovetail::fuzz::repair_shard(std::as_writable_bytes(std::span(data, mutated)), repair);
  return mutated;
}
