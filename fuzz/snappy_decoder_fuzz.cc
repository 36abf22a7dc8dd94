// SPDX-License-Identifier: Apache-2.0
// Gives each input to our decoder and to the packaged one, between guarded pages; they have to
// agree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/format/snappy_streams.h"

namespace dovetail::test {

namespace {

// What the first byte of an input chooses: the slack, and whether what follows is a stream with its
// preamble or only tags. Tags get the length that they add up to, or a fuzzer would spend its time
// on guessing it.
constexpr unsigned kOnlyTags = 0x80;
constexpr std::size_t kSlackChoices = 0x7F;

void decode(ByteView input) {
  static SnappyComparison comparison;
  if (input.empty()) return;
  const auto choice = std::to_integer<unsigned>(input.front());
  const std::size_t slack = std::min<std::size_t>(choice & kSlackChoices, SnappyComparison::kMostSlack);
  const ByteView rest = input.subspan(1);
  Bytes stored;
  if ((choice & kOnlyTags) != 0) stored = snappy_preamble(followed_length(rest));
  stored.insert(stored.end(), rest.begin(), rest.end());
  const std::string difference = comparison.difference(stored, slack);
  if (difference.empty()) return;
  std::fprintf(stderr, "%s\n", difference.c_str());
  std::abort();
}

}  // namespace
}  // namespace dovetail::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::test::decode(std::as_bytes(std::span(data, size)));
  return 0;
}
