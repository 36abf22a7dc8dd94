// SPDX-License-Identifier: Apache-2.0
// Statistics of long lists of numbers, which loops over many numbers at once collect.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/features.h>

#include "tests/format/example_messages.h"
#include "tests/reader/features/feature_records.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kListSeed = 20261128;
constexpr std::int64_t kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMostInt = std::numeric_limits<std::int64_t>::max();

/// An Example whose only feature, "x", has these bytes as its list of integers.
std::string example_of(const std::string& list) {
  return wire_record(wire_entry("x", wire_field(3, list)));
}

std::string packed(const std::vector<std::int64_t>& values, std::size_t begin, std::size_t end) {
  std::string bytes;
  for (std::size_t i = begin; i < end; ++i) bytes += wire_varint(static_cast<std::uint64_t>(values[i]));
  return wire_field(1, bytes);
}

std::string unpacked(const std::vector<std::int64_t>& values, std::size_t begin, std::size_t end) {
  std::string bytes;
  for (std::size_t i = begin; i < end; ++i) bytes += '\x08' + wire_varint(static_cast<std::uint64_t>(values[i]));
  return bytes;
}

std::vector<std::int64_t> drawn_ints(std::mt19937_64& draws, std::size_t count, std::int64_t least,
                                     std::uint64_t range) {
  std::vector<std::int64_t> values(count);
  for (std::int64_t& value : values) {
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + (range == 0 ? draws() : draws() % range));
  }
  return values;
}

/// Numbers of every length of varint: negative ones have ten bytes.
struct Range {
  std::int64_t least;
  std::uint64_t range;
};
constexpr Range kRanges[] = {{0, 1},
                             {0, 2},
                             {0, 128},
                             {0, 512},
                             {0, 513},
                             {-3, 300},
                             {-100, 5000},
                             {-257, 1000},
                             {0, 50'000},
                             {(1 << 18) - 400, 800},
                             {1 << 20, 2000},
                             {kMostInt - 1000, 1001},
                             {kLeastInt, 1000},
                             {0, std::uint64_t{1} << 40},
                             {kLeastInt, 0}};

TEST(NumberListsTest, PackedOrNotTheStatisticsAreThoseOfTheNumbers) {
  std::mt19937_64 draws(kListSeed);
  for (const auto& [least, range] : kRanges) {
    for (const std::size_t count : {1U, 7U, 8U, 15U, 17U, 64U, 1000U, 3001U}) {
      SCOPED_TRACE(std::to_string(count) + " from " + std::to_string(least) + ", seed " + std::to_string(kListSeed));
      const std::vector<std::int64_t> values = drawn_ints(draws, count, least, range);
      std::map<std::int64_t, std::uint64_t> counts;
      long double sum = 0;
      for (const std::int64_t value : values) {
        ++counts[value];
        sum += static_cast<long double>(value);
      }
      const FeaturesReport report = report_of({example_of(packed(values, 0, count))});
      const FeatureStats x = feature(report, "x");
      EXPECT_EQ(x.values, count);
      EXPECT_EQ(x.least_int, counts.begin()->first);
      EXPECT_EQ(x.most_int, counts.rbegin()->first);
      EXPECT_NEAR(x.mean, static_cast<double>(sum / static_cast<long double>(count)), 1e-9 * std::abs(x.mean));
      const auto distinct = static_cast<double>(counts.size());
      EXPECT_NEAR(static_cast<double>(x.distinct), distinct, counts.size() <= 512 ? 0 : 0.04 * distinct);
      for (const TopValue& top : x.top) {
        if (!x.top_estimated) {
          EXPECT_EQ(top.count, counts.at(std::stoll(top.value))) << top.value;
        }
      }
      const std::string expected = all_of(report);
      EXPECT_EQ(all_of(report_of({example_of(unpacked(values, 0, count))})), expected);
      const std::size_t middle = draws() % count;
      EXPECT_EQ(all_of(report_of({example_of(packed(values, 0, middle) + unpacked(values, middle, count))})), expected);
      EXPECT_EQ(all_of(report_of({example_of(unpacked(values, 0, middle) + packed(values, middle, count))})), expected);
    }
  }
}

TEST(NumberListsTest, AListCutOffInsideANumberIsNoExample) {
  for (const std::int64_t last : {std::int64_t{1} << 8, kMostInt, std::int64_t{-1}}) {
    for (const std::size_t before : {0U, 1U, 63U, 64U, 300U}) {
      std::string list(before, '\x05');
      list += wire_varint(static_cast<std::uint64_t>(last));
      while (list.size() > before + 1) {
        list.pop_back();
        const FeaturesReport report = report_of({example_of(wire_field(1, list))});
        EXPECT_EQ(report.examples, 0u) << before << " numbers before, " << list.size() << " bytes";
        EXPECT_TRUE(report.features.empty());
      }
    }
  }
}

/// How numbers are divided among lists has no part in what is known of the numbers themselves.
template <class Record>
void expect_same_in_short_lists(std::size_t count, const Record& record) {
  FeatureCollector long_lists;
  FeatureCollector short_lists;
  std::mt19937_64 draws(kListSeed);
  std::uint64_t id = 0;
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    end = std::min<std::size_t>(count, begin + 1 + draws() % 3000);
    long_lists.add(id++, as_bytes(record(begin, end)));
  }
  for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
    end = std::min<std::size_t>(count, begin + 1 + draws() % 4);
    short_lists.add(id++, as_bytes(record(begin, end)));
  }
  const FeatureStats expected = feature(short_lists.report(), "x");
  const FeatureStats found = feature(long_lists.report(), "x");
  EXPECT_EQ(found.values, expected.values);
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.most, expected.most);
  EXPECT_NEAR(found.mean, expected.mean, 1e-12 * std::max(std::abs(expected.least), std::abs(expected.most)));
  EXPECT_EQ(found.nans, expected.nans);
  EXPECT_EQ(found.infinities, expected.infinities);
  EXPECT_EQ(found.distinct, expected.distinct);
  EXPECT_EQ(found.distinct_error, expected.distinct_error);
  if (expected.top_estimated) return;
  ASSERT_EQ(found.top.size(), expected.top.size());
  for (std::size_t i = 0; i < found.top.size(); ++i) {
    EXPECT_EQ(found.top[i].value, expected.top[i].value);
    EXPECT_EQ(found.top[i].count, expected.top[i].count);
  }
}

