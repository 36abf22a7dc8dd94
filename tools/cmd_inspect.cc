// SPDX-License-Identifier: Apache-2.0
// `dovetail inspect`: what a file says about itself.
#include <algorithm>
#include <memory>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/inspection.h"
#include "tools/json.h"
#include "tools/record_json.h"
#include "tools/render.h"
#include "tools/sink.h"

namespace dovetail::tools {

namespace {

/// As much of a record as a person looks at.
constexpr std::size_t kPreviewBytes = 512;

struct Arguments {
  std::string path;
  std::optional<std::uint64_t> record;
  bool blocks = false;
  bool full = false;
  bool json = false;
};

std::string to_text(const PlacedRecord& record) {
  Listing listing;
  listing.add("id", record.id);
  listing.add("shard", record.shard);
  listing.add("record", record.record);
  listing.add("bytes", record.bytes.size());
  std::string text =
      listing.to_text() + '\n' + hex_dump(record.bytes.first(std::min(kPreviewBytes, record.bytes.size())));
  if (record.bytes.size() > kPreviewBytes) {
    text += "... " + std::to_string(record.bytes.size() - kPreviewBytes) + " more bytes; `dovetail cat` writes them\n";
  }
  return text;
}

Result<int> print(std::string_view text, int code) {
  Sink out = Sink::standard_output();
  out.write(text);
  if (const Result<void> written = out.finish(); !written) return written.error();
  return code;
}

Result<int> run_record(const Arguments& arguments) {
  Result<Input> input = open_input(arguments.path);
  if (!input) return input.error();
  const std::uint64_t id = *arguments.record;
  Result<RecordStream> records = RecordStream::open(std::move(*input), {.first = id, .end = {}});
  if (!records) return records.error().in_file(arguments.path);
  const Result<std::optional<PlacedRecord>> record = records->next();
  if (!record) return record.error();
  if (!record->has_value()) {
    return Error(Errc::invalid_option,
                 "--record = " + std::to_string(id) + ": there are only " + std::to_string(id) + " records, from 0")
        .in_file(arguments.path);
  }
  return print(arguments.json ? to_line(to_json(**record)) : to_text(**record), kExitGood);
}

Result<int> run(const Arguments& arguments) {
  if (arguments.record) return run_record(arguments);
  std::optional<Error> unfinished;
  const Result<Inspection> inspection = inspect(arguments.path, {.full = arguments.full}, unfinished);
  if (!inspection) return inspection.error();
  const int code = unfinished ? report(*unfinished) : kExitGood;
  return print(
      arguments.json ? to_line(to_json(*inspection, arguments.blocks)) : to_text(*inspection, arguments.blocks), code);
}

}  // namespace

void add_inspect(CommandLine& line) {
  const auto arguments = std::make_shared<Arguments>();
  Flags flags = line.subcommand("inspect", "Show what a shard, a dataset or a TFRecord file consists of",
                                [arguments] { return run(*arguments); });
  add_path(flags, arguments->path);
  const Flag blocks = flags.add("--blocks", arguments->blocks, "List every block");
  flags.add("--full", arguments->full,
            "Read every record for the sizes; otherwise a sample is read where there is much to read");
  flags.add("--record", arguments->record, "Show one record of the dataset, counted from 0").excludes(blocks);
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
