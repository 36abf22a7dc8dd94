// SPDX-License-Identifier: Apache-2.0
// `dovetail index`: makes shards of TFRecord files where they are.
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/tfrecord_index.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/text/wildcard.h"
#include "format/try.h"
#include "tools/command/commands.h"
#include "tools/command/interrupt.h"
#include "tools/command/json.h"
#include "tools/command/progress.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

constexpr char kDaliSuffix[] = ".idx";

struct IndexArguments {
  std::vector<std::string> files;
  TfrecordIndexOptions index;
  bool write_dali = false;
  bool check_dali = false;
  bool overwrite = false;
  bool json = false;
  std::uint32_t jobs = 0;
};

/// Indexes several files at a time; the reports are in the order of the files.
class IndexJobs {
 public:
  explicit IndexJobs(const IndexArguments& arguments) : arguments_(arguments), reports_(arguments.files.size()) {}

  Result<std::vector<TfrecordIndexReport>> run() {
    const std::size_t most = arguments_.jobs > 0 ? arguments_.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(most, reports_.size()); ++i) others.emplace_back([this] { work(); });
    work();
    others.clear();
    std::vector<TfrecordIndexReport> done;
    if (failure_) return *failure_;
    for (Result<TfrecordIndexReport>& report : reports_) done.push_back(std::move(*report));
    return done;
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < reports_.size() && !stopped(); at = next_++) {
      const std::string& file = arguments_.files[at];
      TfrecordIndexOptions options = arguments_.index;
      if (arguments_.check_dali) options.check_dali_index = file + kDaliSuffix;
      if (arguments_.write_dali) options.write_dali_index = file + kDaliSuffix;
      std::uint64_t records_before = 0;
      std::uint64_t bytes_before = 0;
      options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
        note(records - std::exchange(records_before, records), bytes - std::exchange(bytes_before, bytes));
        return !interrupted();
      };
      reports_[at] = index_tfrecord(file, options, arguments_.overwrite);
      if (!reports_[at]) fail(at, reports_[at].error());
    }
  }

  void note(std::uint64_t records, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    records_ += records;
    bytes_ += bytes;
    progress_.update(records_, bytes_, -1);
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }

  // If several files fail, the error of the first one is returned.
  void fail(std::size_t file, const Error& failure) {
    const std::lock_guard lock(mutex_);
    if (failure_ && failed_file_ < file) return;
    failed_file_ = file;
    failure_ = failure;
  }

  const IndexArguments& arguments_;
  std::vector<Result<TfrecordIndexReport>> reports_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::optional<Error> failure_;
  std::size_t failed_file_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  Progress progress_{"indexing"};
};

boost::json::object to_json(const TfrecordIndexReport& report) {
  return {{"index", format::to_utf8(report.index)}, {"kept", report.kept},
          {"records", report.shard.records},        {"raw_bytes", report.shard.raw_bytes},
          {"file_bytes", report.shard.file_bytes},  {"blocks", report.shard.blocks},
          {"run_records", report.shard.run_records}};
}

std::string to_text(const std::vector<TfrecordIndexReport>& reports) {
  std::string text;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::size_t kept = 0;
  for (const TfrecordIndexReport& report : reports) {
    text += format::visible(report.index) + ": " + format::count_of(report.shard.records, "record") + " in " +
            format::count_of(report.shard.blocks, "block") + (report.kept ? ", unchanged\n" : "\n");
    records += report.shard.records;
    bytes += report.shard.raw_bytes;
    kept += report.kept ? 1 : 0;
  }
  return text + format::count_of(reports.size(), "file") + ", " + format::count_of(records, "record") + ", " +
         human_bytes(bytes) + (kept > 0 ? "; " + std::to_string(kept) + " already had a good index\n" : "\n");
}

Result<void> check_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    DOVETAIL_TRY(check_local(file));
    std::error_code unknown;
    if (format::has_wildcard(file) && !std::filesystem::exists(file, unknown)) {
      return Error(Errc::empty_input,
                   "no such file; the shell expands a pattern only if it matches files and is not "
                   "quoted")
          .in_file(file);
    }
  }
  return {};
}

Result<int> run(IndexArguments& arguments) {
  DOVETAIL_TRY(check_files(arguments.files));
  // Two patterns may name the same file.
  std::set<std::string> seen;
  std::erase_if(arguments.files, [&](const std::string& file) { return !seen.insert(file).second; });
  catch_interrupts();
  const auto reports = IndexJobs(arguments).run();
  if (!reports) return reports.error();
  if (!arguments.json) return print(to_text(*reports));
  boost::json::array files;
  for (const TfrecordIndexReport& report : *reports) files.push_back(to_json(report));
  return print(to_line({{"files", std::move(files)}}));
}

}  // namespace

void add_index(CommandLine& line) {
  const auto arguments = std::make_shared<IndexArguments>();
  Flags flags = line.subcommand("index", "Make TFRecord files usable as shards: write an index beside each",
                                {"dovetail index train.tfrecord", "dovetail index train.tfrecord --overwrite --json"},
                                [arguments] { return run(*arguments); });
  flags.add("FILE", arguments->files, "Uncompressed TFRecord files; an index that fits its file is kept").required();
  flags.add("--overwrite", arguments->overwrite, "Replace an index even if it fits its file");
  flags.add("--write-dali", arguments->write_dali, "Also write FILE.idx, the text index that DALI reads");
  flags.add("--check-dali", arguments->check_dali, "Compare FILE.idx, made by DALI's tfrecord2idx, with the file");
  flags
      .add_size("--block-bytes", arguments->index.block_bytes,
                "Target size of records that are read and checked together, in bytes")
      .preset("64K");
  flags.add_size("--run-bytes", arguments->index.run_bytes, "Target size of a run, the unit of reading, in bytes")
      .preset("64K");
  flags.add("--run-records", arguments->index.run_records, "Records per run; 0 follows from --run-bytes");
  flags.add("--jobs", arguments->jobs, "Files to index in parallel; 0 uses all cores");
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
