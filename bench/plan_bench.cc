// SPDX-License-Identifier: Apache-2.0
// What planning and the order cost on one core. docs/performance.md has the limits and results.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <dovetail/plan.h>
#include <dovetail/state.h>
#include <CLI/CLI.hpp>

#include "bench/synthetic_dataset.h"

namespace dovetail::bench {
namespace {

constexpr std::uint64_t kShardRecords = 10'000;
constexpr std::uint32_t kBatch = 256;

std::uint32_t shards = 100'000;

/// Different positions in [0, n), in no order.
class Positions {
 public:
  explicit Positions(std::uint64_t n) : n_(n) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 16) % n_;
  }

 private:
  std::uint64_t n_;
  std::uint64_t state_ = 1;
};

/// A mix of `sources` sources of equal size, with weights 1, 2, 3, ...
void mix(DatasetShape& dataset, PlanOptions& options, std::uint32_t sources) {
  MixWeights weights;
  for (std::uint32_t source = 0; source < sources; ++source) {
    const auto end = static_cast<std::uint32_t>(std::uint64_t{shards} * (source + 1) / sources);
    const auto begin = static_cast<std::uint32_t>(std::uint64_t{shards} * source / sources);
    dataset.source_shards.push_back(end - begin);
    weights.weights.push_back(source + 1);
  }
  options.mix = {.schedule = {std::move(weights)}, .stop = MixStop::all};
}

