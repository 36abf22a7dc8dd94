// SPDX-License-Identifier: Apache-2.0
#include "format/snappy_decoder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <snappy.h>

#include "tests/format/snappy_streams.h"
#include "tests/support/sanitizers.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::damage;
using test::Draws;
using test::followed_length;
using test::GuardedMemory;
using test::noise;
using test::prose;
using test::random_snappy_stream;
using test::snappy_preamble;
using test::SnappyComparison;
using test::SnappyStream;

// None, too little for a chunk, some, one byte too few for the fast way, enough, more than enough.
constexpr std::size_t kSlacks[] = {0, 1, 15, 16, 40, 63, 64, 100};

Bytes bytes_of(std::string_view text) {
  return Bytes(as_bytes(text).begin(), as_bytes(text).end());
}

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Every stream is given to both decoders, between guarded pages, with each amount of slack.
class SnappyDecoderTest : public ::testing::Test {
 protected:
  void expect_agreement(ByteView stored) {
    for (const std::size_t slack : kSlacks) {
      const std::string difference = comparison_.difference(stored, slack);
      ASSERT_EQ(difference, "") << ::testing::PrintToString(Bytes(stored.begin(), stored.end()));
    }
  }

  // Accepted by both, and the bytes are those of the specification, not only those of the other
  // decoder.
  void expect_decodes(const SnappyStream& stream) {
    const Bytes stored = stream.stored();
    ASSERT_NO_FATAL_FAILURE(expect_agreement(stored));
    ASSERT_TRUE(comparison_.accepted());
    Bytes out(stream.raw().size() + kDecodeSlack);
    ASSERT_TRUE(snappy_decode(stored, static_cast<std::uint32_t>(stream.raw().size()), out));
    out.resize(stream.raw().size());
    ASSERT_EQ(out, stream.raw());
  }

  void expect_refused(ByteView stored) {
    ASSERT_NO_FATAL_FAILURE(expect_agreement(stored));
    ASSERT_FALSE(comparison_.accepted()) << ::testing::PrintToString(Bytes(stored.begin(), stored.end()));
  }

  SnappyComparison comparison_;
};

TEST_F(SnappyDecoderTest, DecodesAnEmptyStream) {
  expect_decodes(SnappyStream());
  EXPECT_TRUE(snappy_decode(bytes_of({0}), 0, {}));
}

TEST_F(SnappyDecoderTest, DecodesLiteralsOfEveryLengthInEveryForm) {
  const std::string bytes = noise(70000, 1);
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length <= 300; ++length) lengths.push_back(length);
  for (const std::size_t length : {65535u, 65536u, 65537u, 70000u}) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    for (std::size_t length_bytes = 0; length_bytes <= 4; ++length_bytes) {
      const bool fits = length_bytes == 0 ? length <= 60 : length_bytes == 4 || length - 1 < 1u << (8 * length_bytes);
      if (!fits) continue;
      for (const std::size_t before : {0u, 5u, 200u}) {
        SnappyStream stream;
        if (before > 0) stream.add_literal(as_bytes(bytes).first(before));
        stream.add_literal(as_bytes(bytes).last(length), length_bytes);
        stream.add_copy(2, 1, 3);
        ASSERT_NO_FATAL_FAILURE(expect_decodes(stream)) << length << " in form " << length_bytes;
      }
    }
  }
}

