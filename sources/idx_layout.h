// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: two zero bytes, the element type, the number of dimensions, their sizes
// as big-endian u32, then the elements, also big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/schema.h>

namespace dovetail::detail {

struct IdxLayout {
  Dtype dtype = Dtype::u8;
  std::vector<std::uint32_t> sizes;  ///< The first one counts the items.
  std::uint64_t item_bytes = 0;

  std::uint64_t header_bytes() const noexcept { return 4 + 4 * sizes.size(); }
  std::uint32_t items() const noexcept { return sizes.front(); }
  std::uint64_t file_bytes() const noexcept { return header_bytes() + items() * item_bytes; }
};

/// The header of a file; empty if it is cut, invalid, or claims more bytes than a file can have.
std::optional<IdxLayout> parse_idx_layout(ByteView head);

}  // namespace dovetail::detail