benchmark::Counter time_per(std::uint64_t things, const benchmark::State& state) {
  return {static_cast<double>(things) * static_cast<double>(state.iterations()),
          benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

/// Walks the only lane of an epoch, a batch of picks at a time.
void walk(benchmark::State& state, const std::shared_ptr<const DatasetShape>& dataset, PlanOptions options) {
  options.batch = kBatch;
  LaneCursor cursor = Plan::make(dataset, options).value().epoch(0).value().lane(0).cursor();
  std::vector<Pick> picks(kBatch);
  cursor.next(picks);
  for (auto _ : state) {
    cursor.next(picks);
    benchmark::DoNotOptimize(picks.data());
    benchmark::ClobberMemory();
  }
  state.counters["per_record"] = time_per(kBatch, state);
}

void order_shuffle(benchmark::State& state) {
  const auto run_records = static_cast<std::uint64_t>(state.range(0));
  walk(state, synthetic_dataset(shards, kShardRecords, run_records),
       {.assign = static_cast<Assign>(state.range(2)), .pool = static_cast<std::uint32_t>(state.range(1))});
}
constexpr auto kEven = static_cast<std::int64_t>(Assign::even);
constexpr auto kRuns = static_cast<std::int64_t>(Assign::runs);
BENCHMARK(order_shuffle)
    ->ArgNames({"run_records", "pool", "assign"})
    ->Args({256, 256, kEven})
    ->Args({1, 256, kEven})
    ->Args({16, 256, kEven})
    ->Args({64, 256, kEven})
    ->Args({1024, 256, kEven})
    ->Args({256, 1, kEven})
    ->Args({256, 4096, kEven})
    ->Args({256, 256, kRuns});

void order_sequential(benchmark::State& state) {
  walk(state, synthetic_dataset(shards, kShardRecords), {.order = OrderKind::sequential});
}
BENCHMARK(order_sequential);

void order_global(benchmark::State& state) {
  walk(state, synthetic_dataset(shards, kShardRecords), {.order = OrderKind::global});
}
BENCHMARK(order_global);

void order_mix(benchmark::State& state) {
  const auto dataset = synthetic_dataset(shards, kShardRecords);
  PlanOptions options;
  mix(*dataset, options, static_cast<std::uint32_t>(state.range(0)));
  walk(state, dataset, options);
}
BENCHMARK(order_mix)->ArgName("sources")->Arg(4)->Arg(64);

/// From a pick to the id of its record, which readers do once for a run and not for each of its
/// records, except with the order `global`.
void id_of_pick(benchmark::State& state) {
  const PlanOptions options{.batch = kBatch, .order = static_cast<OrderKind>(state.range(0))};
  LaneCursor cursor =
      Plan::make(synthetic_dataset(shards, kShardRecords), options).value().epoch(0).value().lane(0).cursor();
  std::vector<Pick> picks(kBatch);
  cursor.next(picks);
  for (auto _ : state) {
    for (const Pick& pick : picks) benchmark::DoNotOptimize(cursor.record(pick));
  }
  state.counters["per_record"] = time_per(kBatch, state);
}
BENCHMARK(id_of_pick)
    ->ArgName("order")
    ->Arg(static_cast<int>(OrderKind::shuffle))
    ->Arg(static_cast<int>(OrderKind::global));

/// A cursor at some output of a lane that holds the whole dataset, and its first pick.
void seek(benchmark::State& state) {
  const auto dataset = synthetic_dataset(shards, static_cast<std::uint64_t>(state.range(0)));
  const PlanOptions options{.batch = kBatch, .pool = static_cast<std::uint32_t>(state.range(1))};
  const LaneOrder lane = Plan::make(dataset, options).value().epoch(0).value().lane(0);
  Positions outputs(lane.records());
  Pick pick;
  for (auto _ : state) {
    lane.cursor(outputs.next()).next({&pick, 1});
    benchmark::DoNotOptimize(pick);
  }
}
BENCHMARK(seek)
    ->Unit(benchmark::kMicrosecond)
    ->ArgNames({"shard_records", "pool"})
    ->Args({10'000, 256})
    ->Args({10'000'000, 256})
    ->Args({10'000, 65536});

/// Plan, epoch, and the first lane of a rank.
void plan(benchmark::State& state) {
  const std::shared_ptr<const DatasetShape> dataset = synthetic_dataset(shards, kShardRecords);
  const PlanOptions options{
      .world = static_cast<std::uint32_t>(state.range(0)), .batch = 32, .assign = static_cast<Assign>(state.range(1))};
  for (auto _ : state) {
    const EpochPlan epoch = Plan::make(dataset, options).value().epoch(0).value();
    const LaneOrder lane = epoch.lane(epoch.first_lane(options.world / 2));
    benchmark::DoNotOptimize(lane.records());
  }
}
BENCHMARK(plan)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"world", "assign"})
    ->ArgsProduct({{1, 8, 1024}, {kEven, kRuns}});

/// What a rank of another world does when a job of 16,384 ranks goes on in mid-epoch: from the
/// state's text to its first batch.
void elastic_restart(benchmark::State& state) {
  const std::shared_ptr<const DatasetShape> dataset = synthetic_dataset(shards, kShardRecords);
  const PlanOptions options{.world = 16'384, .batch = 1};
  const Plan before = Plan::make(dataset, options).value();
  Positions steps(before.steps(0).value());
  PlanOptions changed = options;
  changed.world = static_cast<std::uint32_t>(state.range(0));
  changed.batch = 32;
  std::vector<Pick> picks(changed.batch);
  for (auto _ : state) {
    const std::string text = before.state({0, steps.next()}).value().to_text();
    const Plan plan = Plan::resume(dataset, changed, State::from_text(text).value()).value();
    const EpochPlan epoch = plan.epoch(plan.start().epoch).value();
    LaneCursor cursor = epoch.lane(epoch.first_lane(changed.world / 2)).cursor(epoch.first_output(plan.start().step));
    cursor.next(picks);
    benchmark::DoNotOptimize(picks.data());
  }
}
BENCHMARK(elastic_restart)->Unit(benchmark::kMillisecond)->ArgName("world")->Arg(1)->Arg(1000)->Arg(16'000);

void state_text(benchmark::State& state) {
  const Plan plan = Plan::make(synthetic_dataset(shards, kShardRecords), {.world = 8, .batch = 32}).value();
  const State taken = plan.state({3, 1}).value();
  for (auto _ : state) benchmark::DoNotOptimize(State::from_text(taken.to_text()).value());
}
BENCHMARK(state_text);

void digest_of_record(benchmark::State& state) {
  std::uint64_t id = 0;
  for (auto _ : state) benchmark::DoNotOptimize(record_digest(id++));
}
BENCHMARK(digest_of_record);

/// What all ranks' digests must add up to.
void digest_of_epoch(benchmark::State& state) {
  const PlanOptions options{
      .world = static_cast<std::uint32_t>(state.range(0)), .batch = 32, .assign = static_cast<Assign>(state.range(1))};
  const EpochPlan epoch = Plan::make(synthetic_dataset(shards, kShardRecords), options).value().epoch(0).value();
  for (auto _ : state) benchmark::DoNotOptimize(epoch.digest());
}
BENCHMARK(digest_of_epoch)
    ->Unit(benchmark::kMillisecond)
    ->ArgNames({"world", "assign"})
    ->Args({1, kEven})
    ->Args({1024, kEven})
    ->Args({1024, kRuns});

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);  // takes its own options away
  CLI::App app{"Measures planning and the order. All options of Google Benchmark work as well."};
  app.add_option("--shards", dovetail::bench::shards, "Shards of the dataset, an even number")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
