// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// Format and compression of a file.
struct FileKind {
  SourceFormat format = SourceFormat::tfrecord;  ///< Neither `detect` nor `folder`.
  Compression compression = Compression::none;
};

/// Whether the index of a TFRecord lies beside a file.
bool has_index(const std::string& path);

/// Whether a file must be a TFRecord even if its bytes are damaged: by its name, or because an
/// index lies beside it.
bool is_known_as_tfrecord(const std::string& path);

/// The kind that the first bytes of a file show. Errors: `unknown_format`, or `malformed_input` if
/// the name is that of a TFRecord; the system's.
Result<FileKind> detect_bytes(const SourceFile& file);

/// The same, but with `detect` the bytes must also agree with the name, and a file with the index
/// of a TFRecord beside it is one, even if its bytes are damaged. With another format, only the
/// compression is detected, and the bytes are not compared with the format, except that a Dovetail
/// shard is always refused.
/// Errors: `unknown_format`; `truncated` and `malformed_input` if the name implies a compression
///         and the file is empty or begins otherwise, and if the name or an index says TFRecord and
///         the bytes do not; the system's.
Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted);

}  // namespace dovetail::detail
