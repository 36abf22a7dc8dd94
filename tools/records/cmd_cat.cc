// SPDX-License-Identifier: Apache-2.0
// `dovetail cat`: records to standard output, in order.
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "format/try.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/messages.h"
#include "tools/command/pager.h"
#include "tools/command/sink.h"
#include "tools/records/output_form.h"
#include "tools/records/record_input.h"
#include "tools/records/write_dataset.h"

namespace dovetail::tools {

namespace {

struct CatArguments {
  std::string path;
  SourceFormat from = SourceFormat::detect;
  std::string range = ":";
  OutputForm form = OutputForm::text;
  bool json = false;
  bool no_pager = false;
};

/// Writes records of an input in another format.
Result<void> write_foreign(Sink& out, RecordStream& records, OutputForm form) {
  std::string text;
  while (out.good()) {
    DOVETAIL_ASSIGN(const std::optional<PlacedRecord> record, records.next());
    if (!record.has_value()) break;
    text.clear();
    append_record(text, *record, form);
    out.write(text);
  }
  return {};
}

Result<void> write_records(Sink& out, inspect::Input input, const IdRange& range, OutputForm form) {
  if (const Dataset* const dataset = std::get_if<Dataset>(&input)) {
    return write_dataset(out, *dataset, range, form, std::thread::hardware_concurrency());
  }
  DOVETAIL_ASSIGN(RecordStream records, RecordStream::open(std::move(input), range));
  return write_foreign(out, records, form);
}

Result<int> run(const CatArguments& arguments) {
  DOVETAIL_ASSIGN(const IdRange asked, parse_range(arguments.range));
  DOVETAIL_ASSIGN(inspect::Input input, open_input(arguments.path, arguments.from));
  const Result<IdRange> range = range_in(input, asked);
  if (!range) return range.error().in_file(arguments.path);

  const OutputForm form = arguments.json ? OutputForm::placed : form_for_output(arguments.form);
  // Raw bytes do not go through the pager.
  const bool readable = form != OutputForm::raw && form != OutputForm::tfrecord;
  const Pager pager(readable && !arguments.no_pager);
  Sink out = Sink::standard_output();
  const Result<void> read = write_records(out, std::move(input), *range, form);
  // Write the records before a failure first; they are good.
  const Result<void> written = out.finish();
  if (!read) return read.error();
  if (!written) return written.error();
  return kExitGood;
}

}  // namespace

void add_cat(CommandLine& line) {
  const auto arguments = std::make_shared<CatArguments>();
  Flags flags =
      line.subcommand("cat", "Write records to standard output, also from files in other formats",
                      {"dovetail cat data --range 0:3", "dovetail cat data --format tfrecord > data.tfrecord"},
                      [arguments] { return run(*arguments); });
  add_input(flags, arguments->path, arguments->from);
  flags
      .add("--range", arguments->range,
           "Records A:B of the dataset, B not included; A:, :B and A, one record, work too")
      .shown_as("A:B");
  add_output_form(flags, arguments->form);
  flags.add("--json", arguments->json, "Write one JSON object per record, with its place");
  add_no_pager(flags, arguments->no_pager);
}

}  // namespace dovetail::tools
