// SPDX-License-Identifier: Apache-2.0
#include "tools/output_form.h"

#include <array>

#include "format/tfrecord.h"
#include "tools/json.h"
#include "tools/record_json.h"
#include "tools/render.h"

namespace dovetail::tools {

namespace {

void write_tfrecord(Sink& out, ByteView record) {
  std::array<std::byte, format::kTfrecordHeaderBytes> header{};
  std::array<std::byte, format::kTfrecordFooterBytes> footer{};
  format::encode_tfrecord_header(record.size(), header);
  format::encode_tfrecord_footer(record, footer);
  out.write(ByteView(header));
  out.write(record);
  out.write(ByteView(footer));
}

}  // namespace

Flag add_output_form(Flags& flags, OutputForm& form) {
  using Word = std::pair<std::string_view, OutputForm>;
  return flags.add_choice(
      "--format", form,
      std::array{Word{"text", OutputForm::text}, Word{"hex", OutputForm::hex}, Word{"json", OutputForm::json},
                 Word{"raw", OutputForm::raw}, Word{"tfrecord", OutputForm::tfrecord}},
      "How a record is written");
}

void write_record(Sink& out, const PlacedRecord& record, OutputForm form) {
  switch (form) {
    case OutputForm::text:
      out.write(record.bytes);
      out.write("\n");
      break;
    case OutputForm::hex:
      out.write(hex(record.bytes) + '\n');
      break;
    case OutputForm::raw:
      out.write(record.bytes);
      break;
    case OutputForm::tfrecord:
      write_tfrecord(out, record.bytes);
      break;
    case OutputForm::json:
      out.write(content_json(record.bytes) + '\n');
      break;
    case OutputForm::placed:
      out.write(to_line(to_json(record)));
      break;
  }
}

}  // namespace dovetail::tools
