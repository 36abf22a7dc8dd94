// SPDX-License-Identifier: Apache-2.0
// Arguments that name the input of a command.
#pragma once

#include <string>

#include <dovetail/source_options.h>

#include "format/words/convert_words.h"
#include "tools/command/command_line.h"

namespace dovetail::tools {

inline Flag add_from(Flags& flags, SourceFormat& from, const std::string& help) {
  return flags.add_choice("--from", from, format::kSourceFormatWords, help);
}

/// The positional PATH of records in any format, and --from.
inline void add_input(Flags& flags, std::string& path, SourceFormat& from) {
  flags
      .add("PATH", path,
           "A shard, a folder with a manifest, a manifest, or a quoted glob; or a file or folder that `convert` takes")
      .required();
  add_from(flags, from, "Format of PATH");
}

}  // namespace dovetail::tools
