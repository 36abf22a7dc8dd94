// SPDX-License-Identifier: Apache-2.0
// A guess of what a record holds, from its bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/bytes.h>

namespace dovetail::inspect {

enum class Payload : std::uint8_t {
  empty,
  example,  ///< A tf.train.Example with at least one feature, read to its end.
  json,     ///< One JSON object or array, and nothing after it.
  text,     ///< UTF-8 without control characters, except those of text.
  jpeg,
  png,
  gif,
  webp,
  numpy,  ///< A .npy file.
  gzip,
  raw,  ///< None of the above.
};
inline constexpr std::size_t kPayloads = 11;

/// "example", "json", ...: the words of the JSON output.
std::string_view to_string(Payload payload) noexcept;
/// "tf.train.Example", "JSON", ...: for text output.
std::string_view describe(Payload payload) noexcept;

/// Cost: reads text, JSON and Examples to their end, and only the head of others.
Payload guess_payload(ByteView record);

/// The media type of an image; empty for other payloads.
std::string_view image_type(Payload payload) noexcept;

struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};
/// Size from the head of an image; empty for any other bytes.
std::optional<ImageSize> image_size(Payload payload, ByteView record) noexcept;

/// The header of a .npy file: a dictionary with type and shape. Empty for any other bytes.
std::string_view numpy_header(ByteView record) noexcept;

/// Counts of each payload.
struct PayloadCounts {
  std::array<std::uint64_t, kPayloads> counts{};

  void add(Payload payload) noexcept { ++counts[static_cast<std::size_t>(payload)]; }
  std::uint64_t of(Payload payload) const noexcept { return counts[static_cast<std::size_t>(payload)]; }
  std::uint64_t total() const noexcept;
  /// The most frequent one; of equals the earlier. Needs: at least one.
  Payload guess() const noexcept;
  /// Those that were met, the most frequent first.
  std::vector<std::pair<Payload, std::uint64_t>> by_count() const;
};

}  // namespace dovetail::inspect
