// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/error.h>
#include <dovetail/source_options.h>

#include "sources/bytes/source_file.h"

namespace dovetail::detail {

/// What a file holds.
struct FileKind {
  SourceFormat format = SourceFormat::tfrecord;  ///< Neither `detect` nor `folder`.
  Compression compression = Compression::none;
};

/// Whether the index of a TFRecord lies beside a file.
bool has_index(const std::string& path);

/// Whether a file is to be a TFRecord, whatever its bytes are by now: by its name, or because an
/// index lies beside it.
bool is_known_as_tfrecord(const std::string& path);

/// What the first bytes of a file say. Errors: `unknown_format`, or `malformed_input` where the name
/// is that of a TFRecord; the system's.
Result<FileKind> detect_bytes(const SourceFile& file);

/// The same, and with `detect` not against what the name promises; a file with the index of a TFRecord beside it is one,
/// whatever its bytes are by now. A format other than `detect` leaves only the compression open, and is not compared with
/// the bytes, but for a Dovetail shard, which is taken for nothing else.
/// Errors: `unknown_format`; `truncated` and `malformed_input` where the name promises a
/// compression and the file is empty or does not begin so, and where the name, or an index beside
/// it, says that it is a TFRecord and its bytes do not; the system's.
Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted);

/// "say which with --from ...", with the formats that a file can have.
const char* format_advice() noexcept;

}  // namespace dovetail::detail
