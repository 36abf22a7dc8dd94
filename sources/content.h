// SPDX-License-Identifier: Apache-2.0
// What the first bytes of a file say about it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>
#include <dovetail/source_options.h>

namespace dovetail::detail {

/// As many bytes of a file as are looked at.
inline constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

bool has_shard_magic(ByteView head);
/// gzip, bzip2, xz or zstd; `none` for all else.
Compression compression_of_magic(ByteView head);
bool has_zlib_magic(ByteView head);
/// A length whose CRC matches.
bool begins_with_tfrecord(ByteView head);
/// A header whose checksum matches.
bool begins_with_tar(ByteView head);
bool begins_with_recordio(ByteView head);
/// Needs the size of the file where it is known, because four bytes, two of them 0, are little; 0 where not.
bool begins_with_idx(ByteView head, std::uint64_t file_bytes);
/// No byte is 0.
bool is_text(ByteView head);

/// The compression of TFRecords. One that is not compressed may begin like gzip or zlib, its first bytes being a length:
/// the CRC that follows it decides.
Compression compression_of_tfrecord(ByteView head, std::uint64_t file_bytes);

}  // namespace dovetail::detail
