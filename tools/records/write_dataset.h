// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/dataset.h>
#include <dovetail/error.h>

#include "tools/command/sink.h"
#include "tools/records/output_form.h"
#include "tools/records/record_input.h"

namespace dovetail::tools {

/// Writes records [first, end) of a dataset in order. The threads read, check and format blocks,
/// and wait for their turns to write. Ends early, without an error, if the output fails.
///
/// Needs:  a range from `range_in`.
/// Errors: the first failure in the order of the records. The records before it are written.
/// Cost:   memory for two blocks, and for the text of a record or 1 MiB, per thread.
Result<void> write_dataset(Sink& out, const Dataset& dataset, const IdRange& range, OutputForm form, unsigned threads);

}  // namespace dovetail::tools
