// SPDX-License-Identifier: Apache-2.0
// Blocks as single Zstandard frames (RFC 8878) of the packaged library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::format {

// Each thread that uses these keeps a context: some 100 KiB for decoding, more for encoding with the level.

/// Appends the frame of these bytes, with their size in it. False, with the bytes undefined behind the old end, where the library
/// has no memory.
bool append_zstd_frame(ByteView raw, std::uint32_t level, std::vector<std::byte>& body);

/// Decodes exactly one frame into exactly `raw`. Errors: `decompression` for damaged bytes, another size, more than a
/// frame, or one that needs a dictionary; ENOMEM.
Result<void> decode_zstd_frame(ByteView stored, std::span<std::byte> raw);

}  // namespace dovetail::format
