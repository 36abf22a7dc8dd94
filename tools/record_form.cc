// SPDX-License-Identifier: Apache-2.0
#include "tools/record_form.h"

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

Flag add_record_form(Flags& flags, RecordForm& form) {
  using Word = std::pair<std::string_view, RecordForm>;
  return flags.add_choice(
      "--format", form,
      std::array{Word{"text", RecordForm::text}, Word{"hex", RecordForm::hex}, Word{"json", RecordForm::json},
                 Word{"raw", RecordForm::raw}, Word{"tfrecord", RecordForm::tfrecord}},
      "How a record is written");
}

void write_record(Sink& out, const PlacedRecord& record, RecordForm form) {
  switch (form) {
    case RecordForm::text:
      out.write(record.bytes);
      out.write("\n");
      break;
    case RecordForm::hex:
      out.write(hex(record.bytes) + '\n');
      break;
    case RecordForm::raw:
      out.write(record.bytes);
      break;
    case RecordForm::tfrecord:
      write_tfrecord(out, record.bytes);
      break;
    case RecordForm::json:
      out.write(content_json(record.bytes) + '\n');
      break;
    case RecordForm::placed:
      out.write(to_line(to_json(record)));
      break;
  }
}

}  // namespace dovetail::tools
