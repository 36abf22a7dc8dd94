// SPDX-License-Identifier: Apache-2.0
#include "format/example/example_wire.h"

#include <string>

#include "format/text/utf8.h"
#include "tests/format/example_messages.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::format {
namespace {

using namespace test;

constexpr std::uint64_t kMutationSeed = 20261122;
constexpr int kRounds = dovetail::test::kSanitized ? 20'000 : 200'000;

void expect_agreement(std::string_view record) {
  ASSERT_EQ(example_difference(as_bytes(record)), "") << ::testing::PrintToString(std::string(record));
}

void expect_accepted(std::string_view record) {
  ASSERT_NO_FATAL_FAILURE(expect_agreement(record));
  ASSERT_TRUE(protobuf_accepts(as_bytes(record))) << ::testing::PrintToString(std::string(record));
}

void expect_refused(std::string_view record) {
  ASSERT_NO_FATAL_FAILURE(expect_agreement(record));
  ASSERT_FALSE(protobuf_accepts(as_bytes(record))) << ::testing::PrintToString(std::string(record));
}

std::vector<std::int64_t> ints_of(const FeatureView& feature) {
  std::vector<std::int64_t> ints;
  FeatureValues values(feature);
  for (std::int64_t value = 0; values.next(value);) ints.push_back(value);
  return ints;
}

TEST(ExampleWireTest, TakesWhatProtobufTakesAndGivesTheSameValues) {
  Draws draws(kMutationSeed);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string record = random_example(draws);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(record)) << "seed " << kMutationSeed << ", round " << i;
    accepted += protobuf_accepts(as_bytes(record)) ? 1 : 0;
  }
  EXPECT_GT(accepted, kRounds * 9 / 10);
}

TEST(ExampleWireTest, RefusesWhatProtobufRefusesOfDamagedRecords) {
  Draws draws(kMutationSeed + 1);
  int accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string record = mutated(random_example(draws), draws);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(record)) << "seed " << kMutationSeed + 1 << ", round " << i;
    accepted += protobuf_accepts(as_bytes(record)) ? 1 : 0;
  }
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 19 / 20);
}

TEST(ExampleWireTest, AgreesOnEveryCutAndEveryFlippedBit) {
  Draws draws(kMutationSeed + 2);
  for (int i = 0; i < kRounds / 1000; ++i) {
    const std::string record = random_example(draws);
    for (std::size_t size = 0; size < record.size(); ++size) {
      ASSERT_NO_FATAL_FAILURE(expect_agreement(std::string_view(record).substr(0, size))) << "cut to " << size;
    }
    for (std::size_t bit = 0; bit < 8 * record.size(); ++bit) {
      std::string flipped = record;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      ASSERT_NO_FATAL_FAILURE(expect_agreement(flipped)) << "bit " << bit;
    }
  }
}

TEST(ExampleWireTest, NothingIsARecordWithoutFeatures) {
  expect_accepted("");
  expect_accepted(wire_record(""));
  ExampleFeatures features;
  ASSERT_TRUE(features.parse({}));
  EXPECT_TRUE(features.all().empty());
  EXPECT_EQ(features.find(""), nullptr);
}

TEST(ExampleWireTest, TheLastEntryOfANameCountsAsAWhole) {
  const std::string first = wire_field(3, wire_varint_field(1, 7));
  const std::string second = wire_field(3, wire_varint_field(1, 8));
  const std::string record = wire_record(wire_entry("b", "") + wire_entry("a", first) + wire_entry("c", "")) +
                             wire_record(wire_entry("a", second));
  expect_accepted(record);
  ExampleFeatures features;
  ASSERT_TRUE(features.parse(as_bytes(record)));
  ASSERT_EQ(features.all().size(), 3u);
  EXPECT_EQ(features.all()[0].name, "a");
  EXPECT_EQ(features.all()[1].name, "b");
  EXPECT_EQ(features.all()[2].name, "c");
  EXPECT_EQ(ints_of(features.all()[0]), std::vector<std::int64_t>{8});
  EXPECT_EQ(features.all()[1].kind, FeatureKind::none);
}

