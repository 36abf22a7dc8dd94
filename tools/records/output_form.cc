// SPDX-License-Identifier: Apache-2.0
#include "tools/records/output_form.h"

#include <unistd.h>

#include <array>
#include <string>

#include "format/text/hex.h"
#include "format/text/utf8.h"
#include "format/text/visible.h"
#include "format/text/words.h"
#include "format/tfrecord/tfrecord.h"
#include "inspect/payload.h"
#include "tools/command/json.h"
#include "tools/command/render.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

void append(std::string& out, ByteView bytes) {
  out.append(as_chars(bytes));
}

void append_tfrecord(std::string& out, ByteView record) {
  std::array<std::byte, format::kTfrecordHeaderBytes> header{};
  std::array<std::byte, format::kTfrecordFooterBytes> footer{};
  format::encode_tfrecord_header(record.size(), header);
  format::encode_tfrecord_footer(record, footer);
  append(out, header);
  append(out, record);
  append(out, footer);
}

/// The readable form of a record.
std::string shown(ByteView record) {
  const inspect::Payload payload = inspect::guess_payload(record);
  if (payload == inspect::Payload::example) return content_json(record);
  return format::is_utf8(as_chars(record)) ? format::visible_lines(as_chars(record)) : format::hex(record);
}

}  // namespace

OutputForm form_for_output(OutputForm form) {
  return form == OutputForm::text && ::isatty(STDOUT_FILENO) == 1 ? OutputForm::shown : form;
}

Flag add_output_form(Flags& flags, OutputForm& form) {
  return flags.add_choice(
      "--format", form,
      format::Words<OutputForm, 5>{{{"text", OutputForm::text},
                                    {"hex", OutputForm::hex},
                                    {"json", OutputForm::json},
                                    {"raw", OutputForm::raw},
                                    {"tfrecord", OutputForm::tfrecord}}},
      "Output format; on a terminal, text has its control characters escaped, and the rest is JSON or hex");
}

void append_record(std::string& out, const PlacedRecord& record, OutputForm form) {
  switch (form) {
    case OutputForm::text:
      append(out, record.bytes);
      out += '\n';
      break;
    case OutputForm::shown:
      out += shown(record.bytes) + '\n';
      break;
    case OutputForm::hex:
      out += format::hex(record.bytes) + '\n';
      break;
    case OutputForm::raw:
      append(out, record.bytes);
      break;
    case OutputForm::tfrecord:
      append_tfrecord(out, record.bytes);
      break;
    case OutputForm::json:
      out += content_json(record.bytes) + '\n';
      break;
    case OutputForm::placed:
      out += to_line(to_json(record));
      break;
  }
}

}  // namespace dovetail::tools
