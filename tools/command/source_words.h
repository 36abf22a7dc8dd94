// SPDX-License-Identifier: Apache-2.0
// The words for --from.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <dovetail/source_options.h>

#include "tools/command/command_line.h"

namespace dovetail::tools {

inline Flag add_from(Flags& flags, SourceFormat& from, const std::string& help) {
  using Word = std::pair<std::string_view, SourceFormat>;
  return flags.add_choice(
      "--from", from,
      std::array{Word{"detect", SourceFormat::detect}, Word{"tfrecord", SourceFormat::tfrecord},
                 Word{"tar", SourceFormat::tar}, Word{"jsonl", SourceFormat::jsonl}, Word{"csv", SourceFormat::csv},
                 Word{"lines", SourceFormat::lines}, Word{"folder", SourceFormat::folder},
                 Word{"mds", SourceFormat::mds}, Word{"recordio", SourceFormat::recordio},
                 Word{"idx", SourceFormat::idx}, Word{"dovetail", SourceFormat::dovetail}},
      help);
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
