// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "reader/walk/entry.h"

namespace dovetail::detail {

/// Copies a record. With `slack`, may read and write up to `kCopySlack` bytes after its end. That
/// saves short records a call of `memcpy` and a branch on their length.
[[gnu::always_inline]] inline void copy_record(std::byte* out, const std::byte* in, std::size_t bytes,
                                               bool slack) noexcept {
  if (!slack || bytes > 4 * kCopySlack) {
    if (bytes > 0) std::memcpy(out, in, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kCopySlack) std::memcpy(out + at, in + at, kCopySlack);
}

}  // namespace dovetail::detail
