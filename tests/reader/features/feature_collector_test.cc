// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "tests/format/example_messages.h"
#include "tests/reader/features/feature_records.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

using ::dovetail::test::kSanitized;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kRecordSeed = 20261127;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(FeatureCollectorTest, CountsNumbersExactly) {
  const struct {
    const char* name;
    std::vector<std::vector<std::int64_t>> lists;
    double least, mean, most;
    std::uint64_t least_values, most_values, distinct;
  } kCases[] = {
      {"one", {{7}}, 7, 7, 7, 1, 1, 1},
      {"labels", {{0}, {1}, {1}, {2}}, 0, 1, 2, 1, 1, 3},
      {"empty lists are no length", {{}, {3, 4}, {}}, 3, 3.5, 4, 2, 2, 2},
      {"negative", {{-1, -2}, {-3}}, -3, -2, -1, 1, 2, 3},
      {"the ends of the range",
       {{kLeast, kMost}},
       static_cast<double>(kLeast),
       -0.5,
       static_cast<double>(kMost),
       2,
       2,
       2},
      {"sums beyond 64 bits",
       {{kMost, kMost}, {kMost}},
       static_cast<double>(kMost),
       static_cast<double>(kMost),
       static_cast<double>(kMost),
       1,
       2,
       1},
  };
  for (const auto& each : kCases) {
    std::vector<std::string> records;
    for (const auto& list : each.lists) records.push_back(ExampleRecord().ints("x", list).bytes());
    const FeatureStats stats = feature(report_of(records), "x");
    EXPECT_EQ(stats.kind, ValueKind::ints) << each.name;
    EXPECT_EQ(stats.records, each.lists.size()) << each.name;
    EXPECT_EQ(stats.least, each.least) << each.name;
    EXPECT_EQ(stats.mean, each.mean) << each.name;
    EXPECT_EQ(stats.most, each.most) << each.name;
    EXPECT_EQ(stats.least_values, each.least_values) << each.name;
    EXPECT_EQ(stats.most_values, each.most_values) << each.name;
    EXPECT_EQ(stats.distinct, each.distinct) << each.name;
    EXPECT_EQ(stats.distinct_error, 0) << each.name;
  }
}

TEST(FeatureCollectorTest, FloatsThatAreNotFiniteAreCountedInstead) {
  const FeaturesReport report = report_of({ExampleRecord().floats("x", {1, kNan, -kInfinity}).bytes(),
                                           ExampleRecord().floats("x", {-0.5F, -kNan}).floats("y", {kNan}).bytes(),
                                           ExampleRecord().floats("z", {0.0F, -0.0F}).bytes()});
  const FeatureStats x = feature(report, "x");
  EXPECT_EQ(x.nans, 2u);
  EXPECT_EQ(x.infinities, 1u);
  EXPECT_EQ(x.least, -0.5);
  EXPECT_EQ(x.mean, 0.25);
  EXPECT_EQ(x.most, 1);
  EXPECT_EQ(x.distinct, 4u) << "1, -0.5, -inf, and all NaNs as one";
  EXPECT_TRUE(feature(report, "y").histogram.counts.empty());
  EXPECT_EQ(feature(report, "z").distinct, 1u) << "both zeros are one";
  EXPECT_FALSE(std::signbit(feature(report, "z").least));
}

TEST(FeatureCollectorTest, SumsOfNumbersOfManyRecordsAreExact) {
  // Doubles would lose the ones beside the large numbers. Most of these lists are not in the sample.
  for (const float large : {0x1p20F, 0x1p30F, 0x1p60F}) {
    std::vector<std::string> records;
    for (int i = 0; i < 4096; ++i) {
      const float value = i % 128 == 0 ? large : i % 128 == 127 ? -large : i % 128 == 64 ? 0.0F : 0x1.000002p0F;
      records.push_back(ExampleRecord().floats("x", {value}).ints("n", {i % 2 == 0 ? kLeast : kMost}).bytes());
    }
    const FeaturesReport report = report_of(records);
    EXPECT_EQ(feature(report, "x").mean, 125.0 / 128 * static_cast<double>(0x1.000002p0F)) << large;
    EXPECT_EQ(feature(report, "n").mean, -0.5);
    EXPECT_EQ(feature(report, "n").records, 4096u);
  }
}

