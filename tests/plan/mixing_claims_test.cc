// SPDX-License-Identifier: Apache-2.0
// What docs/mixing.md says of the order, measured over many epochs. The seeds are fixed.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

#include "tests/plan/random_source.h"
#include "tests/plan/shapes.h"

namespace dovetail::test {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::uint32_t kEpochs = 20;
constexpr std::uint64_t kClasses = 20;

const std::string& page() {
  static const std::string text = [] {
    std::ifstream file(DOVETAIL_MIXING_PAGE);
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }();
  return text;
}

/// Whether the page has this line.
bool is_on_page(const std::string& line) {
  return page().find('\n' + line + '\n') != std::string::npos;
}

template <class... Values>
std::string format(const char* form, Values... values) {
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(), form, values...);
  return line.data();
}

/// For two digits: without the sign of what they show as zero.
double shown(double value) {
  return std::abs(value) < 0.005 ? 0 : value;
}

/// Shards of which each is sorted by class.
struct SortedShards {
  std::string name;
  std::vector<std::uint64_t> records;
  std::uint64_t run_records;

  std::shared_ptr<const DatasetShape> shape() const { return shape_of(records, run_records); }
  std::uint64_t size() const { return std::accumulate(records.begin(), records.end(), std::uint64_t{0}); }
  std::vector<std::uint64_t> classes() const {
    std::vector<std::uint64_t> classes;
    for (const std::uint64_t count : records) {
      for (std::uint64_t i = 0; i < count; ++i) classes.push_back(i * kClasses / count);
    }
    return classes;
  }
};

Ids order_of(const Plan& plan, std::uint32_t epoch, std::uint32_t lane = 0) {
  const LaneOrder order = plan.epoch(epoch)->lane(lane);
  return ids_of(order, 0, order.records());
}

/// The place of each record.
Ids places_of(const Ids& ids) {
  Ids places(ids.size());
  for (std::uint64_t place = 0; place < ids.size(); ++place) places[ids[place]] = place;
  return places;
}

double correlation(const Ids& places, const Ids& others) {
  const double mean = static_cast<double>(places.size() - 1) / 2;
  double product = 0;
  double square = 0;
  for (std::size_t id = 0; id < places.size(); ++id) {
    const double x = static_cast<double>(places[id]) - mean;
    product += x * (static_cast<double>(others[id]) - mean);
    square += x * x;
  }
  return product / square;
}

/// Different classes in each full batch.
struct ClassCounts {
  double batches = 0;
  double sum = 0;
  std::uint64_t least = kClasses;

  void add(const Ids& ids, std::uint64_t batch, const std::vector<std::uint64_t>& classes) {
    for (std::uint64_t begin = 0; begin + batch <= ids.size(); begin += batch) {
      std::array<bool, kClasses> seen{};
      for (std::uint64_t row = begin; row < begin + batch; ++row) seen[classes[ids[row]]] = true;
      const auto count = static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
      ++batches;
      sum += static_cast<double>(count);
      least = std::min(least, count);
    }
  }
  double mean() const { return sum / batches; }
};

/// Pairs found in one batch, and how many chance gives.
struct Ratio {
  double found = 0;
  double expected = 0;
  double value() const { return found / expected; }
};

/// Of records that share a batch, those that share one in another epoch.
void add_shared(Ratio& ratio, const Ids& ids, const Ids& others, std::uint64_t batch) {
  const std::uint64_t batches = ids.size() / batch;
  std::vector<double> counts(batches);
  for (std::uint64_t begin = 0; begin < batches * batch; begin += batch) {
    std::fill(counts.begin(), counts.end(), 0);
    double rows = 0;
    for (std::uint64_t row = begin; row < begin + batch; ++row) {
      const std::uint64_t other = others[ids[row]] / batch;
      if (other == batches) continue;
      // As many pairs as were there before.
      ratio.found += counts[other]++;
      ++rows;
    }
    ratio.expected += rows * (rows - 1) / 2 * static_cast<double>(batch - 1) / static_cast<double>(batches * batch - 1);
  }
}

/// Of records whose next one is in their shard, those with it in their batch.
void add_neighbours(Ratio& ratio, const Ids& places, const std::vector<std::uint64_t>& records, std::uint64_t batch) {
  std::uint64_t id = 0;
  for (const std::uint64_t count : records) {
    for (std::uint64_t i = 0; i + 1 < count; ++i) {
      if (places[id + i] / batch == places[id + i + 1] / batch) ++ratio.found;
    }
    ratio.expected +=
        static_cast<double>(count - 1) * static_cast<double>(batch - 1) / static_cast<double>(places.size() - 1);
    id += count;
  }
}

