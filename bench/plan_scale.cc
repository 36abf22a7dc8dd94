// SPDX-License-Identifier: Apache-2.0
// How planning, starting, resuming and changing the world grow with shards, ranks and records. One
// thread; the dataset is numbers only, and its shape, which the manifest gives, does not count.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/plan.h>
#include <dovetail/state.h>
#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "bench/counted_memory.h"
#include "bench/synthetic_dataset.h"

namespace dovetail::bench {
namespace {

constexpr std::uint32_t kBatch = 32;

struct Settings {
  std::uint32_t max_shards = 1'000'000;
  std::uint64_t shard_records = 1'000'000;
  std::uint32_t max_world = 16'384;
  std::uint32_t repetitions = 9;
  bool json = false;
  std::string out;
};

/// What something cost, repeated. Time of the processor, so that other programs disturb less.
struct Cost {
  double median_ms = 0;
  double max_ms = 0;
  std::size_t kept_bytes = 0;  ///< In use as long as the result lives.
  std::size_t peak_bytes = 0;
};

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// Calls `run(repetition)`, and looks at the memory while its result lives.
template <class Run>
Cost measure(std::uint32_t repetitions, const Run& run) {
  Cost cost;
  std::vector<double> times;
  for (std::uint32_t repetition = 0; repetition < repetitions; ++repetition) {
    const MemoryMeter memory;
    const double begin = milliseconds();
    const auto kept = run(repetition);
    times.push_back(milliseconds() - begin);
    cost.kept_bytes = std::max(cost.kept_bytes, memory.in_use());
    cost.peak_bytes = std::max(cost.peak_bytes, memory.peak());
  }
  std::sort(times.begin(), times.end());
  cost.median_ms = times[times.size() / 2];
  cost.max_ms = times.back();
  return cost;
}

/// What a rank keeps while it trains.
struct Rank {
  Plan plan;
  EpochPlan epoch;
  LaneCursor cursor;
};

/// Up to the picks of the first batch.
Rank start(Plan plan, std::uint32_t rank) {
  const Position at = plan.start();
  EpochPlan epoch = plan.epoch(at.epoch).value();
  LaneCursor cursor = epoch.lane(epoch.first_lane(rank)).cursor(epoch.first_output(at.step));
  std::vector<Pick> picks(static_cast<std::size_t>(epoch.rows_per_lane()));
  cursor.next(picks);
  return {std::move(plan), std::move(epoch), std::move(cursor)};
}

/// Different ranks and steps, in no order.
std::uint64_t spread(std::uint64_t i, std::uint64_t below) {
  return (i + 1) * 0x9E3779B97F4A7C15 % below;
}

/// A job that lost a node of 8 ranks, or got one more rank where it was small.
PlanOptions other_world(PlanOptions options) {
  options.world = options.world > 8 ? options.world - 8 : options.world + 1;
  return options;
}

struct Costs {
  std::uint32_t shards = 0;
  std::uint64_t records = 0;
  std::uint32_t world = 0;
  Cost plan;           ///< `Plan::make`
  Cost start;          ///< The same and one rank, at the beginning of an epoch.
  Cost resume;         ///< One rank, from a state in mid-epoch.
  Cost change;         ///< The same in another world.
  Cost eighth_change;  ///< The same after seven such changes in the same epoch.
};

Costs measure_job(const std::shared_ptr<const DatasetShape>& dataset, std::uint32_t world, std::uint32_t repetitions) {
  const PlanOptions options{.world = world, .batch = kBatch};
  const Plan plan = Plan::make(dataset, options).value();
  const std::uint64_t steps = plan.steps(0).value();
  const auto resume = [&](const PlanOptions& with, const State& state, std::uint32_t repetition) {
    const auto rank = static_cast<std::uint32_t>(spread(repetition, with.world));
    return start(Plan::resume(dataset, with, state).value(), rank);
  };

  Costs costs;
  costs.shards = static_cast<std::uint32_t>(dataset->shards.size());
  costs.records = plan.records();
  costs.world = world;
  costs.plan = measure(repetitions, [&](std::uint32_t) { return Plan::make(dataset, options).value(); });
  costs.start = measure(repetitions, [&](std::uint32_t repetition) {
    return start(Plan::make(dataset, options).value(), static_cast<std::uint32_t>(spread(repetition, world)));
  });
  costs.resume = measure(repetitions, [&](std::uint32_t repetition) {
    return resume(options, plan.state({0, spread(repetition, steps)}).value(), repetition);
  });
  costs.change = measure(repetitions, [&](std::uint32_t repetition) {
    return resume(other_world(options), plan.state({0, spread(repetition, steps)}).value(), repetition);
  });

  // Each world takes a tenth of what is left.
  Plan changed = plan;
  PlanOptions present = options;
  const auto taken = [&] {
    const std::uint64_t begin = changed.start().step;
    return changed.state({0, begin + std::max<std::uint64_t>((changed.steps(0).value() - begin) / 10, 1)});
  };
  for (std::size_t change = 1; change < State::kMaxChanges; ++change) {
    present = other_world(present);
    changed = Plan::resume(dataset, present, taken().value()).value();
  }
  const State seven_changes = taken().value();
  costs.eighth_change = measure(
      repetitions, [&](std::uint32_t repetition) { return resume(other_world(present), seven_changes, repetition); });
  return costs;
}

boost::json::object to_json(const Cost& cost) {
  return {{"median_ms", cost.median_ms},
          {"max_ms", cost.max_ms},
          {"kept_bytes", cost.kept_bytes},
          {"peak_bytes", cost.peak_bytes}};
}

boost::json::array to_json(const std::vector<Costs>& jobs) {
  boost::json::array array;
  for (const Costs& costs : jobs) {
    array.push_back({{"shards", costs.shards},
                     {"records", costs.records},
                     {"world", costs.world},
                     {"plan", to_json(costs.plan)},
                     {"start", to_json(costs.start)},
                     {"resume", to_json(costs.resume)},
                     {"change", to_json(costs.change)},
                     {"eighth_change", to_json(costs.eighth_change)}});
  }
  return array;
}

void print(const char* title, const std::vector<Costs>& jobs) {
  const auto per_shard = [](std::size_t bytes, const Costs& costs) {
    return static_cast<double>(bytes) / static_cast<double>(costs.shards);
  };
  std::printf("%s\n", title);
  std::printf("%9s %16s %6s | %9s %7s | %9s %9s %7s | %17s | %17s %9s\n", "shards", "records", "world", "plan ms",
              "B/shard", "start ms", "rank KiB", "B/shard", "resume ms med max", "change ms med max", "8th ms");
  for (const Costs& costs : jobs) {
    std::printf("%9u %16llu %6u | %9.3f %7.1f | %9.3f %9.0f %7.1f | %8.3f %8.3f | %8.3f %8.3f %9.3f\n", costs.shards,
                static_cast<unsigned long long>(costs.records), costs.world, costs.plan.median_ms,
                per_shard(costs.plan.kept_bytes, costs), costs.start.median_ms,
                static_cast<double>(costs.start.kept_bytes) / 1024, per_shard(costs.start.kept_bytes, costs),
                costs.resume.median_ms, costs.resume.max_ms, costs.change.median_ms, costs.change.max_ms,
                costs.eighth_change.median_ms);
  }
  std::printf("\n");
}

int run(const Settings& settings) {
  std::vector<Costs> by_shards;
  for (std::uint32_t shards = 100; shards <= settings.max_shards; shards *= 10) {
    const std::shared_ptr<const DatasetShape> dataset = synthetic_dataset(shards, settings.shard_records);
    for (const std::uint32_t world : {1u, 16u, 256u, 4'096u, 16'384u}) {
      if (world <= settings.max_world) by_shards.push_back(measure_job(dataset, world, settings.repetitions));
    }
  }
  std::vector<Costs> by_records;
  const std::uint32_t shards = std::min(settings.max_shards, 10'000u);
  for (std::uint64_t factor = 1; factor <= 1'000'000; factor *= 1'000) {
    const std::shared_ptr<const DatasetShape> dataset =
        synthetic_dataset(shards, settings.shard_records / 1'000 * factor);
    by_records.push_back(measure_job(dataset, std::min(settings.max_world, 256u), settings.repetitions));
  }
  const boost::json::value all{{"by_shards", to_json(by_shards)}, {"by_records", to_json(by_records)}};
  const std::string json = boost::json::serialize(all) + '\n';
  if (!settings.out.empty() && !(std::ofstream(settings.out) << json << std::flush)) {
    std::fprintf(stderr, "plan_scale: cannot write %s\n", settings.out.c_str());
    return 1;
  }
  if (settings.json) {
    std::fputs(json.c_str(), stdout);
  } else {
    print("Shards and ranks", by_shards);
    print("Records, with as many shards", by_records);
  }
  return 0;
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  dovetail::bench::Settings settings;
  CLI::App app{"Measures how plans grow: time in milliseconds, memory in bytes, on one thread."};
  app.add_option("--max-shards", settings.max_shards, "From 100 shards up to this, times 10")->capture_default_str();
  app.add_option("--shard-records", settings.shard_records, "Records per shard")->capture_default_str();
  app.add_option("--max-world", settings.max_world, "Worlds up to this")->capture_default_str();
  app.add_option("--repetitions", settings.repetitions, "Of each measurement")->capture_default_str();
  app.add_flag("--json", settings.json, "Print JSON instead of tables");
  app.add_option("--out", settings.out, "Keep the JSON in this file");
  CLI11_PARSE(app, argc, argv);
  return dovetail::bench::run(settings);
}