TEST(FeatureCollectorTest, NamesTheMostFrequentValues) {
  std::vector<std::string> records;
  for (int i = 0; i < 100; ++i) {
    records.push_back(ExampleRecord()
                          .ints("label", {i % 10 == 0 ? -5 : i % 4})
                          .texts("text", {i % 3 == 0 ? "often" : "text " + std::to_string(i)})
                          .texts("long", {std::string(49, 'x')})
                          .floats("half", {0.1F})
                          .bytes());
  }
  const FeaturesReport report = report_of(records);
  const FeatureStats label = feature(report, "label");
  ASSERT_EQ(label.top.size(), 5u);
  EXPECT_EQ(label.top[0].value, "1");
  EXPECT_EQ(label.top[0].count, 25u);
  EXPECT_EQ(label.top[4].value, "-5");
  EXPECT_EQ(label.top[4].count, 10u);
  EXPECT_FALSE(label.top_estimated);
  const FeatureStats text = feature(report, "text");
  ASSERT_EQ(text.top.size(), 1u) << "the others occur only once";
  EXPECT_EQ(text.top[0].value, "often");
  EXPECT_EQ(text.top[0].count, 34u);
  EXPECT_TRUE(feature(report, "long").top.empty()) << "too long to be shown";
  EXPECT_EQ(feature(report, "half").top[0].value, "0.1");
}

TEST(FeatureCollectorTest, DrawsHistogramsOfEqualWidths) {
  std::vector<std::string> records;
  for (int i = 0; i < 320; ++i) {
    records.push_back(ExampleRecord().ints("x", {i}).ints("digit", {i % 10}).floats("same", {2.5F}).bytes());
  }
  const FeaturesReport report = report_of(records);
  const FeatureStats x = feature(report, "x");
  EXPECT_EQ(x.histogram.counts, std::vector<std::uint64_t>(16, 20));
  EXPECT_EQ(x.histogram.from, 0);
  EXPECT_EQ(x.histogram.begin(1), 20);
  EXPECT_EQ(x.histogram.to, 320);
  EXPECT_FALSE(x.histogram.estimated);
  const FeatureStats digit = feature(report, "digit");
  EXPECT_EQ(digit.histogram.counts, std::vector<std::uint64_t>(10, 32)) << "one for each whole number";
  EXPECT_EQ(feature(report, "same").histogram.counts, std::vector<std::uint64_t>{320});
}

TEST(FeatureCollectorTest, EstimatesManyDistinctValuesAndWhatIsFrequentAmongThem) {
  std::mt19937_64 draws(kRecordSeed);
  FeatureCollector collector;
  std::set<std::int64_t> ints;
  std::set<std::string> texts;
  constexpr int kRecords = 60'000;
  std::uint64_t unknown = 0;
  for (int i = 0; i < kRecords; ++i) {
    std::vector<std::int64_t> list(draws() % 8);
    for (std::int64_t& value : list) {
      value = draws() % 4 == 0 ? -1 : static_cast<std::int64_t>(draws() >> 20);
      ints.insert(value);
      unknown += value == -1 ? 1 : 0;
    }
    const std::string text = "user " + std::to_string(draws() % 1'000'000);
    texts.insert(text);
    collector.add(static_cast<std::uint64_t>(i), as_bytes(ExampleRecord().ints("x", list).texts("t", {text}).bytes()));
  }
  const FeaturesReport report = collector.report();
  const FeatureStats x = feature(report, "x");
  EXPECT_NEAR(static_cast<double>(x.distinct), static_cast<double>(ints.size()),
              0.02 * static_cast<double>(ints.size()));
  EXPECT_NEAR(x.distinct_error, 0.008, 0.001);
  ASSERT_EQ(x.top.size(), 1u) << "seed " << kRecordSeed;
  EXPECT_TRUE(x.top_estimated);
  EXPECT_EQ(x.top[0].value, "-1");
  EXPECT_NEAR(static_cast<double>(x.top[0].count) / static_cast<double>(unknown), 1, 0.3);
  EXPECT_TRUE(x.histogram.estimated);
  const FeatureStats t = feature(report, "t");
  EXPECT_NEAR(static_cast<double>(t.distinct), static_cast<double>(texts.size()),
              0.02 * static_cast<double>(texts.size()));
  EXPECT_TRUE(t.top.empty());
}

