// SPDX-License-Identifier: Apache-2.0
// Mutates a shard as bytes, and then mostly repairs it: what is left wrong is then behind the checksums.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/repair.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0) dovetail::fuzz::repair_shard(std::as_writable_bytes(std::span(data, mutated)), seed / 8);
  return mutated;
}
