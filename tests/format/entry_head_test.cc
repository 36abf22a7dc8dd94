// SPDX-License-Identifier: Apache-2.0
#include "format/example/entry_head.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/format/example_messages.h"
#include "tests/support/sanitizers.h"

namespace dovetail::format {
namespace {

using namespace test;

void expect_scanned(ByteView rest, std::size_t bytes, const FeatureView& found) {
  ASSERT_LE(bytes, rest.size());
  WireCursor fields(rest.first(bytes));
  ByteView entry;
  ASSERT_TRUE(fields.read_short(wire_tag(1, WireType::bytes), entry));
  ASSERT_TRUE(fields.done());
  FeatureView expected;
  WireFault fault;
  ASSERT_TRUE(scan_entry(entry, expected, fault));
  EXPECT_EQ(found.name.data(), expected.name.data());
  EXPECT_EQ(found.name, expected.name);
  EXPECT_EQ(found.kind, expected.kind);
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.list.data(), expected.list.data());
  EXPECT_EQ(found.list.size(), expected.list.size());
  EXPECT_EQ(found.lists, expected.lists);
  EXPECT_EQ(found.entry.data(), expected.entry.data());
  EXPECT_EQ(found.entry.size(), expected.entry.size());
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.only.data(), expected.only.data());
  EXPECT_EQ(found.only.size(), expected.only.size());
}

TEST(EntryHeadTest, AMovedViewIsWhatAScanFinds) {
  constexpr std::uint64_t kSeed = 20261128;
  constexpr int kRounds = dovetail::test::kSanitized ? 20'000 : 200'000;
  Draws draws(kSeed);
  int kept = 0;
  int changed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string record = random_example(draws);
    ExampleCursor cursor(as_bytes(record));
    for (ByteView entry; cursor.next(entry);) {
      FeatureView view;
      WireFault fault;
      if (!scan_entry(entry, view, fault)) continue;
      const std::string name(view.name);
      if (!scan_short(entry, name, view)) continue;
      EntryHead head;
      head.keep(view);
      if (head.bytes() == 0) continue;
      ++kept;
      const std::string same(as_chars(ByteView(entry.data() - 2, entry.size() + 2)));
      const std::string other = mutated(same, draws);
      for (const std::string& text : {same, other}) {
        // Exactly as long, so that no byte behind it can be read.
        const std::vector<std::byte> rest(as_bytes(text).begin(), as_bytes(text).end());
        FeatureView moved = view;
        const bool begins_so = head.move(rest, moved);
        if (text == same) {
          ASSERT_TRUE(begins_so);
        }
        if (!begins_so) continue;
        ASSERT_NO_FATAL_FAILURE(expect_scanned(rest, head.bytes(), moved)) << "seed " << kSeed << ", round " << round;
        changed += static_cast<int>(text != same);
      }
    }
  }
  EXPECT_GT(kept, kRounds / 20);
  EXPECT_GT(changed, kRounds / 200);
}

std::string ints_entry(std::string_view name, std::string_view packed) {
  return wire_entry(name, wire_field(3, wire_field(1, packed)));
}

/// The head of an entry with its tag and length.
EntryHead head_of(std::string_view entry, FeatureView& view, std::size_t before = 2) {
  EntryHead head;
  WireFault fault;
  EXPECT_TRUE(scan_entry(as_bytes(entry).subspan(before), view, fault));
  EXPECT_TRUE(scan_short(as_bytes(entry).subspan(before), std::string(view.name), view));
  head.keep(view);
  return head;
}

TEST(EntryHeadTest, OtherNamesKindsSizesAndCountsAreLeft) {
  const std::string entry = ints_entry("x", "\x81\x01\x05");
  FeatureView view;
  const EntryHead head = head_of(entry, view);
  const std::string other_values = ints_entry("x", std::string("\xFF\x7F\0", 3)) + "more";
  EXPECT_TRUE(head.move(as_bytes(other_values), view));
  EXPECT_EQ(as_chars(view.only), std::string_view("\xFF\x7F\0", 3));
  for (const std::string& other :
       {ints_entry("y", "\x81\x01\x05"), ints_entry("x", "\x01\x81\x05"), ints_entry("x", "\x81\x81\x05"),
        ints_entry("x", "\x81\x01\x85"), ints_entry("x", "\x81\x01"),
        wire_entry("x", wire_field(1, wire_field(1, "abc"))), entry.substr(0, entry.size() - 1), std::string()}) {
    EXPECT_FALSE(head.move(as_bytes(other), view)) << ::testing::PrintToString(other);
  }
}

TEST(EntryHeadTest, ALengthInMoreBytesThanItNeedsIsNoHead) {
  const std::string inside = wire_field(1, "x") + wire_field(2, wire_field(3, wire_field(1, "\x05")));
  const std::string entry = "\x0A" + wire_padded_varint(inside.size(), 2) + inside;
  FeatureView view;
  EXPECT_EQ(head_of(entry, view, 3).bytes(), 0u);
  EXPECT_FALSE(EntryHead().move(as_bytes(entry), view));
}

}  // namespace
}  // namespace dovetail::format
