// SPDX-License-Identifier: Apache-2.0
// `dovetail read`: one rank's batches of an epoch, as a trainer would get them.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>
#include <dovetail/schema.h>
#include <dovetail/state.h>
#include <dovetail/timeline.h>
#include <boost/json/parse.hpp>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/try.h"
#include "format/words/reader_words.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/interrupt.h"
#include "tools/command/json.h"
#include "tools/command/messages.h"
#include "tools/command/progress.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"
#include "tools/plan/plan_arguments.h"
#include "tools/plan/plan_file.h"

namespace dovetail::tools {

namespace {

/// Covers a minute of large batches, or a second of the smallest.
constexpr std::size_t kTimelineEvents = 1 << 19;

struct ReadArguments {
  std::vector<std::string> paths;
  std::optional<std::uint32_t> rank;
  PlanFlags plan;
  ReaderOptions reader;
  std::optional<std::uint32_t> epoch;
  std::optional<std::uint64_t> steps;
  std::optional<std::string> columns;
  std::string ids_path;
  std::string state_path;     // to write
  std::string timeline_path;  // to write
  std::uint32_t hung_after = 30;
  bool json = false;
};

/// Result of the pass; text and JSON are views of it.
struct Summary {
  Hash128 plan_id;
  RankContext ranks;
  PlanOptions plan;
  std::uint32_t epoch = 0;
  std::uint64_t first_step = 0;
  std::uint32_t replay = 0;
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::uint64_t valid = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, kRowStatuses> by_status{};
  std::optional<Schema> columns;
  Hash128 digest;
  double seconds = 0;
  ReaderStats stats;

  void add(const Batch& batch);
};

void Summary::add(const Batch& batch) {
  ++steps;
  rows += batch.rows();
  valid += batch.valid();
  bytes += batch.values().size();
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    const RowStatus status = batch.status()[row];
    ++by_status[static_cast<std::size_t>(status)];
    if (is_counted(status)) digest += record_digest(batch.ids()[row]);
  }
}

std::uint64_t count(const Summary& summary, RowStatus status) {
  return summary.by_status[static_cast<std::size_t>(status)];
}

/// Damaged rows of a kind: those planned as first deliveries and those planned as repetitions.
std::uint64_t damaged(const Summary& summary, RowStatus first, RowStatus repeated) {
  return count(summary, first) + count(summary, repeated);
}

boost::json::object to_json(const Summary& summary) {
  return {{"columns", summary.columns ? boost::json::value(to_text(*summary.columns)) : boost::json::value()},
          {"plan_id", summary.plan_id.to_hex()},
          {"rank", summary.ranks.rank},
          {"world", summary.ranks.world},
          {"replicate", summary.plan.replicate},
          {"batch", summary.plan.batch},
          {"epoch", summary.epoch},
          {"first_step", summary.first_step},
          {"replay", summary.replay},
          {"steps", summary.steps},
          {"rows", summary.rows},
          {"valid", summary.valid},
          {"repeated", count(summary, RowStatus::repeated)},
          {"empty", count(summary, RowStatus::empty)},
          {"substituted", damaged(summary, RowStatus::substituted, RowStatus::repeated_substituted)},
          {"damaged_empty", damaged(summary, RowStatus::damaged_empty, RowStatus::repeated_damaged_empty)},
          {"bytes", summary.bytes},
          {"seconds", summary.seconds},
          {"digest", summary.digest.to_hex()},
          {"storage", to_string(summary.stats.storage)},
          {"registered", summary.stats.registered},
          {"stats", boost::json::parse(summary.stats.to_json())}};
}

std::string to_text(const Summary& summary) {
  Listing listing;
  listing.add("plan", summary.plan_id.to_hex());
  listing.add("rank", std::to_string(summary.ranks.rank) + " of " + std::to_string(summary.ranks.world));
  listing.add("epoch", summary.epoch);
  const std::string from = summary.first_step == 0 ? "" : ", from step " + std::to_string(summary.first_step);
  listing.add("steps", std::to_string(summary.steps) + " of " + format::count_of(summary.plan.batch, "row") + from);
  if (summary.replay > 0) {
    listing.add("replay", "the first " + format::count_of(summary.replay, "step") +
                              " over and over: this does not measure reading");
  }
  listing.add("rows",
              std::to_string(summary.rows) + ": " + std::to_string(summary.valid) + " first, " +
                  std::to_string(count(summary, RowStatus::repeated)) + " repeated, " +
                  std::to_string(count(summary, RowStatus::empty)) + " empty, " +
                  std::to_string(damaged(summary, RowStatus::substituted, RowStatus::repeated_substituted)) +
                  " substituted, " +
                  std::to_string(damaged(summary, RowStatus::damaged_empty, RowStatus::repeated_damaged_empty)) +
                  " damaged and empty");
  if (summary.columns) listing.add("columns", to_text(*summary.columns));
  listing.add("bytes", std::to_string(summary.bytes) + " in " + format::fixed(summary.seconds, 3) + " s, " +
                           human_rate(static_cast<double>(summary.bytes) / summary.seconds));
  listing.add("digest", summary.digest.to_hex());
  const std::string& note = summary.stats.storage_note;
  listing.add("storage", std::string(to_string(summary.stats.storage)) + (note.empty() ? "" : ": " + note));
  if (summary.stats.registered) listing.add("memory", "registered with CUDA");
  return listing.to_text();  // the log has named each loss
}

void write_ids(Sink& sink, const Dataset& dataset, const Batch& batch) {
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    const std::uint64_t id = batch.ids()[row];
    std::string line = std::to_string(batch.step()) + ' ' + std::to_string(row);
    if (id == kNoId) {
      line += " -1 -1 ";
    } else {
      const Dataset::Place place = dataset.locate(id);
      line += ' ' + std::to_string(place.shard) + ' ' + std::to_string(place.record) + ' ';
    }
    line += std::to_string(static_cast<unsigned>(batch.status()[row])) + '\n';
    sink.write(line);
  }
}

