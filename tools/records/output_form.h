// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/command/command_line.h"
#include "tools/command/sink.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// How a record is written.
enum class OutputForm {
  text,      ///< The bytes and a newline.
  shown,     ///< The same for a terminal: made visible, and what is no text as JSON or hex.
  hex,       ///< Two digits a byte and a newline.
  raw,       ///< The bytes.
  tfrecord,  ///< TFRecord framing.
  json,      ///< What the record holds, as JSON in a line of its own.
  placed,    ///< Its place and bytes, as one object of JSON a line.
};

/// `--format`, for all forms but `shown` and `placed`.
Flag add_output_form(Flags& flags, OutputForm& form);

/// The form as asked for, but `shown` for `text` where standard output is a terminal. To be asked before a pager begins.
OutputForm form_for_output(OutputForm form);

void write_record(Sink& out, const PlacedRecord& record, OutputForm form);

}  // namespace dovetail::tools
