// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dovetail/bytes.h>
#include <dovetail/error.h>

#include "sources/bytes/delimited_scanner.h"

namespace dovetail::detail {

struct LineEnds {
  static constexpr char kRecord[] = "line";
  static constexpr char kAdvice[] = "";

  static void begin() noexcept {}
  static std::size_t find(ByteView piece) noexcept {
    const void* const newline = piece.empty() ? nullptr : std::memchr(piece.data(), '\n', piece.size());
    return newline == nullptr ? kNoEnd
                              : static_cast<std::size_t>(static_cast<const std::byte*>(newline) - piece.data());
  }
  static Result<void> check_last(std::uint64_t /*number*/) { return {}; }
};

/// Cuts the lines of a text.
using LineScanner = DelimitedScanner<LineEnds>;

}  // namespace dovetail::detail
