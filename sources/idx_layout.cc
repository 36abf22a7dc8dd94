// SPDX-License-Identifier: Apache-2.0
#include "sources/idx_layout.h"

#include "format/layout.h"

namespace dovetail::detail {

namespace {
constexpr std::size_t kMostDimensions = 8;
}  // namespace

std::size_t element_bytes(IdxType type) noexcept {
  switch (type) {
    case IdxType::u8:
    case IdxType::i8:
      return 1;
    case IdxType::i16:
      return 2;
    case IdxType::i32:
    case IdxType::f32:
      return 4;
    case IdxType::f64:
      return 8;
  }
  return 0;
}

std::optional<IdxLayout> parse_idx_layout(ByteView head) {
  if (head.size() < 4 || head[0] != std::byte{0} || head[1] != std::byte{0}) return std::nullopt;
  IdxLayout layout;
  layout.type = static_cast<IdxType>(std::to_integer<std::uint8_t>(head[2]));
  const auto dimensions = std::to_integer<std::size_t>(head[3]);
  layout.item_bytes = element_bytes(layout.type);
  if (layout.item_bytes == 0 || dimensions == 0 || dimensions > kMostDimensions) return std::nullopt;
  if (head.size() < 4 + 4 * dimensions) return std::nullopt;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::uint32_t size = 0;
    for (const std::byte byte : head.subspan(4 + 4 * i, 4)) size = size << 8 | std::to_integer<std::uint32_t>(byte);
    layout.sizes.push_back(size);
    if (i == 0) continue;
    if (size == 0) return std::nullopt;
    // Each product has a factor below 2^31 and one below 2^32.
    layout.item_bytes *= size;
    if (layout.item_bytes > format::kMaxRecordBytes / 2) return std::nullopt;
  }
  return layout;
}

}  // namespace dovetail::detail
