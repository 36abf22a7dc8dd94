// SPDX-License-Identifier: Apache-2.0
// Blocks as single Zstandard frames (RFC 8878), through the packaged library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

namespace dovetail::format {

// Each thread that calls these functions keeps a context: about 100 KiB for decoding, and more for
// encoding at high levels.

/// Appends a frame of `raw` that states its size. Returns false if the library has no memory; the
/// bytes of `body` behind the old end are then undefined.
bool append_zstd_frame(ByteView raw, std::uint32_t level, std::vector<std::byte>& body);

/// Decodes exactly one frame into exactly `raw`.
/// Errors: `decompression` for damaged bytes, another size, more than one frame, or a frame that
/// needs a dictionary; ENOMEM.
Result<void> decode_zstd_frame(ByteView stored, std::span<std::byte> raw);

}  // namespace dovetail::format
