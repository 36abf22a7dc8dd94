// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/streaming_copy.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail {
namespace {

TEST(StreamingCopyTest, CopiesAnySizeAndPlaceAndTouchesNothingAround) {
  std::mt19937_64 random(1);
  constexpr std::size_t kAround = 128;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = i <= 2000 ? static_cast<std::size_t>(i) : random() % 2001;
    const std::size_t from_at = random() % 64;
    const std::size_t to_at = random() % 64;
    std::vector<std::byte> from(from_at + bytes);  // no more, so that a sanitizer sees reading beyond
    for (std::byte& byte : from) byte = static_cast<std::byte>(random());
    std::vector<std::byte> to(kAround + to_at + bytes + kAround, std::byte{0xA5});
    std::vector<std::byte> expected = to;
    std::copy_n(from.data() + from_at, bytes, expected.data() + kAround + to_at);
    detail::streaming_copy(to.data() + kAround + to_at, from.data() + from_at, bytes);
    detail::end_streaming();
    ASSERT_EQ(to, expected) << bytes << " bytes from " << from_at << " to " << to_at;
  }
}

}  // namespace
}  // namespace dovetail