// Both in the middle of a stream and at its end, near its start and far from it.
TEST_F(SnappyDecoderTest, DecodesCopiesOfEveryOffsetAndLengthInEveryForm) {
  const std::string bytes = noise(1000, 2);
  const std::size_t step = dovetail::test::kSanitized ? 3 : 1;
  for (std::uint32_t offset = 1; offset <= 70; ++offset) {
    for (std::size_t length = 1; length <= 130; length += step) {
      for (const std::size_t form : {1u, 2u, 4u}) {
        for (const bool in_the_middle : {false, true}) {
          SnappyStream stream;
          stream.add_literal(as_bytes(bytes).first(in_the_middle ? 200 : offset));
          for (std::size_t rest = length; rest > 0;) {
            // Copies of one byte have 4 to 11 bytes; the rest of a length is left to those of two.
            const bool one_byte = form == 1 && rest >= 4;
            const std::size_t part = std::min<std::size_t>(rest, one_byte ? 11 : 64);
            stream.add_copy(one_byte ? 1 : std::max<std::size_t>(form, 2), offset, part);
            rest -= part;
          }
          if (in_the_middle) stream.add_literal(as_bytes(bytes).last(150));
          ASSERT_NO_FATAL_FAILURE(expect_decodes(stream)) << offset << ", " << length << " in form " << form;
        }
      }
    }
  }
}

TEST_F(SnappyDecoderTest, DecodesCopiesFromAsFarAsEachFormReaches) {
  const std::string bytes = noise(70000, 3);
  for (const std::uint32_t offset : {255u, 256u, 257u, 1023u, 1024u, 2047u, 2048u, 65535u, 65536u, 70000u}) {
    for (const std::size_t form : {1u, 2u, 4u}) {
      if (form == 1 ? offset > 2047 : form == 2 && offset > 65535) continue;
      SnappyStream stream;
      stream.add_literal(as_bytes(bytes));
      stream.add_copy(form, offset, 11);
      stream.add_literal(as_bytes(bytes).first(100));
      ASSERT_NO_FATAL_FAILURE(expect_decodes(stream)) << offset << " in form " << form;
    }
  }
}

TEST_F(SnappyDecoderTest, RefusesOffsetsOfZeroAndBeforeTheStart) {
  const std::string bytes = noise(300, 4);
  for (const std::size_t before : {1u, 3u, 15u, 16u, 63u, 64u, 65u, 80u, 128u, 300u}) {
    const auto past = static_cast<std::uint32_t>(before + 1);
    for (const std::uint32_t offset : {0u, past, past + 63, 1000u, 2047u, 65535u, 65536u, 0x80000000u, 0xFFFFFFFFu}) {
      for (const std::size_t form : {1u, 2u, 4u}) {
        if (form == 1 ? offset > 2047 : form == 2 && offset > 65535) continue;
        for (const std::size_t length : {4u, 8u, 11u}) {
          for (const std::size_t behind : {0u, 100u}) {
            SnappyStream stream;
            stream.add_literal(as_bytes(bytes).first(before));
            stream.add_copy(form, offset, length);
            if (behind > 0) stream.add_literal(as_bytes(bytes).first(behind));
            ASSERT_NO_FATAL_FAILURE(expect_refused(stream.stored())) << before << ", offset " << offset;
          }
        }
      }
    }
  }
}

TEST_F(SnappyDecoderTest, RefusesEveryCutOfAStream) {
  Draws draws(5);
  for (int round = 0; round < 8; ++round) {
    const Bytes stored = random_snappy_stream(draws, 40).stored();
    for (std::size_t size = 0; size < std::min<std::size_t>(stored.size(), 2000); ++size) {
      ASSERT_NO_FATAL_FAILURE(expect_refused(ByteView(stored).first(size))) << size;
    }
  }
}

TEST_F(SnappyDecoderTest, RefusesAnythingBehindTheLastByte) {
  const std::string bytes = noise(200, 6);
  for (const std::size_t size : {1u, 20u, 64u, 200u}) {
    for (unsigned tag = 0; tag < 256; ++tag) {
      for (const std::size_t tail : {0u, 1u, 4u, 70u}) {
        SnappyStream stream;
        stream.add_literal(as_bytes(bytes).first(size));
        stream.add_bytes(bytes_of({tag}));
        stream.add_bytes(Bytes(tail, std::byte{1}));
        ASSERT_NO_FATAL_FAILURE(expect_refused(stream.stored())) << tag << " and " << tail;
      }
    }
  }
}

