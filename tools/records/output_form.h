// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tools/command/command_line.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Output form of a record.
enum class OutputForm {
  text,      ///< The bytes and a newline.
  shown,     ///< For a terminal: text is escaped; other records are JSON or hex.
  hex,       ///< Two digits per byte, and a newline.
  raw,       ///< The bytes.
  tfrecord,  ///< TFRecord framing.
  json,      ///< The content of the record, as one line of JSON.
  placed,    ///< Its place and bytes, as one JSON object per line.
};

/// Adds `--format`, with all forms except `shown` and `placed`.
Flag add_output_form(Flags& flags, OutputForm& form);

/// The requested form; `shown` replaces `text` if standard output is a terminal. Call this before a
/// pager starts.
OutputForm form_for_output(OutputForm form);

/// Appends the output form of a record.
void append_record(std::string& out, const PlacedRecord& record, OutputForm form);

}  // namespace dovetail::tools
