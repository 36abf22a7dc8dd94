// SPDX-License-Identifier: Apache-2.0
// `dovetail convert`: packs files of other formats into a dataset.
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include <dovetail/convert.h>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/interrupt.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "tools/render.h"
#include "tools/sink.h"
#include "tools/utf8.h"

namespace dovetail::tools {

namespace {

struct Arguments {
  std::string folder;
  std::string dataset_id;
  std::vector<std::string> metadata;
  std::string schema;
  ConvertOptions convert;
  bool json = false;
};

/// What was made; text and JSON are views of it.
struct Summary {
  ConvertReport report;
  std::uint64_t stored_bytes = 0;
  double seconds = 0;
};

boost::json::object to_json(const Summary& summary) {
  boost::json::array formats;
  for (const SourceFormat format : summary.report.formats) formats.push_back(boost::json::string(to_string(format)));
  return {{"manifest", to_utf8(summary.report.dataset.manifest)},
          {"dataset_id", summary.report.dataset.id.to_hex()},
          {"formats", std::move(formats)},
          {"files", summary.report.files},
          {"input_bytes", summary.report.input_bytes},
          {"records", summary.report.records},
          {"raw_bytes", summary.report.raw_bytes},
          {"shards", summary.report.dataset.shards.size()},
          {"stored_bytes", summary.stored_bytes},
          {"seconds", summary.seconds}};
}

std::string to_text(const Summary& summary) {
  const ConvertReport& report = summary.report;
  Listing listing;
  listing.add("manifest", report.dataset.manifest);
  listing.add("dataset", report.dataset.id.to_hex());
  listing.add("input", std::to_string(report.files) + " files, " + human_bytes(report.input_bytes));
  listing.add("records", std::to_string(report.records) + ", " + human_bytes(report.raw_bytes));
  listing.add("shards",
              std::to_string(report.dataset.shards.size()) + ", " + human_bytes(summary.stored_bytes) + " stored");
  return listing.to_text();
}

Result<void> complete(Arguments& arguments) {
  WriterOptions& shard = arguments.convert.writer.shard;
  if (!arguments.dataset_id.empty()) {
    const Result<DatasetId> id = DatasetId::from_hex(arguments.dataset_id);
    if (!id)
      return Error(Errc::invalid_option, "--dataset-id = " + arguments.dataset_id + ": it must be 32 hex digits");
    shard.dataset_id = *id;
  }
  if (!arguments.schema.empty()) {
    Result<Schema> schema = parse_schema(arguments.schema);
    if (!schema) return schema.error();
    shard.schema = std::move(*schema);
  }
  for (const std::string& pair : arguments.metadata) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(Errc::invalid_option, "--meta " + pair + ": it must be KEY=VALUE");
    }
    shard.metadata[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return {};
}

Result<Summary> convert_with_progress(Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  Progress progress("packing");
  arguments.convert.progress = [&progress](const ConvertProgress& done) {
    const double share =
        done.input_total > 0 ? static_cast<double>(done.input_bytes) / static_cast<double>(done.input_total) : -1.0;
    progress.update(done.records, done.raw_bytes, share);
    return !interrupted();
  };
  Result<ConvertReport> report = convert(arguments.folder, arguments.convert);
  if (!report) return report.error();
  Summary summary;
  summary.report = std::move(*report);
  for (const ShardInfo& shard : summary.report.dataset.shards) summary.stored_bytes += shard.stored_bytes;
  summary.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return summary;
}

Result<int> run(Arguments& arguments) {
  if (const Result<void> completed = complete(arguments); !completed) return completed.error();
  catch_interrupts();
  const Result<Summary> summary = convert_with_progress(arguments);
  if (!summary) return summary.error();
  Sink out = Sink::standard_output();
  out.write(arguments.json ? to_line(to_json(*summary)) : to_text(*summary));
  if (const Result<void> written = out.finish(); !written) return written.error();
  return kExitGood;
}

void add_layout_arguments(Flags& flags, ConvertOptions& options) {
  using Word = std::pair<std::string_view, Codec>;
  WriterOptions& shard = options.writer.shard;
  const Flag shards =
      flags.add("--shards", options.shards, "This many shards of about equal size; 0 goes by --shard-bytes");
  flags.add_size("--shard-bytes", options.writer.shard_bytes, "Close a shard at this many bytes of records")
      .preset("256M")
      .excludes(shards);
  flags.add_choice("--codec", shard.codec, std::array{Word{"none", Codec::none}, Word{"snappy", Codec::snappy}},
                   "Compression of blocks, kept where it pays");
  flags.add_size("--block-bytes", shard.block_bytes, "Target for the records of a block").preset("64K");
  flags.add_size("--run-bytes", shard.run_bytes, "Target for a run, the unit of reading").preset("256K");
  flags.add("--run-records", shard.run_records, "Records per run; 0 chooses by --run-bytes");
}

}  // namespace

void add_convert(CommandLine& line) {
  using Word = std::pair<std::string_view, SourceFormat>;
  const auto arguments = std::make_shared<Arguments>();
  ConvertOptions& options = arguments->convert;
  WriterOptions& shard = options.writer.shard;
  Flags flags = line.subcommand("convert", "Pack TFRecords, folders of files or lines of text into a dataset",
                                [arguments] { return run(*arguments); });
  flags.add("SRC", options.sources, "Files and folders, taken in this order").required();
  flags.add("--to", arguments->folder, "Folder for the shards and the manifest").shown_as("DIR").required();
  flags.add_choice("--from", options.from,
                   std::array{Word{"detect", SourceFormat::detect}, Word{"tfrecord", SourceFormat::tfrecord},
                              Word{"folder", SourceFormat::folder}, Word{"lines", SourceFormat::lines}},
                   "What the sources are");
  flags.add("--record-type", shard.record_type, "What a record is, in words; kept in the metadata").shown_as("TEXT");
  flags.add("--meta", arguments->metadata, "Kept in the metadata; may be given several times").shown_as("KEY=VALUE");
  flags.add("--schema", arguments->schema, "The columns that features become, such as \"image:u8[28,28,1], label:i64\"")
      .shown_as("COLUMNS");
  flags.add("--dataset-id", arguments->dataset_id, "32 hex digits, for reproducible files; random if not given")
      .shown_as("ID");
  flags.add_size("--max-record-bytes", shard.max_record_bytes, "Refuse longer records").preset("4G - 1");
  flags.add("--overwrite", shard.overwrite, "Replace a dataset that is there");
  flags.add("--jobs", options.writer.encode_threads, "Threads that encode; 0 takes all cores");
  add_json(flags, arguments->json);
  flags.group("How it is packed");
  add_layout_arguments(flags, options);
}

}  // namespace dovetail::tools