TEST_F(SnappyDecoderTest, RefusesEveryOtherLength) {
  Draws draws(7);
  for (int round = 0; round < 50; ++round) {
    const SnappyStream stream = random_snappy_stream(draws, 40);
    const auto raw_bytes = static_cast<std::int64_t>(stream.raw().size());
    for (const std::int64_t change : {-65, -64, -63, -16, -1, 1, 2, 15, 16, 63, 64, 65, 1000}) {
      if (raw_bytes + change < 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_refused(stream.stored(static_cast<std::uint64_t>(raw_bytes + change))));
      Bytes out(stream.raw().size() + 2000);
      ASSERT_FALSE(snappy_decode(stream.stored(), static_cast<std::uint32_t>(raw_bytes + change), out));
    }
  }
}

// Long tags, so that the end that is claimed is passed by as much as one can pass it before it is
// noticed.
TEST_F(SnappyDecoderTest, RefusesToGoOnBehindTheEnd) {
  const std::string bytes = noise(300, 15);
  SnappyStream stream;
  stream.add_literal(as_bytes(bytes).first(100));
  for (int pair = 0; pair < 6; ++pair) {
    stream.add_copy(2, 70, 64);
    stream.add_literal(as_bytes(bytes).first(60));
  }
  stream.add_literal(as_bytes(bytes));
  stream.add_literal(as_bytes(bytes));
  for (std::size_t claimed = 0; claimed < stream.raw().size() + 100; ++claimed) {
    if (claimed == stream.raw().size()) continue;
    ASSERT_NO_FATAL_FAILURE(expect_refused(stream.stored(claimed))) << claimed;
  }
}

TEST_F(SnappyDecoderTest, ReadsPreamblesAsThePackagedLibraryDoes) {
  // Every number of leading continuation bytes, with every last byte.
  for (std::size_t more = 0; more <= 6; ++more) {
    for (const unsigned filler : {0x80u, 0x81u, 0xFFu}) {
      for (unsigned last = 0; last < 256; ++last) {
        Bytes stored(more, static_cast<std::byte>(filler));
        stored.push_back(static_cast<std::byte>(last));
        ASSERT_NO_FATAL_FAILURE(expect_agreement(stored));
        stored.push_back(std::byte{0});
        stored.push_back(std::byte{'x'});
        ASSERT_NO_FATAL_FAILURE(expect_agreement(stored));
      }
    }
  }
  for (const std::uint64_t length : {0u, 1u, 127u, 128u, 65536u, 0xFFFFFFFFu}) {
    const auto preamble = read_snappy_preamble(snappy_preamble(length));
    ASSERT_TRUE(preamble);
    EXPECT_EQ(preamble->raw_bytes, length);
    EXPECT_EQ(preamble->bytes, snappy_preamble(length).size());
  }
  EXPECT_FALSE(read_snappy_preamble(snappy_preamble(std::uint64_t{1} << 32)));
  EXPECT_FALSE(read_snappy_preamble({}));
}

// More than any stream decodes to. The length has 32 bits and counts from 1.
TEST_F(SnappyDecoderTest, RefusesALiteralOf4GiB) {
  const std::string bytes = noise(300, 8);
  for (const std::size_t before : {0u, 10u, 300u}) {
    for (const std::size_t behind : {0u, 10u, 300u}) {
      SnappyStream stream;
      if (before > 0) stream.add_literal(as_bytes(bytes).first(before));
      stream.add_bytes(test::kLiteralOf4GiB);
      if (behind > 0) stream.add_literal(as_bytes(bytes).first(behind));
      ASSERT_NO_FATAL_FAILURE(expect_agreement(stream.stored())) << before << ", " << behind;
      ASSERT_FALSE(comparison_.accepted());
    }
  }
}

