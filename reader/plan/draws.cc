// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/draws.h"

namespace dovetail::detail {

void Draws::batch(std::uint64_t number, Batch& out) const noexcept {
  // Counters side by side, 32 of them: the form that gcc and clang turn into vector multiplications.
  constexpr std::size_t kBlocks = kBatch / 2;
  using Column = std::array<std::uint32_t, kBlocks>;
  Column c0, c1, c2, c3;
  const std::uint64_t first_block = number * kBlocks;
  for (std::size_t i = 0; i < kBlocks; ++i) c0[i] = low_word(first_block) + static_cast<std::uint32_t>(i);
  // A batch never straddles a multiple of 2^32 blocks.
  c1.fill(counter_high(first_block));
  c2.fill(lane_);
  c3.fill(epoch_);
  PhiloxKey key = key_;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t product0 = kPhiloxMultiplier0 * c0[i];
      const std::uint64_t product1 = kPhiloxMultiplier1 * c2[i];
      c0[i] = high_word(product1) ^ c1[i] ^ key.first;
      c2[i] = high_word(product0) ^ c3[i] ^ key.second;
      c1[i] = low_word(product1);
      c3[i] = low_word(product0);
    }
    key.first += kPhiloxWeyl0;
    key.second += kPhiloxWeyl1;
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    out[2 * i] = c0[i] | std::uint64_t{c1[i]} << 32;
    out[2 * i + 1] = c2[i] | std::uint64_t{c3[i]} << 32;
  }
}

}  // namespace dovetail::detail
