// SPDX-License-Identifier: Apache-2.0
#include "format/example/packed_ints.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "format/wire.h"
#include "tests/format/example_messages.h"
#include "tests/support/sanitizers.h"

namespace dovetail::format {
namespace {

using namespace test;

constexpr Dtype kIntegers[] = {Dtype::u8,  Dtype::i8,  Dtype::u16, Dtype::i16,
                               Dtype::u32, Dtype::i32, Dtype::u64, Dtype::i64};

/// One after the other; nothing where one is malformed.
std::optional<std::vector<std::int64_t>> slowly(ByteView packed) {
  std::vector<std::int64_t> values;
  WireCursor cursor(packed);
  WireFault fault;
  for (std::uint64_t value = 0; !cursor.done();) {
    if (!cursor.read_varint(value, fault)) return std::nullopt;
    values.push_back(static_cast<std::int64_t>(value));
  }
  return values;
}

template <class T>
std::optional<std::string> as(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const std::int64_t value : values) {
    if (!std::in_range<T>(value)) return std::nullopt;
    const auto narrow = static_cast<T>(value);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof(T));
  }
  return bytes;
}

std::optional<std::string> as(const std::vector<std::int64_t>& values, Dtype dtype) {
  switch (dtype) {
    case Dtype::u8:
      return as<std::uint8_t>(values);
    case Dtype::i8:
      return as<std::int8_t>(values);
    case Dtype::u16:
      return as<std::uint16_t>(values);
    case Dtype::i16:
      return as<std::int16_t>(values);
    case Dtype::u32:
      return as<std::uint32_t>(values);
    case Dtype::i32:
      return as<std::int32_t>(values);
    case Dtype::u64:
      return as<std::uint64_t>(values);
    default:
      return as<std::int64_t>(values);
  }
}

void expect_same(std::string_view text) {
  const std::vector<std::byte> packed(as_bytes(text).begin(),
                                      as_bytes(text).end());  // exactly as long, for AddressSanitizer
  const auto values = slowly(packed);
  const auto count = count_packed_ints(packed);
  ASSERT_EQ(count.has_value(), values.has_value()) << ::testing::PrintToString(std::string(text));
  if (values) {
    ASSERT_EQ(*count, values->size());
  }
  const std::uint64_t asked = values ? values->size() : 8;
  for (const Dtype dtype : kIntegers) {
    const auto expected = values ? as(*values, dtype) : std::nullopt;
    for (const UnpackWay way : unpack_ways()) {
      SCOPED_TRACE(std::string(to_text(dtype)) + (way == UnpackWay::portable   ? ", portable"
                                                  : way == UnpackWay::shuffled ? ", shuffled"
                                                                               : ", wide"));
      std::vector<std::byte> room(packed.size() * dtype_bytes(dtype));
      const auto all = unpack_all_ints(packed, dtype, room.data(), way);
      ASSERT_EQ(all.has_value(), expected.has_value());
      if (expected) {
        ASSERT_EQ(*all, values->size());
        ASSERT_EQ(as_chars(ByteView(room).first(expected->size())), *expected);
      }
      std::vector<std::byte> out(asked * dtype_bytes(dtype));  // not a byte more, for AddressSanitizer
      ASSERT_EQ(unpack_ints(packed, dtype, out.data(), asked, way), expected.has_value());
      if (expected) {
        ASSERT_EQ(as_chars(out), *expected);
      }
      if (values && asked > 0) {
        std::vector<std::byte> less((asked - 1) * dtype_bytes(dtype));
        ASSERT_FALSE(unpack_ints(packed, dtype, less.data(), asked - 1, way));
      }
      out.resize((asked + 1) * dtype_bytes(dtype));
      ASSERT_FALSE(unpack_ints(packed, dtype, out.data(), asked + 1, way));
    }
  }
}

TEST(PackedIntsTest, AreWhatOneAfterTheOtherGives) {
  constexpr std::uint64_t kSeed = 5150;
  Draws draws(kSeed);
  const int rounds = dovetail::test::kSanitized ? 3000 : 30'000;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t most_bits = 1 + draws.below(64);
    const bool steady = draws.below(3) == 0;
    std::string packed;
    for (std::uint64_t left = draws.below(200); left > 0; --left) {
      packed += wire_varint(draws.next() >> (64 - (steady ? most_bits : 1 + draws.below(most_bits))));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(packed)) << "seed " << kSeed << ", round " << round;
    if (packed.empty()) continue;
    packed[draws.below(packed.size())] = static_cast<char>(draws.next());
    ASSERT_NO_FATAL_FAILURE(expect_same(packed)) << "seed " << kSeed << ", round " << round;
    packed.resize(draws.below(packed.size()));
    ASSERT_NO_FATAL_FAILURE(expect_same(packed)) << "seed " << kSeed << ", round " << round;
  }
}

TEST(PackedIntsTest, NumbersOfEveryLengthAtEveryPlaceOfABlock) {
  for (std::size_t before = 0; before < 140; ++before) {
    for (std::size_t bytes = 1; bytes <= 11; ++bytes) {
      for (const std::size_t behind : {0u, 1u, 7u, 8u, 80u}) {
        std::string packed(before, '\x01');
        packed += wire_padded_varint(1, bytes) + std::string(behind, '\x02');
        ASSERT_NO_FATAL_FAILURE(expect_same(packed)) << before << ", " << bytes << ", " << behind;
        ASSERT_EQ(count_packed_ints(as_bytes(packed)).has_value(), bytes <= 10);
      }
    }
  }
}

TEST(PackedIntsTest, TheWayOfThisProcessorIsTheLastOne) {
  EXPECT_EQ(unpack_ways().front(), UnpackWay::portable);
  const std::vector<std::byte> packed(as_bytes("\x01\x02").begin(), as_bytes("\x01\x02").end());
  std::uint16_t numbers[2] = {};
  ASSERT_TRUE(unpack_ints(packed, Dtype::u16, reinterpret_cast<std::byte*>(numbers), 2));
  EXPECT_EQ(numbers[1], 2);
}

TEST(PackedIntsTest, TheLimitsOfEveryDtype) {
  for (const std::size_t before : {0u, 1u, 63u, 64u, 100u}) {
    for (unsigned bits = 0; bits < 64; ++bits) {
      for (const std::uint64_t value : {std::uint64_t{1} << bits, (std::uint64_t{1} << bits) - 1,
                                        ~(std::uint64_t{1} << bits), ~((std::uint64_t{1} << bits) - 1)}) {
        ASSERT_NO_FATAL_FAILURE(
            expect_same(std::string(before, '\x05') + wire_varint(value) + std::string(70, '\x06')));
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::format