Result<RankContext> rank_context(const ReadArguments& arguments) {
  if (!arguments.rank && !arguments.plan.world) return RankContext::from_environment();
  if (!arguments.rank || !arguments.plan.world) {
    const std::string given = arguments.rank ? "--rank needs --world" : "--world needs --rank";
    return Error(Errc::invalid_option, given + "; give both, or neither to use the launcher's variables");
  }
  RankContext ranks;
  ranks.rank = *arguments.rank;
  ranks.world = *arguments.plan.world;
  return ranks;
}

/// Reads the requested number of steps, or to the end of the epoch, and adds the batches to
/// `summary`.
Result<void> read_all(BatchReader& reader, const Dataset& dataset, const ReadArguments& arguments, Sink* ids,
                      Summary& summary) {
  Progress progress("reading");
  DOVETAIL_ASSIGN(const std::uint64_t planned, reader.steps(summary.epoch));
  const std::uint64_t left = planned - summary.first_step;
  const bool for_ever = arguments.reader.replay > 0;
  const std::uint64_t asked_for = arguments.steps.value_or(left);
  const std::uint64_t wanted = for_ever ? asked_for : std::min(left, asked_for);
  while (summary.steps < wanted && (ids == nullptr || ids->good())) {
    if (interrupted()) return Error(make_error_code(boost::system::errc::operation_canceled));
    DOVETAIL_ASSIGN(const std::optional<Batch> batch, reader.next());
    if (!batch.has_value()) break;
    summary.add(*batch);
    if (ids != nullptr) write_ids(*ids, dataset, *batch);
    progress.update(summary.rows, summary.bytes, static_cast<double>(summary.steps) / static_cast<double>(wanted));
  }
  if (for_ever || summary.steps < left) return {};
  const Result<std::optional<Batch>> end = reader.next();
  return end ? Result<void>() : end.error();
}

/// Opens `ids` if it was requested and everything before has succeeded.
Result<Summary> read_epoch(ReadArguments& arguments, std::optional<NewFile>& ids) {
  using Clock = std::chrono::steady_clock;
  DOVETAIL_ASSIGN(const RankContext ranks, rank_context(arguments));
  const Clock::time_point start = Clock::now();
  arguments.plan.world = ranks.world;
  DOVETAIL_ASSIGN(const PlanRequest request, plan_request(arguments.plan));
  if (arguments.epoch && request.state && *arguments.epoch != request.state->epoch) {
    return Error(Errc::invalid_option, "--epoch " + std::to_string(*arguments.epoch) +
                                           " contradicts the state, which is in epoch " +
                                           std::to_string(request.state->epoch));
  }
  DOVETAIL_ASSIGN(const Dataset dataset, open_datasets(arguments.paths));
  if (const Result<Plan> plan = request.plan(dataset.shape()); !plan) return plan.error();

  arguments.reader.ranks = ranks;
  arguments.reader.plan = request.options;
  arguments.reader.state = request.state;
  arguments.reader.start.epoch = arguments.epoch.value_or(0);
  arguments.reader.epochs = (request.state ? request.state->epoch : arguments.reader.start.epoch) + 1;
  DOVETAIL_ASSIGN(std::optional<Schema> columns, columns_of(dataset, arguments.columns));
  arguments.reader.columns = std::move(columns);
  DOVETAIL_ASSIGN(BatchReader reader, BatchReader::open(dataset, arguments.reader));
  if (!arguments.ids_path.empty()) {
    DOVETAIL_ASSIGN(NewFile file, NewFile::create(arguments.ids_path));
    ids.emplace(std::move(file));
  }

  Summary summary;
  summary.replay = arguments.reader.replay;
  summary.plan_id = reader.plan().plan_id();
  summary.ranks = ranks;
  summary.plan = reader.plan().options();
  summary.columns = arguments.reader.columns;
  const Position begin = reader.state().position();
  summary.epoch = begin.epoch;
  summary.first_step = begin.step;
  const Result<void> read = read_all(reader, dataset, arguments, ids ? &ids->sink() : nullptr, summary);
  summary.stats = reader.stats();
  if (!read) {
    if (summary.steps == 0) ids.reset();  // keep the older file rather than an empty one
    return read.error();
  }
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!arguments.state_path.empty()) {
    DOVETAIL_TRY(write_state(arguments.state_path, reader.state()));
  }
  return summary;
}

