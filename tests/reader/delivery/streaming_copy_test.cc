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
  std::vector<decltype(&detail::stream_lines)> ways{&detail::stream_lines};
  if (detail::has_line_stores()) ways.push_back(&detail::store_lines);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = i <= 2000 ? static_cast<std::size_t>(i) : random() % 2001;
    const std::size_t from_at = random() % 64;
    const std::size_t to_at = random() % 64;
    std::vector<std::byte> from(from_at + bytes);  // no more, so that a sanitizer sees reading beyond
    for (std::byte& byte : from) byte = static_cast<std::byte>(random());
    std::vector<std::byte> to(kAround + to_at + bytes + kAround, std::byte{0xA5});
    std::vector<std::byte> expected = to;
    std::copy_n(from.data() + from_at, bytes, expected.data() + kAround + to_at);
    for (const auto& by_lines : ways) {
      std::fill_n(to.begin() + kAround, to_at + bytes, std::byte{0xA5});
      detail::streaming_copy(to.data() + kAround + to_at, from.data() + from_at, bytes, by_lines);
      detail::end_streaming();
      ASSERT_EQ(to, expected) << bytes << " bytes from " << from_at << " to " << to_at;
    }
  }
}

}  // namespace
}  // namespace dovetail
