// SPDX-License-Identifier: Apache-2.0
// The inspection page as a file: for the command and for Python.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "inspect/inspection.h"

namespace dovetail::tools {

struct PageFile {
  std::size_t bytes = 0;
  std::size_t records = 0;  ///< Records with a card.
  std::size_t images = 0;
};

/// Checks that the page of `inspected` may be written to `file`, before the work for it is done.
/// Errors: those of `check_outputs`.
Result<void> check_page_file(const std::string& file, const std::string& inspected);

/// Writes the page of what was inspected as `from`, with some of its records. `cancelled` is polled
/// as by `inspect::open_input`.
/// Errors: that of a shard that was never finished; those of `inspect::open_input`, `take_records`
///         and `replace_text`.
Result<PageFile> write_page(const std::string& file, const inspect::Inspection& inspection, SourceFormat from,
                            std::function<bool()> cancelled = {});

}  // namespace dovetail::tools
