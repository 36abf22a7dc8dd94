// SPDX-License-Identifier: Apache-2.0
#include "tests/reader/features/feature_records.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

namespace dovetail::test {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7F));
  return bytes + static_cast<char>(value);
}

std::string field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

}  // namespace

ExampleRecord ExampleRecord::with(std::string_view name, const std::string& feature) const {
  ExampleRecord record = *this;
  record.entries_ += field(1, field(1, name) + field(2, feature));
  return record;
}

ExampleRecord ExampleRecord::ints(std::string_view name, const std::vector<std::int64_t>& values) const {
  std::string packed;
  for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return with(name, field(3, values.empty() ? "" : field(1, packed)));
}

ExampleRecord ExampleRecord::floats(std::string_view name, const std::vector<float>& values) const {
  std::string packed;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) packed += static_cast<char>(bits >> shift);
  }
  return with(name, field(2, values.empty() ? "" : field(1, packed)));
}

ExampleRecord ExampleRecord::texts(std::string_view name, const std::vector<std::string>& values) const {
  std::string list;
  for (const std::string& value : values) list += field(1, value);
  return with(name, field(1, list));
}

ExampleRecord ExampleRecord::none(std::string_view name) const {
  return with(name, "");
}

std::string ExampleRecord::bytes() const {
  return field(1, entries_);
}

std::string all_of(const FeaturesReport& report) {
  std::ostringstream text;
  text << std::hexfloat << "records " << report.records << ", examples " << report.examples << ", objects "
       << report.json_objects << ", damaged " << report.damaged_blocks << ", lost " << report.lost_records
       << ", left out " << report.names_left_out << '\n';
  if (report.first_other) text << "other: " << report.first_other->to_string() << '\n';
  if (report.first_damage) text << "damage: " << report.first_damage->to_string() << '\n';
  for (const FeatureStats& stats : report.features) {
    text << stats.name << ' ' << to_text(stats.kind) << ": " << stats.records << ' ' << stats.first_record << ' '
         << stats.empty_lists << ", lists " << stats.least_values << ' ' << stats.most_values << ' ' << stats.values
         << ", numbers " << stats.least << ' ' << stats.mean << ' ' << stats.most << ' ' << stats.least_int << ' '
         << stats.most_int << ' ' << stats.nans << ' ' << stats.infinities << ", distinct " << stats.distinct << ' '
         << stats.distinct_error << ", top" << (stats.top_estimated ? " about" : "");
    for (const TopValue& value : stats.top) text << ' ' << value.value << ": " << value.count;
    text << ", bars" << (stats.histogram.estimated ? " about" : "");
    text << ' ' << stats.histogram.from << '-' << stats.histogram.to << ':';
    for (const std::uint64_t count : stats.histogram.counts) text << ' ' << count;
    text << '\n';
  }
  text << (report.schema.columns.empty() ? "" : to_text(report.schema)) << "\nwithout:";
  for (const std::string& name : report.without_column) text << ' ' << name;
  return text.str();
}

FeaturesReport report_of(const std::vector<std::string>& records) {
  FeatureCollector collector;
  for (std::size_t i = 0; i < records.size(); ++i) collector.add(i, as_bytes(records[i]));
  return collector.report();
}

FeatureStats feature(const FeaturesReport& report, std::string_view name) {
  FeatureStats found;
  int times = 0;
  for (const FeatureStats& stats : report.features) {
    if (stats.name != name) continue;
    found = stats;
    ++times;
  }
  EXPECT_EQ(times, 1) << name;
  return found;
}

std::vector<std::string> random_records(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 draws(seed);
  const auto below = [&](std::uint64_t end) { return draws() % end; };
  std::vector<std::string> records;
  for (std::size_t i = 0; i < count; ++i) {
    if (below(50) == 0) {
      records.emplace_back(below(2) == 0 ? "no Example" : "");
      continue;
    }
    ExampleRecord record;
    record =
        record.ints("label", {static_cast<std::int64_t>(below(10))}).ints("id", {static_cast<std::int64_t>(draws())});
    std::vector<std::int64_t> tokens(below(100) == 0 ? 3000 : below(60));
    for (std::int64_t& token : tokens) token = static_cast<std::int64_t>(below(1 + below(20'000)));
    record = record.ints("tokens", tokens);
    std::vector<float> weights(below(4));
    for (float& weight : weights) weight = static_cast<float>(static_cast<double>(draws()) * 1e-18 - 9);
    if (!weights.empty() && below(20) == 0) weights[0] = std::numeric_limits<float>::quiet_NaN();
    if (!weights.empty() && below(20) == 0) weights[0] = -std::numeric_limits<float>::infinity();
    if (below(3) > 0) record = record.floats("weights", weights);
    record = record.texts("class", {"class " + std::to_string(below(5))});
    if (below(2) == 0) record = record.texts("name", {"name " + std::to_string(below(100'000))});
    record = record.texts("image", {std::string(below(500), static_cast<char>(below(256)))});
    record = below(2) == 0 ? record.ints("mixed", {1}) : record.floats("mixed", {1.5F});
    record = below(2) == 0 ? record.ints("partly", {1}) : record.none("partly");
    if (below(10) == 0) record = record.ints("label", {77});  // the last one counts
    records.push_back(record.bytes());
  }
  return records;
}

}  // namespace dovetail::test
