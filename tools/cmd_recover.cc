// SPDX-License-Identifier: Apache-2.0
// `dovetail recover`: saves the intact records of a damaged or unfinished shard or dataset.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <dovetail/recover.h>

#include "format/text/count_of.h"
#include "format/text/visible.h"
#include "format/try.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/interrupt.h"
#include "tools/command/json.h"
#include "tools/command/lost_ranges.h"
#include "tools/command/messages.h"
#include "tools/command/progress.h"
#include "tools/command/sink.h"
#include "tools/command/text_file.h"

namespace dovetail::tools {

namespace {

struct RecoverArguments {
  std::string source;
  std::string target;
  std::string dataset_id;
  bool overwrite = false;
  bool allow_outside = false;
  bool json = false;
  std::uint64_t regions = RecoverOptions().most_regions;
};

boost::json::object to_json(const RecoverReport& report) {
  boost::json::value expected;
  if (report.expected_records) expected = *report.expected_records;
  return {{"ok", report.ok()},
          {"records", report.records},
          {"blocks", report.blocks},
          {"expected_records", std::move(expected)},
          {"source_bytes", report.source_bytes},
          {"checked_bytes", report.checked_bytes},
          {"unreadable_bytes", report.unreadable_bytes},
          {"shards", report.shards.size()},
          {"dataset_id", report.dataset_id.to_hex()},
          {"lost", lost_json(report.lost)},
          {"lost_regions", report.lost_regions},
          {"lost_records", report.lost_records},
          {"passed_over", texts_json(report.passed_over)},
          {"not_shards", texts_json(report.not_shards)}};
}

std::string to_text(const RecoverReport& report) {
  std::string text = lost_text(report.lost, report.lost_regions);
  for (const std::string& file : report.passed_over) {
    text += format::visible(file) + ": not read: another file of the same shard is\n";
  }
  for (const std::string& file : report.not_shards) {
    text += format::visible(file) + ": not read: it is a manifest or an index, not a shard\n";
  }
  const std::string saved = "saved " +
                            (report.expected_records ? std::to_string(report.records) + " of " +
                                                           format::count_of(*report.expected_records, "record")
                                                     : format::count_of(report.records, "record")) +
                            " in " + format::count_of(report.blocks, "block");
  if (report.unreadable_bytes > 0) {
    text +=
        format::count_of(report.unreadable_bytes, "byte") + " could not be read; a copy of the medium may save more\n";
  }
  if (report.ok()) return text + "good: " + saved + '\n';
  return text + "damaged: " + format::count_of(report.lost_regions, "place") + "; " + saved +
         (report.expected_records ? "\n" : "; the original number is unknown\n");
}

Result<int> run(const RecoverArguments& arguments) {
  for (const std::string& path : {arguments.source, arguments.target}) {
    DOVETAIL_TRY(check_local(path));
  }
  RecoverOptions options;
  options.overwrite = arguments.overwrite;
  options.allow_outside = arguments.allow_outside;
  options.most_regions = arguments.regions;
  DOVETAIL_ASSIGN(options.dataset_id, dataset_id_of(arguments.dataset_id));
  catch_interrupts();
  std::optional<Progress> progress("recovering");
  options.progress = [&](std::uint64_t records, std::uint64_t bytes) {
    progress->update(records, bytes, -1);
    return !interrupted();
  };
  const auto report = recover(arguments.source, arguments.target, options);
  progress.reset();
  if (!report) return report.error();
  return print(arguments.json ? to_line(to_json(*report)) : to_text(*report), report->ok() ? kExitGood : kExitDamaged);
}

}  // namespace

void add_recover(CommandLine& line) {
  const auto arguments = std::make_shared<RecoverArguments>();
  Flags flags = line.subcommand("recover", "Save the intact records of a damaged or unfinished shard or dataset",
                                {"dovetail recover data rescued", "dovetail recover data/shard-000000.dvt rescued.dvt"},
                                [arguments] { return run(*arguments); });
  flags
      .add("SRC", arguments->source,
           "A shard or a folder of shards (also .NAME.partial-* and NAME.partial of a killed writer), or a manifest")
      .required();
  flags
      .add("DST", arguments->target,
           "The file to write, or the folder if SRC is a folder or a manifest; written also if records are lost (exit "
           "code 1), not after an error")
      .required();
  flags.add("--overwrite", arguments->overwrite, "Replace an existing target, but never the source");
  add_dataset_id(flags, arguments->dataset_id);
  flags.add("--allow-outside", arguments->allow_outside, "Follow a manifest to files outside its folder");
  flags.add("--regions", arguments->regions, "List at most this many lost places; all are counted");
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
