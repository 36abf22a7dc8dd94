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

/// The first and the last bytes of a finished shard, decoded. Their size does not depend on that of
/// the shard.
struct ShardEnds {
  InputFile file;
  format::FileHeader header;
  format::ShardTail tail;             ///< `footer.info.name` is the file's name without its folder.
  std::vector<std::byte> tail_bytes;  ///< The end of the file; often includes the index.

  const ShardInfo& info() const noexcept { return tail.footer.info; }
};

/// Opens a file and reads both ends, with two reads.
///
/// Errors: `not_dovetail`; `not_indexed` for a TFRecord; `unfinished`; `unsupported_version`; those
///         of decoding and of the system. All name the file.
Result<ShardEnds> read_shard_ends(const std::string& path);

/// The error for a file that the user named and that cannot be opened. It is `foreign_file` in
/// place of `not_dovetail` if neither its name nor its end is that of a shard: such a file is not
/// damaged, but of another kind.
Error of_named_file(const Error& error, const std::string& path);

/// Checks that a shard is the one that its dataset was planned with. Ignores the name.
/// Errors: `manifest_mismatch`, naming the first field that differs and both values, but no file.
Result<void> check_shard_info(const ShardInfo& expected, const ShardInfo& found);

}  // namespace dovetail::detail