TEST(NumberListsTest, LongListsOfIntegersGiveWhatShortOnesGive) {
  std::mt19937_64 draws(kListSeed + 1);
  for (const auto& [least, range] : kRanges) {
    SCOPED_TRACE(std::to_string(range) + " from " + std::to_string(least) + ", seed " + std::to_string(kListSeed));
    const std::vector<std::int64_t> values = drawn_ints(draws, 100'000, least, range);
    expect_same_in_short_lists(
        values.size(), [&](std::size_t begin, std::size_t end) { return example_of(packed(values, begin, end)); });
  }
}

TEST(NumberListsTest, NumbersInRunsAndAloneAreCounted) {
  std::mt19937_64 draws(kListSeed + 4);
  std::vector<std::int64_t> values;
  std::map<std::int64_t, std::uint64_t> counts;
  for (std::uint64_t number = 0; number < 500; ++number) {
    // First in runs of 16, which are counted at once.
    values.insert(values.end(), number < 128 ? 16 : 1 + draws() % 40, static_cast<std::int64_t>(number));
    for (int i = 0; i < 16; ++i) values.push_back(static_cast<std::int64_t>(draws() % (number + 1)));
  }
  for (const std::int64_t value : values) ++counts[value];
  const FeaturesReport report = report_of({example_of(packed(values, 0, values.size()))});
  const FeatureStats x = feature(report, "x");
  EXPECT_EQ(x.distinct, 500u);
  ASSERT_EQ(x.top.size(), 10u);
  for (const TopValue& top : x.top) {
    EXPECT_EQ(top.count, counts.at(std::stoll(top.value))) << top.value << ", seed " << kListSeed + 4;
  }
  std::vector<std::uint64_t> bars(x.histogram.counts.size());
  for (const auto& [value, count] : counts) bars[static_cast<std::size_t>(value) * bars.size() / 500] += count;
  EXPECT_EQ(x.histogram.counts, bars);
}

TEST(NumberListsTest, LongListsOfFloatsGiveWhatShortOnesGive) {
  std::mt19937_64 draws(kListSeed + 2);
  for (const std::uint64_t range : {1U, 2U, 256U, 512U, 600U, 1U << 30}) {
    std::vector<float> values(150'000);
    for (float& value : values) value = (static_cast<float>(draws() % range) - 100) / 8;
    if (range == 256) {
      values[3] = -0.0F;
      values[99'999] = std::numeric_limits<float>::quiet_NaN();
      values[70'001] = -std::numeric_limits<float>::infinity();
    }
    SCOPED_TRACE(std::to_string(range) + ", seed " + std::to_string(kListSeed));
    expect_same_in_short_lists(values.size(), [&](std::size_t begin, std::size_t end) {
      return ExampleRecord().floats("x", {values.data() + begin, values.data() + end}).bytes();
    });
  }
}

TEST(NumberListsTest, MoreTokenFeaturesThanKnowTheirNumbersAgreeAsWell) {
  std::mt19937_64 draws(kListSeed + 3);
  const std::vector<std::int64_t> values = drawn_ints(draws, 20'000, 0, 4000);
  ExampleRecord record;
  for (int i = 0; i < 20; ++i) record = record.ints("f" + std::to_string(i), values);
  const FeaturesReport report = report_of({record.bytes(), record.bytes()});
  ASSERT_EQ(report.features.size(), 20u);
  for (const FeatureStats& stats : report.features) {
    EXPECT_EQ(stats.distinct, report.features.front().distinct) << stats.name;
    EXPECT_NEAR(static_cast<double>(stats.distinct), 4000, 0.04 * 4000);
  }
}

}  // namespace
}  // namespace dovetail::test
