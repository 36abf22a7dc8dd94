// SPDX-License-Identifier: Apache-2.0
#include "reader/plan/hash_words.h"

#include "reader/plan/philox.h"

namespace dovetail::detail {

Hash128 hash_words(std::span<const std::uint64_t> words) noexcept {
  constexpr std::uint32_t kKey = 0x44564448;  // "DVDH"
  Hash128 state{0, words.size()};
  std::uint32_t index = 0;
  for (const std::uint64_t word : words) {
    const std::uint64_t mixed = state.low ^ word;
    const PhiloxBlock block =
        philox({low_word(mixed), high_word(mixed), low_word(state.high), high_word(state.high)}, {kKey, index++});
    state = {block_word(block, 1), block_word(block, 0)};
  }
  return state;
}

}  // namespace dovetail::detail
