// SPDX-License-Identifier: Apache-2.0
// Guesses the content of a record from its bytes alone.
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

/// The names in the JSON output, such as "example" and "json".
std::string_view to_string(Payload payload) noexcept;
/// The names in text output, such as "tf.train.Example" and "JSON".
std::string_view describe(Payload payload) noexcept;

/// Cost: reads text, JSON and Examples to their end, other payloads only at their head.
Payload guess_payload(ByteView record);

/// The media type of an image; empty for other payloads.
std::string_view image_type(Payload payload) noexcept;

struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};
/// The size from the head of an image; empty for any other bytes.
std::optional<ImageSize> image_size(Payload payload, ByteView record) noexcept;

/// The header of a .npy file: a dictionary with type and shape. Empty for any other bytes.
std::string_view numpy_header(ByteView record) noexcept;

/// Counts of each payload.
struct PayloadCounts {
  std::array<std::uint64_t, kPayloads> counts{};

  void add(Payload payload) noexcept { ++counts[static_cast<std::size_t>(payload)]; }
  std::uint64_t of(Payload payload) const noexcept { return counts[static_cast<std::size_t>(payload)]; }
  std::uint64_t total() const noexcept;
  /// The most frequent payload; the first one in `Payload` if several are. Needs: at least one
  /// record.
  Payload guess() const noexcept;
  /// The payloads with a count above 0, the most frequent first.
  std::vector<std::pair<Payload, std::uint64_t>> by_count() const;
};

}  // namespace dovetail::inspect