TEST(ExampleWireTest, ListsOfOneKindAreLaidEndToEnd) {
  const std::string packed = wire_field(3, wire_field(1, wire_varint(1) + wire_varint(2)) + wire_varint_field(1, 3));
  const std::string single = wire_field(3, wire_varint_field(1, ~0ull));
  const std::string record =
      wire_record(wire_field(1, wire_field(2, packed) + wire_field(1, "x") + wire_field(2, single)));
  expect_accepted(record);
  ExampleFeatures features;
  ASSERT_TRUE(features.parse(as_bytes(record)));
  ASSERT_NE(features.find("x"), nullptr);
  EXPECT_EQ(ints_of(*features.find("x")), (std::vector<std::int64_t>{1, 2, 3, -1}));
  EXPECT_EQ(features.find("x")->lists, 2u);
}

TEST(ExampleWireTest, AListOfAnotherKindReplacesWhatWasBefore) {
  const std::string ints = wire_field(3, wire_varint_field(1, 5));
  const std::string bytes = wire_field(1, wire_field(1, "abc"));
  const std::string record = wire_record(wire_entry("x", ints + bytes + ints + ints));
  expect_accepted(record);
  ExampleFeatures features;
  ASSERT_TRUE(features.parse(as_bytes(record)));
  EXPECT_EQ(ints_of(features.all()[0]), (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(features.all()[0].count, 2u);
}

TEST(ExampleWireTest, ReadsNumbersInMoreBytesThanTheyNeed) {
  for (std::size_t bytes = 1; bytes <= 10; ++bytes) {
    expect_accepted(wire_record(wire_entry("x", wire_field(3, "\x08" + wire_padded_varint(1, bytes)))));
  }
  expect_refused(wire_record(wire_entry("x", wire_field(3, "\x08" + wire_padded_varint(1, 11)))));
  // The highest bits of a number, a tag and a length: some are lost, some are refused.
  for (unsigned last = 0; last < 256; ++last) {
    const char byte = static_cast<char>(last);
    expect_agreement(wire_record(wire_entry("x", wire_field(3, "\x08" + std::string(9, '\x81') + byte))));
    expect_agreement(wire_record(std::string("\x8A\x80\x80\x80") + byte + std::string(1, '\0')));
    expect_agreement(std::string("\x0A\x82\x80\x80\x80") + byte + std::string("\x0A\x00", 2));
  }
}

TEST(ExampleWireTest, SkipsGroupsAsDeepAsProtobufDoes) {
  for (const std::size_t depth : {1u, 95u, 96u, 97u, 98u, 99u, 100u, 101u, 100'000u}) {
    const std::string groups = wire_groups(9, depth);
    const std::string name = wire_field(1, "x");
    expect_agreement(groups);
    expect_agreement(wire_record(groups));
    expect_agreement(wire_record(wire_field(1, name + groups)));
    expect_agreement(wire_record(wire_entry("x", groups)));
    expect_agreement(wire_record(wire_entry("x", wire_field(3, groups))));
  }
  expect_accepted(wire_groups(9, 100));
  expect_refused(wire_groups(9, 101));
  expect_refused(wire_groups(9, 1).substr(0, 1));
  expect_refused(wire_groups(9, 1).substr(1));
  expect_refused("\x4B\x54");  // the end of another group
}

TEST(ExampleWireTest, RefusesFieldZeroAndUnknownTypes) {
  for (unsigned tag = 0; tag < 256; ++tag) {
    const std::string field(1, static_cast<char>(tag));
    for (const char* const rest : {"", "x", "\x01y", "12345678"}) {
      expect_agreement(field + rest);
      expect_agreement(wire_record(field + rest));
      expect_agreement(wire_record(wire_field(1, field + rest)));
      expect_agreement(wire_record(wire_entry("x", field + rest)));
      expect_agreement(wire_record(wire_entry("x", wire_field(2, field + rest))));
    }
  }
}

TEST(ExampleWireTest, NamesAreUtf8) {
  for (const std::string name : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    expect_accepted(wire_record(wire_entry(name, "")));
  }
  for (const std::string name :
       {"\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE1\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xC2\xC2", "\xE1\x80\x41", "\xF1\x80\x80\x7F"}) {
    expect_refused(wire_record(wire_entry(name, "")));
    // Also where another name follows in the same entry.
    expect_refused(wire_record(wire_field(1, wire_field(1, name) + wire_field(1, "a"))));
  }
  Draws draws(kMutationSeed + 3);
  for (int i = 0; i < kRounds; ++i) {
    std::string name = noise(1 + draws.below(4), draws.next());
    name[0] = static_cast<char>(name[0] | 0xC0);
    for (std::size_t k = 1; k < name.size(); ++k) name[k] = static_cast<char>((name[k] & 0x3F) | 0x80);
    ASSERT_NO_FATAL_FAILURE(expect_agreement(wire_record(wire_entry(name, "")))) << "seed " << kMutationSeed + 3;
  }
}

void expect_same(const FeatureView& found, const FeatureView& expected) {
  EXPECT_EQ(found.name, expected.name);
  EXPECT_EQ(found.kind, expected.kind);
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(as_chars(found.list), as_chars(expected.list));
  EXPECT_EQ(found.lists, expected.lists);
  EXPECT_EQ(as_chars(found.entry), as_chars(expected.entry));
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.only.data(), expected.only.data());
  EXPECT_EQ(found.only.size(), expected.only.size());
}

TEST(ExampleWireTest, ShortEntriesAreScannedLikeOthers) {
  Draws draws(kMutationSeed + 4);
  int taken = 0;
  for (int i = 0; i < kRounds; ++i) {
    std::string record = random_example(draws);
    if (i % 2 == 1) record = mutated(std::move(record), draws);
    ExampleCursor cursor(as_bytes(record));
    for (ByteView part; cursor.next(part);) {
      const std::vector<std::byte> entry(part.begin(), part.end());  // so that no byte behind it can be read
      FeatureView expected;
      WireFault fault;
      const bool good = scan_entry(entry, expected, fault);
      std::string name(expected.name);
      if (!good && entry.size() > 2) name = std::string(as_chars(part.subspan(2))).substr(0, record.size() % 20);
      FeatureView found;
      if (!is_utf8(name) || !scan_short(entry, name, found)) continue;
      ASSERT_TRUE(good) << "seed " << kMutationSeed + 4 << ", round " << i;
      ASSERT_NO_FATAL_FAILURE(expect_same(found, expected)) << "seed " << kMutationSeed + 4 << ", round " << i;
      ++taken;
    }
  }
  EXPECT_GT(taken, kRounds / 20);
}

TEST(ExampleWireTest, ShortEntriesAreThoseOfTheirNameInTheUsualForm) {
  const std::string list = wire_field(3, wire_field(1, wire_varint(300)));
  FeatureView found;
  for (std::size_t size = 0; size < 110; ++size) {
    const std::string name(size, 'n');
    const std::string entry = wire_field(1, name) + wire_field(2, list);
    EXPECT_TRUE(scan_short(as_bytes(entry), name, found)) << size;
    EXPECT_EQ(ints_of(found), std::vector<std::int64_t>{300});
    EXPECT_FALSE(scan_short(as_bytes(entry), name + "n", found)) << size;
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = name;
      other[i] = 'm';
      EXPECT_FALSE(scan_short(as_bytes(entry), other, found)) << size << ", byte " << i;
    }
    EXPECT_FALSE(scan_short(as_bytes(entry + wire_varint_field(9, 1)), name, found));
    EXPECT_FALSE(scan_short(as_bytes(entry).first(entry.size() - 1), name, found));
  }
  for (const std::string& value :
       {std::string(), list + list, wire_field(3, wire_varint_field(1, 5)), wire_field(3, wire_field(1, "\x80")),
        wire_field(2, wire_field(1, "12345")), wire_field(4, wire_field(1, "a")), wire_field(3, ""),
        wire_field(1, wire_field(1, std::string(120, 'a')))}) {
    EXPECT_FALSE(scan_short(as_bytes(wire_field(1, "x") + wire_field(2, value)), "x", found));
  }
}

TEST(ExampleWireTest, ErrorsNameTheByte) {
  const std::string good = wire_record(wire_entry("a", ""));
  ExampleFeatures features;
  const std::string record = good + wire_record(wire_entry("b", wire_field(3, "\x08")));
  const auto parsed = features.parse(as_bytes(record));
  ASSERT_THAT(parsed, test::Fails(Errc::bad_message));
  EXPECT_EQ(parsed.error().detail(), "tf.train.Example: a varint is cut off or too long, at byte " +
                                         std::to_string(record.size()) + " of the record");
  EXPECT_TRUE(features.all().empty());
}

TEST(ExampleWireTest, ManyEntriesOfOneNameAreOneFeature) {
  std::string entries;
  for (std::uint64_t i = 0; i < 100'000; ++i) entries += wire_entry("x", wire_field(3, wire_varint_field(1, i)));
  const std::string record = wire_record(entries);
  ExampleFeatures features;
  ASSERT_TRUE(features.parse(as_bytes(record)));
  ASSERT_EQ(features.all().size(), 1u);
  EXPECT_EQ(ints_of(features.all()[0]), std::vector<std::int64_t>{99'999});
}

}  // namespace
}  // namespace dovetail::format
