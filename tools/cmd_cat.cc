// SPDX-License-Identifier: Apache-2.0
// `dovetail cat`: records to standard output, in order.
#include <array>
#include <memory>

#include "format/tfrecord.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json.h"
#include "tools/record_input.h"
#include "tools/record_json.h"
#include "tools/render.h"
#include "tools/sink.h"

namespace dovetail::tools {

namespace {

enum class Form {
  text,      ///< The bytes and a newline.
  hex,       ///< Two digits a byte and a newline.
  raw,       ///< The bytes.
  tfrecord,  ///< TFRecord framing.
  json,      ///< One object a line.
};

struct Arguments {
  std::string path;
  std::string range = ":";
  Form form = Form::text;
  bool json = false;
};

void write_tfrecord(Sink& out, ByteView record) {
  std::array<std::byte, format::kTfrecordHeaderBytes> header{};
  std::array<std::byte, format::kTfrecordFooterBytes> footer{};
  format::encode_tfrecord_header(record.size(), header);
  format::encode_tfrecord_footer(record, footer);
  out.write(ByteView(header));
  out.write(record);
  out.write(ByteView(footer));
}

void write_record(Sink& out, const PlacedRecord& record, Form form) {
  switch (form) {
    case Form::text:
      out.write(record.bytes);
      out.write("\n");
      break;
    case Form::hex:
      out.write(hex(record.bytes) + '\n');
      break;
    case Form::raw:
      out.write(record.bytes);
      break;
    case Form::tfrecord:
      write_tfrecord(out, record.bytes);
      break;
    case Form::json:
      out.write(to_line(to_json(record)));
      break;
  }
}

Result<void> write_all(Sink& out, RecordStream& records, Form form) {
  while (out.good()) {
    const Result<std::optional<PlacedRecord>> record = records.next();
    if (!record) return record.error();
    if (!record->has_value()) break;
    write_record(out, **record, form);
  }
  return {};
}

Result<int> run(const Arguments& arguments) {
  const Result<IdRange> range = parse_range(arguments.range);
  if (!range) return range.error();
  Result<Input> input = open_input(arguments.path);
  if (!input) return input.error();
  Result<RecordStream> records = RecordStream::open(std::move(*input), *range);
  if (!records) return records.error().in_file(arguments.path);

  Sink out = Sink::standard_output();
  const Result<void> read = write_all(out, *records, arguments.json ? Form::json : arguments.form);
  // What was read before a failure is good and goes out first.
  const Result<void> written = out.finish();
  if (!read) return read.error();
  if (!written) return written.error();
  return kExitGood;
}

}  // namespace

void add_cat(CommandLine& line) {
  using Word = std::pair<std::string_view, Form>;
  const auto arguments = std::make_shared<Arguments>();
  Flags flags = line.subcommand("cat", "Write records to standard output, also those of TFRecord files",
                                [arguments] { return run(*arguments); });
  add_path(flags, arguments->path);
  flags.add("--range", arguments->range, "Records A:B of the dataset, B not included; A: and :B work too")
      .shown_as("A:B");
  flags.add_choice("--format", arguments->form,
                   std::array{Word{"text", Form::text}, Word{"hex", Form::hex}, Word{"raw", Form::raw},
                              Word{"tfrecord", Form::tfrecord}},
                   "How a record is written");
  flags.add("--json", arguments->json, "Write one JSON object per record");
}

}  // namespace dovetail::tools
