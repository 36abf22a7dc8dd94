// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/draws.h"

#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

/// Applies `philox` to consecutive counters: `first`, then `first` with its lowest word increased
/// by 1, 2, ... Needs: that word does not overflow.
DOVETAIL_WIDE_VECTORS
void philox_batch(const PhiloxBlock& first, PhiloxKey key, Draws::Batch& out) noexcept {
  // Structure of arrays: gcc and clang turn this form into vector multiplications.
  constexpr std::size_t kBlocks = Draws::kBatch / 2;
  std::array<std::uint32_t, kBlocks> c0, c1, c2, c3;
  const auto next_key = [&key] {
    key.first += kPhiloxWeyl0;
    key.second += kPhiloxWeyl1;
  };

  // All counters share their last three words. So in each of the first two rounds, one of the two
  // products is the same for all counters.
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
  // All blocks of a batch have the same high word, because kBatch / 2 divides 2^32.
  const std::uint64_t first_block = number * (kBatch / 2);
  philox_batch({low_word(first_block), counter_high(first_block), lane_, epoch_}, key_, out);
}

}  // namespace dovetail::detail