TEST(FeatureCollectorTest, EstimatesNoMoreDistinctValuesThanThereAre) {
  FeatureCollector collector;
  std::uint64_t records = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {  // about half of the estimates are too large
    for (; records < 2'000 + 100 * i; ++records) {
      collector.add(records, as_bytes(ExampleRecord().texts("key", {"record " + std::to_string(records)}).bytes()));
    }
    EXPECT_LE(feature(collector.report(), "key").distinct, records);
  }
}

/// What a feature is, counted with sets and without any sketch.
struct Naive {
  std::uint64_t records = 0, values = 0, least_values = ~std::uint64_t{0}, most_values = 0, not_finite = 0;
  double least = HUGE_VAL, most = -HUGE_VAL, sum = 0;
  std::set<std::string> distinct;

  void add_list(std::uint64_t count) {
    ++records;
    values += count;
    if (count == 0) return;
    least_values = std::min(least_values, count);
    most_values = std::max(most_values, count);
  }
  void add_value(double number, const std::string& text) {
    distinct.insert(text);
    if (!std::isfinite(number)) {
      ++not_finite;
      return;
    }
    least = std::min(least, number);
    most = std::max(most, number);
    sum += number;
  }
};

std::map<std::string, Naive> naive_report(const std::vector<std::string>& records) {
  std::map<std::string, Naive> found;
  format::ExampleFeatures features;
  for (const std::string& record : records) {
    if (!features.parse(as_bytes(record))) continue;
    for (const format::FeatureView& view : features.all()) {
      if (view.kind == format::FeatureKind::none) continue;
      Naive& naive = found[std::string(view.name) + ' ' + std::string(to_text(static_cast<ValueKind>(view.kind)))];
      naive.add_list(view.count);
      format::FeatureValues values(view);
      ByteView text;
      float real = 0;
      std::int64_t whole = 0;
      for (std::uint64_t i = 0; i < view.count; ++i) {
        if (view.kind == format::FeatureKind::bytes && values.next(text)) {
          naive.add_value(static_cast<double>(text.size()), std::string(as_chars(text)));
        } else if (view.kind == format::FeatureKind::floats && values.next(real)) {
          naive.add_value(static_cast<double>(real), std::isnan(real) ? "nan" : std::to_string(real + 0.0F));
        } else if (view.kind == format::FeatureKind::ints && values.next(whole)) {
          naive.add_value(static_cast<double>(whole), std::to_string(whole));
        }
      }
    }
  }
  return found;
}