Result<int> run(ReadArguments& arguments) {
  arguments.reader.hung_after = std::chrono::seconds(arguments.hung_after);
  arguments.reader.log = warn;
  DOVETAIL_TRY(check_outputs(
      {arguments.ids_path, arguments.state_path, arguments.timeline_path, arguments.reader.metrics}, arguments.paths));
  // After an interrupt the file still gets its name, with the lines so far.
  if (!arguments.ids_path.empty()) catch_interrupts();
  std::optional<NewFile> ids;
  if (!arguments.timeline_path.empty()) arguments.reader.timeline = std::make_shared<Timeline>(kTimelineEvents);
  const Result<Summary> summary = read_epoch(arguments, ids);
  // Keep the lines before a failure, which show how far the reader got.
  const Result<void> ids_written = ids ? ids->finish() : Result<void>();
  // The same for the timeline.
  const Result<void> timeline_written =
      arguments.reader.timeline ? replace_text(arguments.timeline_path, arguments.reader.timeline->to_json())
                                : Result<void>();
  if (!summary) return summary.error();
  if (!ids_written) return ids_written.error();
  if (!timeline_written) return timeline_written.error();

  return print(arguments.json ? to_line(to_json(*summary)) : to_text(*summary));
}

void add_delivery_arguments(Flags& flags, ReaderOptions& options) {
  flags.add_choice("--on-damage", options.on_damage, format::kOnDamageWords,
                   "Handling of rows whose records are damaged or do not fit the columns");
  flags.add_choice("--oversize", options.oversize, format::kOversizeWords,
                   "Handling of a batch that does not fit its slot");
  flags.add_choice("--registration", options.registration, format::kRegistrationWords,
                   "Registration of memory with CUDA");
  flags.add_size("--memory", options.memory_bytes, "Memory budget for batches and read-ahead, in bytes")
      .preset("256M, more for large batches");
  flags.add("--prefetch", options.prefetch, "Slots to fill ahead of the trainer; tiny batches share one");
  flags.add("--io-threads", options.io_threads, "Threads that read; 0 chooses");
  flags.add("--decode-threads", options.decode_threads, "Threads that check and decode; 0 chooses");
}

}  // namespace

void add_read(CommandLine& line) {
  const auto arguments = std::make_shared<ReadArguments>();
  Flags flags = line.subcommand("read", "Read one rank's batches of an epoch and print a summary",
                                {"dovetail read data --rank 0 --world 8 --batch 16",
                                 "dovetail read data --rank 0 --world 8 --batch 16 --steps 2 --state-out state"},
                                [arguments] { return run(*arguments); });
  add_paths(flags, arguments->paths);
  flags
      .add("--ids", arguments->ids_path,
           "Write one line per row: step row shard record status; an id in the dataset is the record plus all records "
           "of earlier shards")
      .shown_as("FILE");
  add_json(flags, arguments->json);
  flags.group("What is read");
  flags.add("--rank", arguments->rank, "This rank, from 0; default: the launcher's variables");
  flags.add("--world", arguments->plan.world, "Number of ranks; required with --rank");
  add_plan_arguments(flags, arguments->plan);
  flags.add("--epoch", arguments->epoch, "The epoch to read; default: 0, or that of the state");
  flags.add("--steps", arguments->steps, "Stop after this many steps");
  const Flag state_out =
      flags.add("--state-out", arguments->state_path, "Save the state where reading ended, for --from-state")
          .shown_as("FILE");
  add_columns(flags, arguments->columns);
  flags.group("How it is read");
  flags.add_choice("--storage", arguments->reader.storage, format::kStorageWords,
                   "Storage backend; io_uring_direct bypasses the page cache");
  add_delivery_arguments(flags, arguments->reader);
  flags.add("--hung-after", arguments->hung_after, "Log reads that take longer than this, in seconds; 0 never checks");
  flags.add_choice("--on-hung-read", arguments->reader.on_hung_read, format::kOnHungReadWords,
                   "Handling of such reads: keep waiting, or fail, which counts as damage (see --on-damage)");
  flags.group("Finding what limits reading");
  flags.add("--timeline", arguments->timeline_path, "Write a trace of the reader for Perfetto or chrome://tracing")
      .shown_as("FILE");
  flags
      .add("--metrics", arguments->reader.metrics,
           "Keep metrics in the Prometheus text format here, one file per rank: written after a batch every 15 "
           "seconds, and at the end")
      .shown_as("FILE");
  flags
      .add("--replay", arguments->reader.replay,
           "Read this many steps and repeat them, --steps in total; 0 reads normally")
      .excludes(state_out);
}

}  // namespace dovetail::tools
