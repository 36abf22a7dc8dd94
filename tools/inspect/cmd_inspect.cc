// SPDX-License-Identifier: Apache-2.0
// `dovetail inspect`: shows the content of a dataset or of records in other formats.
#include <algorithm>
#include <memory>
#include <utility>

#include "format/text/count_of.h"
#include "format/text/shell_quoted.h"
#include "format/text/utf8.h"
#include "format/try.h"
#include "format/words/convert_words.h"
#include "inspect/inspection.h"
#include "inspect/open_input.h"
#include "inspect/payload.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/messages.h"
#include "tools/command/pager.h"
#include "tools/command/progress.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/inspect/inspection_page.h"
#include "tools/inspect/inspection_text.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

/// The bytes of a record that are shown.
constexpr std::size_t kPreviewBytes = 512;

struct InspectArguments {
  std::string path;
  SourceFormat from = SourceFormat::detect;
  std::optional<std::uint64_t> record;
  bool blocks = false;
  bool full = false;
  bool features = false;
  bool no_pager = false;
  std::optional<std::string> html;
  bool json = false;
};

std::string to_text(const PlacedRecord& record, const InspectArguments& arguments, const Colours& colours) {
  Listing listing;
  listing.add("id", record.id);
  listing.add("shard", record.shard);
  listing.add("record", record.record);
  listing.add("bytes", record.bytes.size());
  listing.add("payload", describe(inspect::guess_payload(record.bytes)));
  std::string text =
      listing.to_text(colours) + '\n' + hex_dump(record.bytes.first(std::min(kPreviewBytes, record.bytes.size())));
  if (record.bytes.size() <= kPreviewBytes) return text;
  const bool detected = arguments.from == SourceFormat::detect;
  const std::string from =
      detected ? "" : " --from " + std::string(format::word_of(format::kSourceFormatWords, arguments.from));
  return text + "... " + format::count_of(record.bytes.size() - kPreviewBytes, "more byte") + "; `dovetail cat " +
         format::shell_path(arguments.path) + from + " --range " + std::to_string(record.id) + "` writes them all\n";
}

int verdict(const inspect::Inspection& inspection) noexcept {
  return inspection.damaged() ? kExitDamaged : kExitGood;
}

/// Inspects with a progress line on a terminal.
Result<inspect::Inspection> inspect_input(const InspectArguments& arguments) {
  std::optional<Progress> line;
  std::string_view work;
  const auto progress = [&](const inspect::Progress& now) {
    if (std::exchange(work, now.work) != now.work) line.emplace(now.work);
    line->update(now.records, now.bytes, now.share);
    return true;
  };
  DOVETAIL_ASSIGN(inspect::Inspection inspection, inspect::inspect_path(arguments.path, {.from = arguments.from,
                                                                                         .full = arguments.full,
                                                                                         .features = arguments.features,
                                                                                         .progress = progress}));
  line.reset();  // a warning would go on in its line
  warn_of_missing(arguments.path, inspection.left_out);
  return inspection;
}

Result<int> run_record(const InspectArguments& arguments) {
  DOVETAIL_ASSIGN(inspect::Input input, open_input(arguments.path, arguments.from));
  const std::uint64_t id = *arguments.record;
  Result<RecordStream> records = RecordStream::open(std::move(input), {.first = id, .end = {}});
  if (!records) return records.error().in_file(arguments.path);
  DOVETAIL_ASSIGN(const std::optional<PlacedRecord> record, records->next());
  if (!record) return no_such_record(id, id).in_file(arguments.path);
  if (arguments.json) return print(to_line(to_json(*record)));
  const Pager pager(!arguments.no_pager);
  return print(to_text(*record, arguments, {pager.colours()}));
}

Result<int> run_page(const InspectArguments& arguments) {
  const std::string& file = *arguments.html;
  DOVETAIL_TRY(check_page_file(file, arguments.path));
  DOVETAIL_ASSIGN(const inspect::Inspection inspection, inspect_input(arguments));
  DOVETAIL_ASSIGN(const PageFile page, write_page(file, inspection, arguments.from));
  const int code = verdict(inspection);
  if (arguments.json) {
    return print(to_line(boost::json::object{{"page", format::to_utf8(file)},
                                             {"bytes", page.bytes},
                                             {"records", page.records},
                                             {"images", page.images}}),
                 code);
  }
  Listing listing;
  listing.add("page", file);
  listing.add("bytes", page.bytes);
  listing.add("records", page.records);
  listing.add("images", page.images);
  return print(listing.to_text() + damage_text(inspection), code);
}

Result<int> run(const InspectArguments& arguments) {
  if (arguments.record) return run_record(arguments);
  if (arguments.html) return run_page(arguments);
  DOVETAIL_ASSIGN(const inspect::Inspection inspection, inspect_input(arguments));
  const std::optional<Error>& unfinished = inspection.unfinished;
  const int code = unfinished ? report(*unfinished) : verdict(inspection);
  if (arguments.json) return print(to_line(to_json(inspection, arguments.blocks)), code);
  const Pager pager(!arguments.no_pager);
  return print(tools::to_text(inspection, arguments.blocks, {pager.colours()}), code);
}

}  // namespace

void add_inspect(CommandLine& line) {
  const auto arguments = std::make_shared<InspectArguments>();
  Flags flags = line.subcommand("inspect", "Show the contents of a shard, a dataset or a source of another format",
                                {"dovetail inspect data", "dovetail inspect data --html data.html"},
                                [arguments] { return run(*arguments); });
  add_input(flags, arguments->path, arguments->from);
  const Flag blocks = flags.add("--blocks", arguments->blocks, "List every block");
  flags.add("--full", arguments->full, "Read every record for the sizes; by default a sample of large inputs");
  const Flag features = flags.add("--features", arguments->features,
                                  "Read every record for statistics of the features of tf.train.Examples, and a schema "
                                  "for --columns");
  const Flag record = flags.add("--record", arguments->record, "Show one record of the dataset, counted from 0")
                          .excludes(blocks)
                          .excludes(features);
  flags
      .add("--html", arguments->html,
           "Write an HTML page: tables (also of features), pictures of sizes and blocks, and sample records")
      .shown_as("FILE")
      .excludes(blocks)
      .excludes(record);
  add_no_pager(flags, arguments->no_pager);
  add_json(flags, arguments->json);
}

}  // namespace dovetail::tools