TEST_F(SnappyDecoderTest, DecodesWhatThePackagedLibraryEncodes) {
  std::vector<std::string> samples = {std::string(100000, 'a'), prose(200000, 9), noise(100000, 10)};
  for (std::size_t size = 0; size < 700; ++size) {
    samples.push_back(prose(size, size));
    samples.push_back(noise(size, size));
    samples.push_back(std::string(size, 'z'));
  }
  for (const std::string& sample : samples) {
    std::string stored;
    snappy::Compress(sample.data(), sample.size(), &stored);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(as_bytes(stored)));
    ASSERT_TRUE(comparison_.accepted());
    std::string out(sample.size(), '\0');
    ASSERT_TRUE(snappy_decode(as_bytes(stored), static_cast<std::uint32_t>(sample.size()),
                              std::as_writable_bytes(std::span(out))));
    ASSERT_EQ(out, sample);
  }
}

TEST_F(SnappyDecoderTest, AgreesOnRandomStreamsOfTags) {
  Draws draws(11);
  const int rounds = dovetail::test::kSanitized ? 1000 : 8000;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(expect_decodes(random_snappy_stream(draws, 80))) << "round " << round;
  }
}

TEST_F(SnappyDecoderTest, AgreesOnDamagedStreamsOfTags) {
  Draws draws(12);
  int accepted = 0;
  const int rounds = dovetail::test::kSanitized ? 3000 : 30000;
  for (int round = 0; round < rounds; ++round) {
    Bytes stored = random_snappy_stream(draws, 60).stored();
    damage(stored, draws);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(stored)) << "round " << round;
    accepted += comparison_.accepted();
  }
  // Both answers have to occur, or the comparison says little.
  EXPECT_GT(accepted, rounds / 100);
  EXPECT_LT(accepted, rounds - rounds / 100);
}

// The length in front is the one that the tags add up to, so that it is the tags that decide.
TEST_F(SnappyDecoderTest, AgreesOnRandomBytes) {
  Draws draws(13);
  int accepted = 0;
  const int rounds = dovetail::test::kSanitized ? 5000 : 50000;
  for (int round = 0; round < rounds; ++round) {
    Bytes tags = bytes_of(noise(1 + draws.below(draws.below(2) == 0 ? 12 : 300), draws.next()));
    // Literals and copies from near, and something to copy at the start, so that some streams are
    // valid.
    if (draws.below(2) == 0) {
      for (std::byte& tag : tags) tag &= std::byte{0x0D};
    }
    if (draws.below(4) != 0) tags[0] = static_cast<std::byte>(draws.below(60) << 2);
    Bytes stored = snappy_preamble(std::min(followed_length(tags), std::uint64_t{SnappyComparison::kMostRawBytes}));
    stored.insert(stored.end(), tags.begin(), tags.end());
    ASSERT_NO_FATAL_FAILURE(expect_agreement(stored)) << "round " << round;
    accepted += comparison_.accepted();
  }
  EXPECT_GT(accepted, rounds / 100);
  EXPECT_LT(accepted, rounds - rounds / 100);
}

// The comparison guards the byte behind the output; here it is the byte before.
TEST_F(SnappyDecoderTest, TouchesNothingBeforeTheOutputAndTheInput) {
  const GuardedMemory in(1 << 20);
  const GuardedMemory out(1 << 20);
  Draws draws(14);
  for (int round = 0; round < 2000; ++round) {
    Bytes stored = random_snappy_stream(draws, 60).stored();
    if (round % 2 == 1) damage(stored, draws);
    const auto preamble = read_snappy_preamble(stored);
    if (!preamble || preamble->raw_bytes > out.capacity() - kDecodeSlack || stored.size() > in.capacity()) continue;
    std::copy(stored.begin(), stored.end(), in.front(stored.size()).begin());
    const std::span<std::byte> room = out.front(preamble->raw_bytes + kDecodeSlack);
    const bool ours = snappy_decode(in.front(stored.size()), preamble->raw_bytes, room);
    Bytes expected(preamble->raw_bytes);
    ASSERT_EQ(ours, snappy::RawUncompress(reinterpret_cast<const char*>(stored.data()), stored.size(),
                                          reinterpret_cast<char*>(expected.data())));
    if (ours) {
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), room.begin()));
    }
  }
}

}  // namespace
}  // namespace dovetail::format