TEST(FeatureCollectorTest, AgreesWithCountingWithoutSketches) {
  const std::vector<std::string> records = random_records(kRecordSeed + 9, kSanitized ? 5000 : 20'000);
  const FeaturesReport report = report_of(records);
  const std::map<std::string, Naive> expected = naive_report(records);
  EXPECT_EQ(report.features.size(), expected.size());
  for (const FeatureStats& stats : report.features) {
    const std::string name = stats.name + ' ' + std::string(to_text(stats.kind));
    ASSERT_TRUE(expected.contains(name)) << name;
    const Naive& naive = expected.at(name);
    EXPECT_EQ(stats.records, naive.records) << name;
    EXPECT_EQ(stats.values, naive.values) << name;
    EXPECT_EQ(stats.least_values, naive.least_values) << name;
    EXPECT_EQ(stats.most_values, naive.most_values) << name;
    EXPECT_EQ(stats.nans + stats.infinities, naive.not_finite) << name;
    EXPECT_EQ(stats.least, naive.least) << name;
    EXPECT_EQ(stats.most, naive.most) << name;
    EXPECT_NEAR(stats.mean, naive.sum / static_cast<double>(naive.values - naive.not_finite),
                1e-9 * std::max(1.0, std::abs(stats.most)))
        << name;
    const auto distinct = static_cast<double>(naive.distinct.size());
    EXPECT_NEAR(static_cast<double>(stats.distinct), distinct, stats.distinct_error > 0 ? 0.025 * distinct : 0)
        << name << ", seed " << kRecordSeed + 9;
    std::uint64_t in_bars = 0;
    for (const std::uint64_t count : stats.histogram.counts) in_bars += count;
    EXPECT_NEAR(static_cast<double>(in_bars), static_cast<double>(naive.values - naive.not_finite),
                stats.histogram.estimated ? 0.02 * static_cast<double>(naive.values) : 0)
        << name;
  }
}

TEST(FeatureCollectorTest, AHugeListIsReadToItsEnd) {
  std::vector<std::int64_t> ints(3'000'000);
  std::vector<float> floats(1'000'003);
  for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = static_cast<std::int64_t>(i * 1000);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i % 777);
  const FeaturesReport report = report_of({ExampleRecord().ints("i", ints).floats("f", floats).bytes()});
  const FeatureStats i = feature(report, "i");
  EXPECT_EQ(i.values, ints.size());
  EXPECT_EQ(i.most_int, 2'999'999'000);
  EXPECT_EQ(i.mean, 1'499'999'500.0);
  EXPECT_NEAR(static_cast<double>(i.distinct), 3e6, 6e4);
  EXPECT_NEAR(static_cast<double>(feature(report, "f").distinct), 777, 0.02 * 777);
  EXPECT_EQ(to_text(report.schema), "f:f32[1000003], i:i64[3000000]");
}

TEST(FeatureCollectorTest, LongTextsThatDifferInAFewBytesAreDistinct) {
  constexpr std::uint64_t kTexts = 20'000;
  FeatureCollector collector;
  for (std::uint64_t i = 0; i < kTexts; ++i) {
    std::string head(600, 'x');
    std::string tail = head;
    head[3] = tail[599] = static_cast<char>(i);
    head[5] = tail[598] = static_cast<char>(i >> 8);
    const std::string same_twice(600 + i / 2 % 2, 'y');
    collector.add(i, as_bytes(ExampleRecord().texts("h", {head}).texts("t", {tail}).texts("s", {same_twice}).bytes()));
  }
  const FeaturesReport report = collector.report();
  EXPECT_NEAR(static_cast<double>(feature(report, "h").distinct), kTexts, 0.02 * kTexts);
  EXPECT_NEAR(static_cast<double>(feature(report, "t").distinct), kTexts, 0.02 * kTexts);
  EXPECT_EQ(feature(report, "s").distinct, 2u);
}

TEST(FeatureCollectorTest, ReadsEveryFormOfTheWire) {
  using namespace std::string_literals;
  const std::string unpacked = "\x0A\x0B\x0A\x01u\x12\x06\x1A\x04\x08\x05\x08\x06"s;
  EXPECT_EQ(feature(report_of({"\x0A\x0D"s + unpacked}), "u").mean, 5.5);
  const std::string twice = ExampleRecord().ints("x", {1}).texts("x", {"a"}).ints("x", {9, 10}).bytes();
  const FeatureStats x = feature(report_of({twice, twice}), "x");
  EXPECT_EQ(x.records, 2u) << "of entries with one name the last one counts";
  EXPECT_EQ(x.least, 9);
  EXPECT_EQ(x.values, 4u);
}

TEST(FeatureCollectorTest, RecordsThatAreNoExamplesAreCounted) {
  const std::string good = ExampleRecord().ints("x", {1}).bytes();
  const std::string bad_name = ExampleRecord().ints("\xFF", {1}).bytes();
  const std::string cut = good.substr(0, good.size() - 1);
  const FeaturesReport report = report_of({good, "plain text", "", bad_name, cut, good});
  EXPECT_EQ(report.records, 6u);
  EXPECT_EQ(report.examples, 2u);
  ASSERT_TRUE(report.first_other.has_value());
  EXPECT_THAT(report.first_other->to_string(), HasSubstr("record 1: tf.train.Example: "));
  EXPECT_EQ(feature(report, "x").records, 2u) << "nothing of the record that is cut off";
  EXPECT_THAT(report_of({bad_name}).first_other->to_string(), HasSubstr("not UTF-8"));
  EXPECT_THAT(report_of({""}).first_other->to_string(), HasSubstr("no feature in the record"));
  EXPECT_EQ(all_of(FeatureCollector().report()), all_of(FeaturesReport()));
}

TEST(FeatureCollectorTest, MembersOfJsonObjectsAreFeatures) {
  const FeaturesReport report = report_of({
      R"({"id": 1, "score": 0.5, "name": "a", "ok": true, "tags": ["x", "y"], "at": {"x": 1, "y": -2.5}})",
      R"( {"id": 2, "score": 1.5, "name": "b", "ok": false, "tags": [], "none": null, "odd": [1, "x"]})",
      R"({"id": 3, "wide": [1, 2.5], "id": 4, "big": 18446744073709551615, "bigs": [1, 9223372036854775808], "objects": [{"a": 1}]})",
      R"([1, 2])",
      R"({"id": 5)",
      R"({})",
      R"({"none": null, "tags": []})",
  });
  EXPECT_EQ(report.records, 7u);
  EXPECT_EQ(report.examples, 0u);
  EXPECT_EQ(report.json_objects, 5u) << "also those without members";
  EXPECT_THAT(report.first_other->to_string(), HasSubstr("record 3: "));
  std::vector<std::string> names;
  for (const FeatureStats& stats : report.features) {
    names.push_back(stats.name + ' ' + std::string(to_text(stats.kind)));
  }
  EXPECT_THAT(names, ElementsAre("at.x int64", "at.y float", "big bytes", "bigs bytes", "id int64", "name bytes",
                                 "objects bytes", "odd bytes", "ok int64", "score float", "tags bytes", "wide float"));
  EXPECT_EQ(feature(report, "id").most, 4) << "the last one counts";
  EXPECT_EQ(feature(report, "score").mean, 1);
  EXPECT_EQ(feature(report, "wide").values, 2u);
  EXPECT_EQ(feature(report, "big").least, 20) << "its digits: a double would round it";
  EXPECT_EQ(feature(report, "bigs").least, 23) << "[1,9223372036854775808]";
  EXPECT_EQ(feature(report, "objects").least, 9) << R"([{"a":1}])";
  EXPECT_TRUE(report.schema.columns.empty()) << "readers make no columns of JSON";
}

TEST(FeatureCollectorTest, AnObjectWithTwoMembersOfOneNameIsAnotherRecord) {
  const FeaturesReport report = report_of({R"({"x": 1, "a": {"b": 1}, "a.b": 2})", R"({"a": {"b": 1}, "a.b": null})"});
  EXPECT_EQ(report.json_objects, 1u);
  EXPECT_EQ(feature(report, "a.b").records, 1u) << "nothing of the other one";
  EXPECT_EQ(report.features.size(), 1u);
  EXPECT_THAT(report.first_other->to_string(), HasSubstr("record 0: two members are named \"a.b\""));
}

TEST(FeatureCollectorTest, KnowsTheFirstRecordWithValuesOfEachKind) {
  FeatureCollector earlier;
  FeatureCollector later;
  earlier.add(1, as_bytes(ExampleRecord().ints("x", {}).bytes()));
  later.add(8, as_bytes(ExampleRecord().texts("x", {}).bytes()));
  later.add(9, as_bytes(ExampleRecord().texts("x", {"a"}).bytes()));
  later.add(7, as_bytes(ExampleRecord().ints("x", {1}).bytes()));
  earlier.add(3, as_bytes(ExampleRecord().ints("x", {1}).bytes()));
  earlier.merge(later);
  const FeaturesReport report = earlier.report();
  ASSERT_EQ(report.features.size(), 2u);
  EXPECT_EQ(report.features[0].first_record, 9u);
  EXPECT_EQ(report.features[1].first_record, 3u);
}

TEST(FeatureCollectorTest, NumbersOfJsonAreDoubles) {
  const FeaturesReport report = report_of({R"({"time": 1700000000.125, "far": 1e300, "tiny": 0.1})",
                                           R"({"time": 1700000000.25, "far": -1e300, "tiny": 0.1})",
                                           R"({"time": 1700000000.125, "far": 1.5, "tiny": 0.5})"});
  const FeatureStats time = feature(report, "time");
  EXPECT_EQ(time.distinct, 2u);
  EXPECT_EQ(time.least, 1700000000.125);
  EXPECT_EQ(time.most, 1700000000.25);
  EXPECT_NEAR(time.mean, 1700000000.5 / 3 + 1700000000.0 / 3 * 2, 1e-6);
  ASSERT_EQ(time.top.size(), 1u);
  EXPECT_EQ(time.top[0].value, "1700000000.125");
  EXPECT_EQ(feature(report, "tiny").top[0].value, "0.1");
  EXPECT_EQ(feature(report, "tiny").least, 0.1);
  EXPECT_EQ(feature(report, "far").infinities, 2u) << "beyond the range of a float";
  EXPECT_EQ(feature(report, "far").mean, 1.5);
}

TEST(FeatureCollectorTest, TheLargestFloatInJsonIsNotInfinite) {
  const FeaturesReport report = report_of({R"({"x": 3.4028234663852886e+38})", R"({"x": -3.4028235e38})"});
  EXPECT_EQ(feature(report, "x").infinities, 0u);
}

TEST(FeatureCollectorTest, NumbersOfJsonMayBeFarBelowTheLeastFloat) {
  const FeaturesReport report =
      report_of({R"({"p": 1e-60, "q": 0.0})", R"({"p": 1e-60, "q": 0.0})", R"({"p": 4e-60, "q": 1e-310})"});
  EXPECT_DOUBLE_EQ(feature(report, "p").mean, 2e-60);
  std::vector<std::uint64_t> bars(16);
  bars.front() = 2;
  bars.back() = 1;
  EXPECT_EQ(feature(report, "p").histogram.counts, bars);
  EXPECT_EQ(feature(report, "q").histogram.counts, bars);
}

TEST(FeatureCollectorTest, RecordsThatAreNearlyExamplesLeaveNothingBehind) {
  // A record that is no Example is looked at again as JSON: names that were found before the fault
  // count once.
  const std::string good = ExampleRecord().ints("x", {1}).ints("y", {2}).bytes();
  const FeaturesReport report = report_of({good, good + "\xFF", R"({"x": 5})", good, good + "\xFF"});
  EXPECT_EQ(report.examples, 2u);
  EXPECT_EQ(report.json_objects, 1u);
  EXPECT_EQ(feature(report, "x").records, 3u);
  EXPECT_EQ(feature(report, "y").records, 2u);
}

TEST(FeatureCollectorTest, TakesHostileRecordsAsTheParserDoes) {
  Draws draws(kRecordSeed);
  FeatureCollector collector;
  std::uint64_t examples = 0;
  constexpr std::uint64_t kRounds = kSanitized ? 4000 : 20'000;
  for (std::uint64_t id = 0; id < kRounds; ++id) {
    std::string record = random_example(draws);
    if (id % 2 == 1) record = mutated(std::move(record), draws);
    format::ExampleFeatures features;
    if (features.parse(as_bytes(record)) && !features.all().empty()) ++examples;
    collector.add(id, as_bytes(record));
    if (id % 500 > 0) continue;
    ASSERT_EQ(collector.report().examples, examples) << "seed " << kRecordSeed << ", record " << id;
  }
  EXPECT_GT(examples, kRounds / 4);
}

TEST(FeatureCollectorTest, NamesThatNoColumnCanHaveAreLeftOut) {
  const FeaturesReport report =
      report_of({ExampleRecord().ints(std::string(1025, 'n'), {1}).ints(std::string(1024, 'n'), {1}).bytes()});
  EXPECT_EQ(report.names_left_out, 1u);
  EXPECT_EQ(report.features.size(), 1u);
}

TEST(FeatureCollectorTest, TheReportDoesNotDependOnOrderNorOnWhoCollected) {
  for (std::uint64_t seed = kRecordSeed; seed < kRecordSeed + 4; ++seed) {
    const std::vector<std::string> records = random_records(seed, kSanitized ? 1500 : 6000);
    const std::string expected = all_of(report_of(records));
    std::mt19937_64 draws(seed);
    std::vector<std::size_t> order(records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (const std::size_t parts : {1U, 2U, 5U}) {
      std::shuffle(order.begin(), order.end(), draws);
      std::vector<FeatureCollector> collectors(parts);
      for (const std::size_t i : order) collectors[draws() % parts].add(i, as_bytes(records[i]));
      for (std::size_t part = 1; part < parts; ++part) collectors[0].merge(collectors[part]);
      ASSERT_EQ(all_of(collectors[0].report()), expected) << "seed " << seed << ", " << parts << " parts";
    }
  }
}

}  // namespace
}  // namespace dovetail::test
