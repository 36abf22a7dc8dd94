// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "convert/byte_stream.h"
#include "convert/source_file.h"

namespace dovetail::detail {

/// Decodes a file of bzip2 or Zstandard by libarchive.
///
/// Needs:  `bzip2` or `zstd`.
/// Errors: the system's, where memory is short. Of the stream also `decompression` where the file is not of that
///         compression, or something follows its end.
/// Cost:   1 MiB, and up to 128 MiB for a window of Zstandard, as the file claims.
Result<std::unique_ptr<ByteStream>> make_archive_stream(SourceFile file, Compression compression);

}  // namespace dovetail::detail
