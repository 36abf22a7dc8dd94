// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/draws.h"

#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

/// `philox` of consecutive counters: `first`, and those whose first word is 1, 2, ... more. It does not overflow.
DOVETAIL_WIDE_VECTORS
void philox_batch(const PhiloxBlock& first, PhiloxKey key, Draws::Batch& out) noexcept {
  // Counters side by side: the form that gcc and clang turn into vector multiplications.
  constexpr std::size_t kBlocks = Draws::kBatch / 2;
  std::array<std::uint32_t, kBlocks> c0, c1, c2, c3;
  const auto next_key = [&key] {
    key.first += kPhiloxWeyl0;
    key.second += kPhiloxWeyl1;
  };

  // As all counters begin with the same three last words, each of the first two rounds has one product that is the
  // same for all of them.
  const std::uint64_t same1 = kPhiloxMultiplier1 * first[2];
  const std::uint32_t same_c0 = high_word(same1) ^ first[1] ^ key.first;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t product0 = kPhiloxMultiplier0 * (first[0] + static_cast<std::uint32_t>(i));
    c2[i] = high_word(product0) ^ first[3] ^ key.second;
    c3[i] = low_word(product0);
  }
  next_key();
  const std::uint64_t same0 = kPhiloxMultiplier0 * same_c0;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::uint64_t product1 = kPhiloxMultiplier1 * c2[i];
    c0[i] = high_word(product1) ^ low_word(same1) ^ key.first;
    c1[i] = low_word(product1);
    c2[i] = high_word(same0) ^ c3[i] ^ key.second;
    c3[i] = low_word(same0);
  }
  for (int round = 2; round < kPhiloxRounds; ++round) {
    next_key();
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t product0 = kPhiloxMultiplier0 * c0[i];
      const std::uint64_t product1 = kPhiloxMultiplier1 * c2[i];
      c0[i] = high_word(product1) ^ c1[i] ^ key.first;
      c1[i] = low_word(product1);
      c2[i] = high_word(product0) ^ c3[i] ^ key.second;
      c3[i] = low_word(product0);
    }
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    out[2 * i] = c0[i] | std::uint64_t{c1[i]} << 32;
    out[2 * i + 1] = c2[i] | std::uint64_t{c3[i]} << 32;
  }
}

}  // namespace

void Draws::batch(std::uint64_t number, Batch& out) const noexcept {
  // A batch never straddles a multiple of 2^32 blocks.
  const std::uint64_t first_block = number * (kBatch / 2);
  philox_batch({low_word(first_block), counter_high(first_block), lane_, epoch_}, key_, out);
}

}  // namespace dovetail::detail
