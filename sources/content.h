// SPDX-License-Identifier: Apache-2.0
// Formats recognised by the first bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Bytes of a file that are examined.
inline constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

bool has_shard_magic(ByteView head);
/// gzip, bzip2, xz or zstd; `none` for anything else.
Compression compression_of_magic(ByteView head);
bool has_zlib_magic(ByteView head);
/// Whether it begins with a length whose CRC matches.
bool begins_with_tfrecord(ByteView head);
/// Whether it begins with a header whose checksum matches.
bool begins_with_tar(ByteView head);
bool begins_with_recordio(ByteView head);
/// Needs the size of the file if it is known, because the magic is weak: four bytes, two of them 0.
/// Pass 0 if it is not known.
bool begins_with_idx(ByteView head, std::uint64_t file_bytes);
/// Whether no byte is 0.
bool is_text(ByteView head);

/// The compression of TFRecords. An uncompressed file may begin like gzip or zlib, because its
/// first bytes are a length: the CRC after it decides.
Compression compression_of_tfrecord(ByteView head, std::uint64_t file_bytes);

}  // namespace dovetail::detail
