// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/shard_info.h>

#include "format/shard_decoder.h"
#include "format/structures.h"
#include "reader/storage/input_file.h"

namespace dovetail::detail {

/// What the first and the last bytes of a finished shard tell, whatever its size.
struct ShardEnds {
  InputFile file;
  format::FileHeader header;
  format::ShardTail tail;             ///< `footer.info.name` is the file's own name, without its folder.
  std::vector<std::byte> tail_bytes;  ///< The end of the file as read; it often holds the index as well.

  const ShardInfo& info() const noexcept { return tail.footer.info; }
};

/// Opens a file and reads its ends: two reads.
///
/// Errors: `not_dovetail`, `not_indexed` for a TFRecord, `unfinished`, `unsupported_version`, those of the parts and
/// the
///         system's; all name the file.
Result<ShardEnds> read_shard_ends(const std::string& path);

/// What to say of a file that was asked for by itself and could not be opened: `foreign_file` in place of `not_dovetail`
/// where neither its name nor its end is that of a shard. Such a file is not damaged, it is of another kind.
Error of_named_file(const Error& error, const std::string& path);

/// Whether a shard is the one that its dataset was planned with. The name is not compared.
/// Errors: `manifest_mismatch` naming the first field that differs and both values, without a file.
Result<void> check_shard_info(const ShardInfo& expected, const ShardInfo& found);

}  // namespace dovetail::detail
