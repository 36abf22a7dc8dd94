// SPDX-License-Identifier: Apache-2.0
// The words for the kinds of storage.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include <dovetail/storage_kind.h>

#include "tools/command/command_line.h"

namespace dovetail::tools {

inline void add_storage(Flags& flags, StorageKind& storage) {
  using Word = std::pair<std::string_view, StorageKind>;
  flags
      .add_choice("--storage", storage,
                  std::array{Word{"auto", StorageKind::automatic},
                             Word{to_string(StorageKind::automatic), StorageKind::automatic},
                             Word{to_string(StorageKind::pread), StorageKind::pread},
                             Word{to_string(StorageKind::io_uring_direct), StorageKind::io_uring_direct}},
                  "Storage backend; io_uring_direct bypasses the page cache")
      .preset("auto");
}

}  // namespace dovetail::tools