std::vector<std::uint64_t> geometric_shards() {
  std::vector<std::uint64_t> records;
  for (int i = 0; i < 20; ++i)
    records.push_back(static_cast<std::uint64_t>(std::llround(100 * std::pow(100, i / 19.0))));
  return records;
}

std::vector<SortedShards> cases() {
  std::vector<std::uint64_t> uneven;
  for (std::uint64_t i = 0; i < 20; ++i) uneven.push_back(22792 * (i + 1) / 20 - 22792 * i / 20);
  std::vector<SortedShards> cases{{"20 of 1,139 or 1,140, runs of 692", uneven, 692},
                                  {"20 of 1,000, one run each", std::vector<std::uint64_t>(20, 1000), 1000},
                                  {"20 of 1,000, runs of 100", std::vector<std::uint64_t>(20, 1000), 100}};
  for (const std::uint64_t records : {800u, 865u, 1139u}) {
    for (const std::uint64_t run_records : {692u, 1000u}) {
      cases.push_back({"20 of " + (records < 1000 ? std::to_string(records) : "1,139") + ", runs of " +
                           (run_records == 692 ? "692" : "1,000"),
                       std::vector<std::uint64_t>(20, records), run_records});
    }
  }
  cases.push_back({"20 of 100 to 10,000, runs of 692", geometric_shards(), 692});
  cases.push_back({"20 of 100 to 10,000, runs of 1,000", geometric_shards(), 1000});
  return cases;
}

/// What epochs have in common with the ones before them, and the classes in their batches.
struct EpochFigures {
  double together = 0;  ///< The mean correlation,
  double most = 0;      ///< and the largest.
  Ratio shared;
  Ratio neighbours;
  ClassCounts large;
  ClassCounts small;

  explicit EpochFigures(const SortedShards& what) {
    const Plan plan = Plan::make(what.shape(), {.batch = 256}).value();
    const std::vector<std::uint64_t> classes = what.classes();
    Ids before = places_of(order_of(plan, 0));
    for (std::uint32_t epoch = 1; epoch <= kEpochs; ++epoch) {
      const Ids ids = order_of(plan, epoch);
      Ids places = places_of(ids);
      const double found = correlation(places, before);
      together += found / kEpochs;
      most = std::max(most, std::abs(found));
      add_shared(shared, ids, before, 256);
      add_neighbours(neighbours, places, what.records, 256);
      large.add(ids, 256, classes);
      small.add(ids, 64, classes);
      before = std::move(places);
    }
  }
  std::string cells() const {
    return format(" %.2f | %.2f | %.2f | %.1f | %.1f, %u | %.1f, %u |", shown(together), most, shared.value(),
                  neighbours.value(), large.mean(), static_cast<unsigned>(large.least), small.mean(),
                  static_cast<unsigned>(small.least));
  }
};

TEST(MixingClaimsTest, NeighbouringEpochsHaveLittleInCommonAndBatchesHaveMostClasses) {
  for (const SortedShards& what : cases()) {
    const EpochFigures found(what);
    const std::string line = "| " + what.name + " |" + found.cells();
    EXPECT_TRUE(is_on_page(line)) << line;
    EXPECT_LE(std::abs(found.together), 0.15) << line;
    EXPECT_LE(found.most, 0.4) << line;
    EXPECT_LE(found.shared.value(), 1.4) << line;
    EXPECT_LE(found.neighbours.value(), 5) << line;
    EXPECT_GE(found.large.mean(), 19) << line;
    EXPECT_GE(found.large.least, 16u) << line;
    EXPECT_GE(found.small.mean(), 18.5) << line;
    EXPECT_GE(found.small.least, 13u) << line;
  }
}

// Of the table of run lengths: its last columns. The others are measured by bench/run_lengths.py.
TEST(MixingClaimsTest, RunsOfEveryLengthMix) {
  for (const std::uint64_t run_records : {8u, 16u, 32u, 64u, 128u, 512u}) {
    const EpochFigures found({"", std::vector<std::uint64_t>(20, 1140), run_records});
    const std::string begin = format("\n| %u | %g |", static_cast<unsigned>(2 * run_records),
                                     static_cast<double>(2 * run_records * 96) / 1024);
    const std::size_t at = page().find(begin);
    const std::string line = at == page().npos ? "" : page().substr(at, page().find('\n', at + 1) - at);
    EXPECT_TRUE(line.ends_with(found.cells())) << begin << " ... |" << found.cells();
    EXPECT_LE(found.most, 0.15) << line;
    EXPECT_LE(found.shared.value(), 1.2) << line;
    EXPECT_LE(found.neighbours.value(), run_records < 32 ? 20 : 6) << line;
    EXPECT_GE(found.small.mean(), 18.5) << line;
  }
}

