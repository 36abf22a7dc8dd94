// SPDX-License-Identifier: Apache-2.0
// `dovetail bench`: measures one rank's reading on this machine, the best it could reach, and the
// limiting part.
#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "format/try.h"
#include "format/words/reader_words.h"
#include "tools/bench/bench_report.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/messages.h"
#include "tools/command/sink.h"
#include "tools/plan/plan_arguments.h"

namespace dovetail::tools {

namespace {

constexpr std::uint32_t kDefaultBatch = 64;
constexpr std::uint32_t kMostSeconds = 3600;
/// Larger than the caches of a processor.
constexpr std::uint64_t kSampleBytes = 256 << 20;
/// Shares of the time. The rest is for reading with a warm page cache.
constexpr double kCat = 0.1;
constexpr double kFirstPass = 0.3;
constexpr double kCold = 0.1;
/// Measurements that are compared take turns, so that other load on the machine affects them
/// equally.
constexpr int kTurns = 4;

struct BenchArguments {
  std::vector<std::string> paths;
  std::uint32_t rank = 0;
  PlanFlags plan;
  std::optional<std::string> columns;
  ReaderOptions reader;
  std::uint32_t seconds = 10;
  bool json = false;
};

/// The plan to read. A saved plan or a state determines the options that flags do not set.
Result<PlanRequest> request_plan(BenchArguments& arguments) {
  PlanFlags& plan = arguments.plan;
  if (plan.plan_path.empty() && !plan.batch) plan.batch = kDefaultBatch;
  return plan_request(plan);
}

void describe(const Dataset& dataset, const BlockSample& sample, BenchReport& report) {
  report.path = dataset.path();
  report.records = dataset.records();
  report.shards = dataset.shards().size();
  report.raw_bytes = dataset.raw_bytes();
  for (const ShardInfo& shard : dataset.shards()) report.stored_bytes += shard.stored_bytes;
  report.sampled_blocks = sample.blocks;
  if (sample.raw_bytes > 0) {
    report.compressed_share = static_cast<double>(sample.compressed_bytes) / static_cast<double>(sample.raw_bytes);
    const auto pieces = static_cast<double>(sample.pieces.size());
    report.piece_bytes = static_cast<double>(sample.stored_bytes) / pieces;
    report.piece_raw_bytes = static_cast<double>(sample.raw_bytes) / pieces;
  }
}

/// Trials with other numbers of threads.
std::vector<std::pair<Trial, ReaderOptions>> other_threads(const ReaderOptions& reader, const BenchReport& report) {
  std::vector<std::pair<Trial, ReaderOptions>> trials;
  for (const unsigned threads : {std::max(1u, report.threads / 2), report.cores}) {
    if (threads == report.threads) continue;
    trials.push_back({{.option = "--decode-threads " + std::to_string(threads), .pass = {}}, reader});
    trials.back().second.decode_threads = threads;
  }
  return trials;
}

/// Measures the bare walk, the second pass and the trials.
Result<void> measure_warm(const Dataset& dataset, const BlockSample& sample, const ReaderOptions& reader,
                          std::uint64_t steps, double seconds, BenchReport& report) {
  const WalkOptions walk{.batch = report.batch, .open_runs = reader.plan.open_runs, .threads = report.threads};
  DOVETAIL_TRY(warm_up(sample, walk));
  std::vector<std::pair<Trial, ReaderOptions>> trials = other_threads(reader, report);
  const double slice = seconds / (kTurns * static_cast<double>(2 + trials.size()));
  report.limits.threads = report.threads;
  for (int turn = 0; turn < kTurns; ++turn) {
    DOVETAIL_ASSIGN(const Limits limits, measure_limits(sample, walk, slice));
    report.limits.add(limits);
    DOVETAIL_TRY(read_pass(dataset, reader, steps, false, slice, report.second));
    for (auto& [trial, options] : trials) {
      DOVETAIL_TRY(read_pass(dataset, options, steps, false, slice, trial.pass));
    }
  }
  for (auto& [trial, options] : trials) report.trials.push_back(std::move(trial));
  return {};
}

/// Reads past the page cache, as a cold first pass would. Its failure is not a failure of `bench`.
void try_direct(const Dataset& dataset, ReaderOptions reader, std::uint64_t steps, double seconds,
                BenchReport& report) {
  Trial trial{.option = "--storage io_uring_direct", .cold = true, .pass = {}};
  reader.storage = StorageKind::io_uring_direct;
  const Result<void> read = read_pass(dataset, reader, steps, true, seconds, trial.pass);
  if (read && trial.pass.storage == StorageKind::io_uring_direct) report.trials.push_back(std::move(trial));
}

Result<BenchReport> measure(BenchArguments& arguments) {
  if (arguments.seconds < 1 || arguments.seconds > kMostSeconds) {
    return Error(Errc::invalid_option, "--seconds = " + std::to_string(arguments.seconds) + ": it must be 1 to " +
                                           std::to_string(kMostSeconds));
  }
  DOVETAIL_ASSIGN(const PlanRequest request, request_plan(arguments));
  DOVETAIL_ASSIGN(const Dataset dataset, open_datasets(arguments.paths));
  DOVETAIL_ASSIGN(const Plan plan, request.plan(dataset.shape()));

  ReaderOptions& reader = arguments.reader;
  reader.ranks.rank = arguments.rank;
  reader.ranks.world = request.options.world;
  reader.plan = request.options;
  reader.state = request.state;
  DOVETAIL_ASSIGN(std::optional<Schema> columns, columns_of(dataset, arguments.columns));
  reader.columns = std::move(columns);
  const Position start = plan.start();
  reader.epochs = start.epoch + 1;
  DOVETAIL_ASSIGN(const std::uint64_t steps, plan.steps(start.epoch));
  if (steps == start.step) {
    return Error(Errc::empty_input, "the state is at the end of its epoch, so no step is left; give an earlier state");
  }

  const double seconds = arguments.seconds;
  BenchReport report;
  report.rank = arguments.rank;
  report.world = reader.ranks.world;
  report.batch = reader.plan.batch;
  report.cores = std::max(1u, std::thread::hardware_concurrency());
  report.threads = reader.decode_threads > 0 ? std::min(reader.decode_threads, report.cores) : report.cores;
  report.columns = reader.columns.has_value();
  // Before all other measurements, to find the page cache in its original state.
  DOVETAIL_ASSIGN(BlockSample sample, open_sample(dataset));
  DOVETAIL_ASSIGN(report.cat, read_sequentially(sample, kCat * seconds));
  Result<void> read = read_pass(dataset, reader, steps - start.step, true, kFirstPass * seconds, report.first);
  if (!read) return read.error();
  reader.log = {};  // the first pass has printed the warnings
  const std::uint64_t same_steps = report.first.batches;
  double left = (1 - kCat - kFirstPass) * seconds;
  if (report.first.waiting_reads > 0 && reader.storage != StorageKind::io_uring_direct) {
    try_direct(dataset, reader, same_steps, kCold * seconds, report);
    left -= kCold * seconds;
  }
  choose_blocks(std::min(kSampleBytes, report.first.bytes), sample);
  // If the reader reached the end of the epoch, let it go on to the next one: a new reader would
  // touch new memory.
  if (same_steps == steps && !reader.plan.mix.enabled()) reader.epochs = 0;
  read = measure_warm(dataset, sample, reader, reader.epochs == 0 ? UINT64_MAX : same_steps, left, report);
  if (!read) return read.error();
  describe(dataset, sample, report);
  std::erase_if(report.trials, [&](const Trial& trial) { return !trial.cold && !report.settled(trial.pass); });
  return report;
}

Result<int> run(BenchArguments& arguments) {
  arguments.reader.log = warn;
  DOVETAIL_ASSIGN(const BenchReport report, measure(arguments));
  return print(arguments.json ? to_line(to_json(report)) : to_text(report));
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
  add_columns(flags, arguments->columns);
  flags.group("How it is read");
  flags.add_choice("--storage", arguments->reader.storage, format::kStorageWords,
                   "Storage backend; io_uring_direct bypasses the page cache");
  flags.add_size("--memory", arguments->reader.memory_bytes, "Memory budget for batches and read-ahead, in bytes")
      .preset("256M, more for large batches");
  flags.add("--prefetch", arguments->reader.prefetch, "Slots to fill ahead of the trainer; tiny batches share one");
  flags.add("--io-threads", arguments->reader.io_threads, "Threads that read; 0 chooses");
  flags.add("--decode-threads", arguments->reader.decode_threads, "Threads that check and decode; 0 chooses");
}

}  // namespace dovetail::tools
