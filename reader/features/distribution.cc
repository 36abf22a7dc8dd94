// SPDX-License-Identifier: Apache-2.0
// Top values and histograms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "format/text/number_text.h"
#include "reader/features/feature_state.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kTopValues = 10;
constexpr std::size_t kBars = 16;
// Values that are rarer in the sample may be there by chance.
constexpr std::uint64_t kLeastSeen = 4;

/// A value, and the number of values that it stands for.
struct Weighed {
  std::uint64_t key = 0;
  double weight = 0;
  std::uint64_t seen = 0;
};

std::string text_of(const ValueSketch& sketch, ValueKind kind, std::uint64_t key) {
  if (kind == ValueKind::ints) return std::to_string(static_cast<std::int64_t>(key));
  if (kind == ValueKind::bytes) return std::string(*sketch.text(key));
  // Floats need fewer digits than the doubles of JSON.
  const auto value = std::bit_cast<double>(key);
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value || std::isnan(value) ? format::shortest(narrow) : format::shortest(value);
}

std::vector<Weighed> weighed_sample(const std::vector<ValueSketch::Sampled>& sample) {
  std::map<std::uint64_t, Weighed> by_key;
  for (const ValueSketch::Sampled& each : sample) {
    Weighed& weighed = by_key.try_emplace(each.key, Weighed{each.key}).first->second;
    weighed.weight += static_cast<double>(each.weight);
    ++weighed.seen;
  }
  std::vector<Weighed> all;
  all.reserve(by_key.size());
  for (const auto& [key, weighed] : by_key) all.push_back(weighed);
  return all;
}

void add_top(const ValueSketch& sketch, const std::vector<Weighed>& values, double scale, std::uint64_t least_seen,
             FeatureStats& stats) {
  for (const Weighed& value : values) {
    if (value.seen < least_seen || (stats.kind == ValueKind::bytes && !sketch.text(value.key))) continue;
    stats.top.push_back(
        {text_of(sketch, stats.kind, value.key), static_cast<std::uint64_t>(std::llround(value.weight * scale))});
  }
  std::sort(stats.top.begin(), stats.top.end(), [](const TopValue& a, const TopValue& b) {
    return a.count != b.count ? a.count > b.count : a.value < b.value;
  });
  if (stats.top.size() > kTopValues) stats.top.resize(kTopValues);
}

/// Bars of equal width over all values. For whole numbers no bar is narrower than one.
class Bars {
 public:
  explicit Bars(const FeatureStats& stats) {
    histogram_.from = stats.least;
    histogram_.to = stats.kind == ValueKind::floats ? stats.most : stats.most + 1;
    range_ = histogram_.to - histogram_.from;
    std::size_t bars = range_ > 0 ? kBars : 1;
    if (stats.kind != ValueKind::floats) bars = static_cast<std::size_t>(std::min(range_, static_cast<double>(kBars)));
    weights_.resize(std::max<std::size_t>(bars, 1));
  }

  void add(double value, double weight) {
    if (!std::isfinite(value)) return;
    // The number of bars in a unit may be infinite: JSON has numbers of 1e-310.
    const double units = (value - histogram_.from) * static_cast<double>(weights_.size());
    const double place = range_ > 0 ? std::max(units / range_, 0.0) : 0;
    weights_[std::min(static_cast<std::size_t>(place), weights_.size() - 1)] += weight;
  }

  Histogram finish(double scale) {
    for (const double weight : weights_) {
      histogram_.counts.push_back(static_cast<std::uint64_t>(std::llround(weight * scale)));
    }
    return std::move(histogram_);
  }

 private:
  Histogram histogram_;
  double range_ = 0;
  std::vector<double> weights_;
};

double number_of(ValueKind kind, std::uint64_t key) {
  return kind == ValueKind::ints ? static_cast<double>(static_cast<std::int64_t>(key)) : std::bit_cast<double>(key);
}

}  // namespace

void add_distribution(const ValueSketch& sketch, FeatureStats& stats) {
  const std::vector<ValueSketch::Sampled> sample = sketch.sample();
  double whole = 0;
  for (const ValueSketch::Sampled& each : sample) whole += static_cast<double>(each.weight);
  const double scale = whole > 0 ? static_cast<double>(stats.values) / whole : 0;

  std::vector<Weighed> values;
  if (sketch.exact()) {
    for (const auto& counted : sketch.counts()) {
      values.push_back({counted.key, static_cast<double>(counted.count), counted.count});
    }
  } else {
    values = weighed_sample(sample);
  }
  stats.top_estimated = !sketch.exact();
  add_top(sketch, values, sketch.exact() ? 1 : scale, sketch.exact() ? 2 : kLeastSeen, stats);

  if (stats.values == stats.nans + stats.infinities) return;
  Bars bars(stats);
  // The key of a text does not tell its length; the sample does.
  const bool sampled = stats.kind == ValueKind::bytes || !sketch.exact();
  if (stats.kind == ValueKind::bytes) {
    for (const auto& each : sample) bars.add(each.bytes, static_cast<double>(each.weight));
  } else {
    for (const Weighed& value : values) bars.add(number_of(stats.kind, value.key), value.weight);
  }
  stats.histogram = bars.finish(sampled ? scale : 1);
  stats.histogram.estimated = sampled && sample.size() < stats.values;
}

}  // namespace dovetail::detail