/// A true shuffle of these ids.
void shuffle(Ids& ids, RandomSource& random) {
  for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random.below(i)]);
}

TEST(MixingClaimsTest, RunsDealtToEightRanksMixAlmostLikeATrueShuffleOfTheLane) {
  RandomSource random(7);
  for (const std::uint64_t runs_a_lane : {32u, 64u, 96u, 100u, 200u}) {
    const SortedShards what{"", std::vector<std::uint64_t>(16, 50 * runs_a_lane), 100};
    const Plan plan = Plan::make(what.shape(), {.world = 8, .batch = 64, .assign = Assign::runs}).value();
    const std::vector<std::uint64_t> classes = what.classes();
    ClassCounts planned;
    ClassCounts shuffled;
    double together = 0;
    Ids before;
    for (std::uint32_t epoch = 0; epoch <= kEpochs; ++epoch) {
      Ids places(what.size());
      for (std::uint32_t lane = 0; lane < 8; ++lane) {
        Ids ids = order_of(plan, epoch, lane);
        for (std::uint64_t place = 0; place < ids.size(); ++place) places[ids[place]] = place;
        planned.add(ids, 64, classes);
        shuffle(ids, random);
        shuffled.add(ids, 64, classes);
      }
      // `correlation` takes places of one long line: with eight lanes, each place counts eight
      // times.
      for (std::uint64_t& place : places) place *= 8;
      if (epoch > 0) together += correlation(places, before) / kEpochs;
      before = std::move(places);
    }
    const std::string line =
        format("| %u | %.2f | %.1f | %.1f | %.1f %% |", static_cast<unsigned>(runs_a_lane), shown(together),
               planned.mean(), shuffled.mean(), 100 * planned.mean() / shuffled.mean());
    EXPECT_TRUE(is_on_page(line)) << line;
    EXPECT_GE(planned.mean(), 0.97 * shuffled.mean()) << line;
    EXPECT_LE(std::abs(together), 0.15) << line;
  }
}

/// Chi-squared of counts in equal bins, summed over rows of `bins` counts, per degree of freedom.
double chi_squared(const std::vector<std::uint64_t>& counts, const std::function<double(std::size_t)>& expected,
                   double freedom) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double difference = static_cast<double>(counts[i]) - expected(i);
    sum += difference * difference / expected(i);
  }
  return sum / freedom;
}

TEST(MixingClaimsTest, EveryRecordComesAtEveryPlaceAlike) {
  constexpr std::uint64_t kRecords = 200;
  constexpr std::uint64_t kBins = 20;
  constexpr std::uint32_t kManyEpochs = 500;
  for (const std::uint64_t run_records : {5u, 6u}) {
    for (const std::uint32_t open_runs : {8u, 96u}) {
      const SortedShards what{"", std::vector<std::uint64_t>(4, 50), run_records};
      const Plan plan = Plan::make(what.shape(), {.open_runs = open_runs, .pool = 16}).value();
      std::vector<std::uint64_t> counts(kRecords * kBins);
      for (std::uint32_t epoch = 0; epoch < kManyEpochs; ++epoch) {
        const Ids places = places_of(order_of(plan, epoch));
        for (std::uint64_t id = 0; id < kRecords; ++id) ++counts[id * kBins + places[id] * kBins / kRecords];
      }
      const double found = chi_squared(
          counts, [](std::size_t) { return double{kManyEpochs} / kBins; }, double{(kRecords - 1) * (kBins - 1)});
      const std::string line = format("| %u | %u | %.2f |", static_cast<unsigned>(run_records), open_runs, found);
      EXPECT_TRUE(is_on_page(line)) << line;
      EXPECT_LE(found, 1.2) << line;
    }
  }
}

constexpr std::size_t kDistances = 8;

/// The share of pairs of a true shuffle whose distance is in an eighth of the epoch.
double true_share(std::size_t bin) {
  const auto nearer = [](double distance) { return 1 - (1 - distance) * (1 - distance); };
  return nearer(static_cast<double>(bin + 1) / kDistances) - nearer(static_cast<double>(bin) / kDistances);
}

std::string share_line(const std::string& name, const std::function<double(std::size_t)>& share) {
  std::string line = "| " + name;
  for (std::size_t bin = 0; bin < kDistances; ++bin) line += format(" | %.1f", 100 * share(bin));
  return line + " |";
}

