// SPDX-License-Identifier: Apache-2.0
// `dovetail index`: makes shards of TFRecord files where they are.
#include <glob.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <dovetail/tfrecord_index.h>

#include "format/text/count_of.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/text/wildcard.h"
#include "format/try.h"
#include "tools/command/arguments.h"
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
  TfrecordIndexJobs jobs;
  bool write_dali = false;
  bool check_dali = false;
  bool json = false;
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
         format::human_bytes(bytes) + (kept > 0 ? "; " + std::to_string(kept) + " already had a good index\n" : "\n");
}

/// Expands patterns that the shell has left, as it would.
Result<std::vector<std::string>> expand(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    DOVETAIL_TRY(check_local(path));
    std::error_code unknown;
    if (!format::has_wildcard(path) || std::filesystem::exists(path, unknown)) {
      files.push_back(path);
      continue;
    }
    ::glob_t found{};
    const bool matches = ::glob(path.c_str(), 0, nullptr, &found) == 0;
    if (matches) files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (!matches) return Error(Errc::empty_input, "no file matches the pattern").in_file(path);
  }
  return files;
}

std::vector<TfrecordToIndex> files_of(const IndexArguments& arguments) {
  std::vector<TfrecordToIndex> files;
  std::set<std::string> seen;  // two patterns may name the same file
  for (const std::string& path : arguments.files) {
    if (!seen.insert(path).second) continue;
    TfrecordToIndex& file = files.emplace_back(TfrecordToIndex{path, arguments.index});
    if (arguments.check_dali) file.options.check_dali_index = path + kDaliSuffix;
    if (arguments.write_dali) file.options.write_dali_index = path + kDaliSuffix;
  }
  return files;
}

Result<std::vector<TfrecordIndexReport>> index_with_progress(IndexArguments& arguments) {
  Progress progress("indexing");
  arguments.jobs.progress = [&progress](std::uint64_t records, std::uint64_t bytes) {
    progress.update(records, bytes, -1);
    return !interrupted();
  };
  return index_tfrecords(files_of(arguments), arguments.jobs);
}

Result<int> run(IndexArguments& arguments) {
  DOVETAIL_ASSIGN(arguments.files, expand(arguments.files));
  catch_interrupts();
  DOVETAIL_ASSIGN(const auto reports, index_with_progress(arguments));
  if (!arguments.json) return print(to_text(reports));
  boost::json::array files;
  for (const TfrecordIndexReport& report : reports) files.push_back(to_json(report));
  return print(to_line({{"files", std::move(files)}}));
}

}  // namespace

void add_index(CommandLine& line) {
  const auto arguments = std::make_shared<IndexArguments>();
  Flags flags = line.subcommand("index", "Make TFRecord files usable as shards: write an index beside each",
                                {"dovetail index train.tfrecord", "dovetail index train.tfrecord --overwrite --json"},
                                [arguments] { return run(*arguments); });
  flags
      .add("FILE", arguments->files,
           "Uncompressed TFRecord files, or quoted patterns; an index that fits its file is kept")
      .required();
  flags.add("--overwrite", arguments->jobs.overwrite, "Replace an index even if it fits its file");
  flags.add("--write-dali", arguments->write_dali, "Also write FILE.idx, the text index that DALI reads");
  flags.add("--check-dali", arguments->check_dali, "Compare FILE.idx, made by DALI's tfrecord2idx, with the file");
  flags
      .add_size("--block-bytes", arguments->index.block_bytes,
                "Target size of records that are read and checked together, in bytes")
      .preset("64K");
  flags.add_size("--run-bytes", arguments->index.run_bytes, "Target size of a run, the unit of reading, in bytes")
      .preset("64K");
  flags.add("--run-records", arguments->index.run_records, "Records per run; 0 follows from --run-bytes");
  flags.add("--jobs", arguments->jobs.jobs, "Files to index in parallel; 0 uses all cores");
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
