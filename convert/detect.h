// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/record_source.h>

#include "convert/source_file.h"

namespace dovetail::detail {

/// What a file holds.
struct FileKind {
  SourceFormat format = SourceFormat::tfrecord;  ///< `tfrecord` or `lines`.
  Compression compression = Compression::none;
};

/// Looks at the first bytes of a file. `wanted` is `detect`, `tfrecord` or `lines`; the latter two leave only the
/// compression open.
/// Errors: `unknown_format`, also for a Dovetail shard; the system's.
Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted);

/// Whether a file is a Dovetail shard, finished or not.
Result<bool> is_shard(const SourceFile& file);
/// The error for shards and datasets as sources.
Error packed_already(const std::string& path);

/// Whether a file is named as TFRecords are: `*.tfrecord` or `*.tfrecords`, `-NNNNN-of-NNNNN` behind or instead of it,
/// and at the end perhaps `.gz`, `.gzip`, `.zlib` or `.zz`.
bool has_tfrecord_name(std::string_view path);

}  // namespace dovetail::detail