TEST(MixingClaimsTest, PairsOfDifferentRunsLieAsFarApartAsInATrueShuffle) {
  constexpr std::uint32_t kManyEpochs = 100;
  constexpr std::uint64_t kPairs = 400;
  const std::string shuffled = share_line("True shuffle", true_share);
  EXPECT_TRUE(is_on_page(shuffled)) << shuffled;
  for (const std::uint64_t run_records : {100u, 1000u}) {
    const SortedShards what{"", std::vector<std::uint64_t>(20, 1000), run_records};
    const Plan plan = Plan::make(what.shape(), {}).value();
    RandomSource random(5);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> random_pairs;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> run_pairs;
    while (random_pairs.size() < kPairs) {
      const std::uint64_t first = random.below(what.size());
      const std::uint64_t second = random.below(what.size());
      if (first / run_records != second / run_records) random_pairs.emplace_back(first, second);
      const std::uint64_t mate = first / run_records * run_records + random.below(run_records);
      if (mate != first) run_pairs.emplace_back(first, mate);
    }
    std::vector<std::uint64_t> random_counts(kPairs * kDistances);
    std::vector<std::uint64_t> run_counts(kDistances);
    for (std::uint32_t epoch = 0; epoch < kManyEpochs; ++epoch) {
      const Ids places = places_of(order_of(plan, epoch));
      const auto bin_of = [&](const std::pair<std::uint64_t, std::uint64_t>& pair) {
        const std::uint64_t x = places[pair.first];
        const std::uint64_t y = places[pair.second];
        return (std::max(x, y) - std::min(x, y)) * kDistances / places.size();
      };
      for (std::uint64_t i = 0; i < kPairs; ++i) ++random_counts[i * kDistances + bin_of(random_pairs[i])];
      for (const auto& pair : run_pairs) ++run_counts[bin_of(pair)];
    }
    const auto in_bin = [&](std::size_t bin) {
      double sum = 0;
      for (std::uint64_t i = 0; i < kPairs; ++i) sum += static_cast<double>(random_counts[i * kDistances + bin]);
      return sum / (kPairs * kManyEpochs);
    };
    const std::string name = run_records == 100 ? "runs of 100" : "runs of 1,000";
    const auto of_run = [&](std::size_t bin) {
      return static_cast<double>(run_counts[bin]) / static_cast<double>(run_pairs.size() * kManyEpochs);
    };
    for (const std::string& line :
         {share_line("Random pairs, " + name, in_bin), share_line("Pairs of one run, " + name, of_run)}) {
      EXPECT_TRUE(is_on_page(line)) << line;
    }
    const double found = chi_squared(
        random_counts, [](std::size_t i) { return kManyEpochs * true_share(i % kDistances); },
        double{kPairs * (kDistances - 1)});
    const std::string line = format("| %s | %.2f |", name.c_str(), found);
    EXPECT_TRUE(is_on_page(line)) << line;
    EXPECT_LE(found, 1.2) << line;
  }
}

/// Of the shards that batches of 256 hold, where each shard is one class: the mean of an epoch, and
/// the least.
TEST(MixingClaimsTest, OneClassPerShardIsInMostBatchesWhateverTheRunLength) {
  for (const std::uint32_t open_runs : {16u, 32u, 64u, 96u, 128u}) {
    double mean = kClasses;
    std::uint64_t least = kClasses;
    for (const std::uint64_t run_records :
         std::initializer_list<std::uint64_t>{1,   2,   3,   5,   7,   10,  16,  20,  32,  50,  64,   100, 128,
                                              200, 250, 256, 300, 333, 400, 500, 512, 700, 999, 1000, 5000}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const SortedShards what{"", std::vector<std::uint64_t>(kClasses, 1000), run_records};
        std::vector<std::uint64_t> classes(what.size());
        for (std::uint64_t id = 0; id < classes.size(); ++id) classes[id] = id / 1000;
        ClassCounts counts;
        counts.add(order_of(Plan::make(what.shape(), {.open_runs = open_runs, .seed = seed}).value(), 0), 256, classes);
        mean = std::min(mean, counts.mean());
        least = std::min(least, counts.least);
      }
    }
    const std::string line = format("| %u | %.1f | %u |", open_runs, mean, static_cast<unsigned>(least));
    EXPECT_TRUE(is_on_page(line)) << line;
    if (open_runs < 64) continue;
    EXPECT_GE(mean, 19) << line;
    EXPECT_GE(least, 16u) << line;
  }
}

}  // namespace
}  // namespace dovetail::test
