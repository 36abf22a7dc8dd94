// SPDX-License-Identifier: Apache-2.0
// `dovetail bench`: what one rank reaches with a dataset on this machine, what it could reach, and what limits it.
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "tools/bench/bench_report.h"
#include "tools/command/commands.h"
#include "tools/command/datasets.h"
#include "tools/command/exit_code.h"
#include "tools/command/sink.h"
#include "tools/command/storage_words.h"
#include "tools/command/warning.h"
#include "tools/plan/plan_arguments.h"

namespace dovetail::tools {

namespace {

constexpr std::uint32_t kDefaultBatch = 64;
constexpr std::uint32_t kMostSeconds = 3600;
/// More than the caches of a processor hold.
constexpr std::uint64_t kSampleBytes = 64 << 20;
/// Of the time; the rest is for the second pass.
constexpr double kFirstPass = 0.4;
constexpr double kLimits = 0.2;

struct BenchArguments {
  std::vector<std::string> paths;
  std::uint32_t rank = 0;
  PlanFlags plan;
  ReaderOptions reader;
  std::uint32_t seconds = 10;
  bool json = false;
};

/// What is to be read; flags that a saved plan or a state answers are left to it.
Result<PlanRequest> request_plan(BenchArguments& arguments) {
  PlanFlags& plan = arguments.plan;
  if (plan.plan_path.empty()) {
    if (!plan.world) plan.world = 1;
    if (!plan.batch) plan.batch = kDefaultBatch;
  }
  return plan_request(plan);
}

void describe(const Dataset& dataset, const BlockSample& sample, BenchReport& report) {
  report.path = dataset.path();
  report.records = dataset.records();
  report.shards = dataset.shards().size();
  report.raw_bytes = dataset.raw_bytes();
  for (const ShardInfo& shard : dataset.shards()) report.stored_bytes += shard.stored_bytes;
  report.sampled_blocks = sample.blocks.size();
  if (sample.raw_bytes > 0) {
    report.compressed_share = static_cast<double>(sample.compressed_bytes) / static_cast<double>(sample.raw_bytes);
  }
}

Result<BenchReport> measure(BenchArguments& arguments) {
  if (arguments.seconds < 1 || arguments.seconds > kMostSeconds) {
    return Error(Errc::invalid_option, "--seconds = " + std::to_string(arguments.seconds) + ": it must be 1 to " +
                                           std::to_string(kMostSeconds));
  }
  const Result<PlanRequest> request = request_plan(arguments);
  if (!request) return request.error();
  const Result<Dataset> dataset = open_datasets(arguments.paths);
  if (!dataset) return dataset.error();
  const Result<Plan> plan = request->plan(dataset->shape());
  if (!plan) return plan.error();

  ReaderOptions& reader = arguments.reader;
  reader.ranks.rank = arguments.rank;
  reader.ranks.world = request->options.world;
  reader.plan = request->options;
  reader.state = request->state;
  reader.epochs = 1;
  const Position start = plan->start();
  const Result<std::uint64_t> steps = plan->steps(start.epoch);
  if (!steps) return steps.error();
  if (*steps == start.step) return Error(Errc::empty_input, "the state is at the end of its epoch: no step is left");

  const double seconds = arguments.seconds;
  BenchReport report;
  // First of all, while the page cache is as it was found.
  Result<ReadingPass> first = read_pass(*dataset, reader, *steps - start.step, 1, kFirstPass * seconds);
  if (!first) return first.error();
  report.first = std::move(*first);
  reader.log = {};  // warnings need to be read once
  Result<BlockSample> sample = sample_blocks(*dataset, kSampleBytes);
  if (!sample) return sample.error();
  const Result<Limits> limits = measure_limits(*sample, reader.plan.batch, kLimits * seconds);
  if (!limits) return limits.error();
  report.limits = *limits;
  Result<ReadingPass> second =
      read_pass(*dataset, reader, report.first.steps, UINT64_MAX, (1 - kFirstPass - kLimits) * seconds);
  if (!second) return second.error();
  report.second = std::move(*second);

  describe(*dataset, *sample, report);
  report.rank = arguments.rank;
  report.world = reader.ranks.world;
  report.batch = reader.plan.batch;
  report.cores = std::max(1u, std::thread::hardware_concurrency());
  report.threads = reader.decode_threads > 0 ? std::min(reader.decode_threads, report.cores) : report.cores;
  return report;
}

Result<int> run(BenchArguments& arguments) {
  arguments.reader.log = warn;
  const Result<BenchReport> report = measure(arguments);
  if (!report) return report.error();
  Sink out = Sink::standard_output();
  out.write(arguments.json ? to_line(to_json(*report)) : to_text(*report));
  if (const Result<void> written = out.finish(); !written) return written.error();
  return kExitGood;
}

}  // namespace

void add_bench(CommandLine& line) {
  const auto arguments = std::make_shared<BenchArguments>();
  Flags flags =
      line.subcommand("bench", "Measure how fast one rank reads a dataset on this machine, and what limits it",
                      {"dovetail bench data --seconds 2", "dovetail bench data --seconds 2 --world 8 --batch 16"},
                      [arguments] { return run(*arguments); });
  add_paths(flags, arguments->paths);
  flags.add("--seconds", arguments->seconds, "Total time in seconds, 1 to 3600");
  add_json(flags, arguments->json);
  flags.group("What is read");
  flags.add("--rank", arguments->rank, "This rank, from 0");
  flags.add("--world", arguments->plan.world, "Number of ranks").preset("1");
  add_plan_arguments(flags, arguments->plan,
                     "Rows per step; default: " + std::to_string(kDefaultBatch) + ", or that of --plan");
  flags.group("How it is read");
  add_storage(flags, arguments->reader.storage);
  flags.add_size("--memory", arguments->reader.memory_bytes, "Memory budget for batches and read-ahead, in bytes")
      .preset("256M");
  flags.add("--prefetch", arguments->reader.prefetch, "Slots to fill ahead of the trainer; tiny batches share one");
  flags.add("--io-threads", arguments->reader.io_threads, "Threads that read; 0 chooses");
  flags.add("--decode-threads", arguments->reader.decode_threads, "Threads that check and decode; 0 chooses");
}

}  // namespace dovetail::tools
