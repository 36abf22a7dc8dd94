// SPDX-License-Identifier: Apache-2.0
// Raw Snappy streams made tag by tag, and a comparison of our decoder with the packaged one on any
// bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/bytes.h>

#include "tests/support/files.h"
#include "tests/support/sample_records.h"

namespace dovetail::test {

/// A stream in the making, beside the bytes that it decodes to, which are worked out one at a time.
class SnappyStream {
 public:
  /// In the shortest form. Needs: `bytes` is not empty.
  void add_literal(ByteView bytes);
  /// With its length in so many bytes behind the tag, 0 to 4. Needs: the length fits that form.
  void add_literal(ByteView bytes, std::size_t length_bytes);
  /// With an offset of 1 (11 bits), 2 or 4 bytes behind the tag. Needs: the numbers fit that form.
  /// An offset that no decoder accepts adds zeros to `raw`.
  void add_copy(std::size_t offset_bytes, std::uint32_t offset, std::size_t length);
  /// Any bytes, which decode to nothing.
  void add_bytes(ByteView bytes) { tags_.insert(tags_.end(), bytes.begin(), bytes.end()); }

  const Bytes& raw() const noexcept { return raw_; }
  /// The stream, with its true length or with another one.
  Bytes stored() const { return stored(raw_.size()); }
  Bytes stored(std::uint64_t claimed_bytes) const;

 private:
  Bytes tags_;
  Bytes raw_;
};

/// A length as streams begin with it.
Bytes snappy_preamble(std::uint64_t raw_bytes);

/// What `tags` add up to, as far as they can be followed: the length that makes a stream of them as
/// right as possible.
std::uint64_t followed_length(ByteView tags) noexcept;

/// A valid stream of up to `most_tags` tags of all kinds, the short and near ones more often.
SnappyStream random_snappy_stream(Draws& draws, std::size_t most_tags);

/// Changes a few bytes of a stream: flips, overwrites, cuts, drops, doubles.
void damage(Bytes& stored, Draws& draws);

/// Memory between pages that nobody may touch.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t capacity);
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  std::size_t capacity() const noexcept { return capacity_; }
  /// The first and the last `size` bytes, which touch the guarded page before and behind. Needs:
  /// `size <= capacity()`.
  std::span<std::byte> front(std::size_t size) const noexcept { return {begin_, size}; }
  std::span<std::byte> back(std::size_t size) const noexcept { return {begin_ + capacity_ - size, size}; }

 private:
  std::byte* mapping_ = nullptr;
  std::byte* begin_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t page_ = 0;
};

/// The tag and length of a literal that is longer than any stream decodes to.
constexpr std::array kLiteralOf4GiB = {std::byte{0xFC}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF},
                                       std::byte{0xFF}};

/// Decodes streams with both decoders.
class SnappyComparison {
 public:
  /// Streams that say that they decode to more are only checked for that number.
  static constexpr std::size_t kMostRawBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostSlack = 100;

  /// What differs between the decoders, or what ours did to bytes that are not its own; empty if
  /// nothing. A touch outside of `stored` or of the output is a fault. Needs:
  /// `slack <= kMostSlack`.
  std::string difference(ByteView stored, std::size_t slack);
  /// Whether the last stream was accepted.
  bool accepted() const noexcept { return accepted_; }

 private:
  GuardedMemory stored_{std::size_t{2} << 20};
  GuardedMemory out_{kMostRawBytes + 4096};
  std::vector<std::byte> expected_;
  bool accepted_ = false;
};

}  // namespace dovetail::test
