// SPDX-License-Identifier: Apache-2.0
// RecordIO of dmlc and MXNet: u32 magic, u32 part << 29 | length, the bytes, padding to a multiple
// of 4. A record that contains the magic at a multiple of 4 is split there into parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include <dovetail/bytes.h>

#include "format/endian.h"

namespace dovetail::detail {

inline constexpr std::uint32_t kRecordioMagic = 0xCED7230A;
inline constexpr std::size_t kRecordioHeaderBytes = 8;

enum class RecordioPart : std::uint8_t { whole = 0, first = 1, middle = 2, last = 3 };  // 4 to 7 are invalid

struct RecordioHeader {
  std::uint32_t magic = 0;
  RecordioPart part = RecordioPart::whole;
  std::uint32_t bytes = 0;

  std::uint32_t padding() const noexcept { return (4 - bytes % 4) % 4; }
};

/// Needs `kRecordioHeaderBytes`.
inline RecordioHeader load_recordio_header(ByteView bytes) noexcept {
  const auto coded = format::load_le<std::uint32_t>(bytes.data() + 4);
  return {format::load_le<std::uint32_t>(bytes.data()), static_cast<RecordioPart>(coded >> 29), coded & 0x1FFFFFFF};
}

/// What MXNet puts before an image: u32 flag, f32 label, u64 id, u64 second id. A flag above 0 is
/// the number of labels that follow, instead of the one in the header.
inline constexpr std::size_t kImageHeaderBytes = 24;

}  // namespace dovetail::detail
