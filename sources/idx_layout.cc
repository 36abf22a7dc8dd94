// SPDX-License-Identifier: Apache-2.0
#include "sources/idx_layout.h"

#include <algorithm>
#include <array>

#include "format/layout.h"

namespace dovetail::detail {

namespace {
constexpr std::size_t kMostDimensions = 8;

struct ElementType {
  std::uint8_t code;
  Dtype dtype;
};
constexpr std::array kTypes = {ElementType{0x08, Dtype::u8},  ElementType{0x09, Dtype::i8},
                               ElementType{0x0B, Dtype::i16}, ElementType{0x0C, Dtype::i32},
                               ElementType{0x0D, Dtype::f32}, ElementType{0x0E, Dtype::f64}};
}  // namespace

std::optional<IdxLayout> parse_idx_layout(ByteView head) {
  if (head.size() < 4 || head[0] != std::byte{0} || head[1] != std::byte{0}) return std::nullopt;
  const auto code = std::to_integer<std::uint8_t>(head[2]);
  const auto* const type =
      std::find_if(kTypes.begin(), kTypes.end(), [code](const ElementType& each) { return each.code == code; });
  if (type == kTypes.end()) return std::nullopt;
  const auto dimensions = std::to_integer<std::size_t>(head[3]);
  if (dimensions == 0 || dimensions > kMostDimensions) return std::nullopt;
  if (head.size() < 4 + 4 * dimensions) return std::nullopt;
  IdxLayout layout{.dtype = type->dtype, .sizes = {}, .item_bytes = dtype_bytes(type->dtype)};
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
