// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/snappy_blocks.h"

#include <algorithm>
#include <string>

#include "format/snappy_decoder.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::uint32_t kMaxBlockBytes = 1u << 30;
// Three bytes decode to at most 64 bytes.
constexpr std::uint64_t kMostPerByte = 22;

std::uint32_t load_be32(ByteView bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) value = (value << 8) | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

bool plausible(const format::SnappyPreamble& preamble, std::uint64_t stored) {
  return preamble.raw_bytes <= kMaxBlockBytes && preamble.raw_bytes <= stored * kMostPerByte;
}

std::size_t load_le(ByteView bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8) | std::to_integer<std::size_t>(bytes[i]);
  return value;
}

/// One element of a raw Snappy stream.
struct Element {
  std::size_t bytes = 0;   ///< Of its tag and length or offset.
  std::size_t length = 0;  ///< Bytes that it decodes to.
  std::size_t back = 0;    ///< Distance of a copy's source; 0 for a literal.
};

// Returns an empty element if its head is cut off.
Element read_element(ByteView in) {
  const auto tag = std::to_integer<std::size_t>(in[0]);
  const std::size_t upper = tag >> 2;
  const std::size_t extra = (tag & 3) == 0 ? (upper < 60 ? 0 : upper - 59) : (tag & 3) == 3 ? 4 : (tag & 3);
  if (in.size() < 1 + extra) return {};
  const std::size_t value = load_le(in.subspan(1, extra));
  switch (tag & 3) {
    case 0:
      return {1 + extra, (extra == 0 ? upper : value) + 1, 0};
    case 1:
      return {1 + extra, (upper & 7) + 4, (tag >> 5) << 8 | value};
    default:
      return {1 + extra, upper + 1, value};
  }
}

// Decodes the beginning of a block, limited by the bytes in `in` and by the size of `out`. Returns
// 0 if it is damaged.
std::size_t decode_beginning(ByteView in, std::span<std::byte> out) {
  std::size_t made = 0;
  while (made < out.size() && !in.empty()) {
    const Element element = read_element(in);
    if (element.bytes == 0) break;
    in = in.subspan(element.bytes);
    const std::size_t length = std::min(element.length, out.size() - made);
    if (element.back == 0) {
      const std::size_t there = std::min(length, in.size());
      std::copy_n(in.begin(), there, out.begin() + static_cast<std::ptrdiff_t>(made));
      in = in.subspan(there);
      made += there;
      continue;
    }
    if (element.back > made) return 0;
    // Copy byte by byte: the source may overlap the target.
    for (std::size_t i = 0; i < length; ++i, ++made) out[made] = out[made - element.back];
  }
  return made;
}

}  // namespace

Result<void> SnappyBlocks::run(ByteView& in, std::span<std::byte>& out) {
  for (;;) {
    const std::size_t ready = std::min(decoded_bytes_ - given_, out.size());
    std::copy_n(decoded_.begin() + static_cast<std::ptrdiff_t>(given_), ready, out.begin());
    given_ += ready;
    out = out.subspan(ready);
    if (out.empty()) return {};
    if (!gather(in, kLengthBytes)) return {};
    const std::uint32_t stored = load_be32(stored_);
    if (stored > kMaxBlockBytes) {
      return Error(Errc::bad_length, "a Snappy block claims " + std::to_string(stored) + " bytes; the limit is " +
                                         std::to_string(kMaxBlockBytes));
    }
    if (!gather(in, kLengthBytes + stored)) return {};
    DOVETAIL_TRY(decode(ByteView(stored_).subspan(kLengthBytes)));
    stored_.clear();
  }
}

// Collects bytes of the block. Returns whether `stored_` has `bytes` bytes now.
bool SnappyBlocks::gather(ByteView& in, std::size_t bytes) {
  const std::size_t wanted = bytes - std::min(bytes, stored_.size());
  const std::size_t used = std::min(wanted, in.size());
  stored_.insert(stored_.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(used));
  in = in.subspan(used);
  return used == wanted;
}

Result<void> SnappyBlocks::decode(ByteView block) {
  const auto preamble = format::read_snappy_preamble(block);
  if (!preamble) return Error(Errc::decompression, "a Snappy block has no length");
  if (!plausible(*preamble, block.size())) {
    return Error(Errc::bad_length, "a Snappy block of " + std::to_string(block.size()) + " bytes claims to decode to " +
                                       std::to_string(preamble->raw_bytes));
  }
  decoded_.resize(std::size_t{preamble->raw_bytes} + format::kDecodeSlack);
  if (!format::snappy_decode(block, preamble->raw_bytes, decoded_)) {
    return Error(Errc::decompression, "Snappy data is damaged");
  }
  decoded_bytes_ = preamble->raw_bytes;
  given_ = 0;
  return {};
}

std::size_t snappy_blocks_head(ByteView head, std::uint64_t file_bytes, std::span<std::byte> out) {
  if (head.size() <= kLengthBytes) return 0;
  const std::uint32_t stored = load_be32(head);
  if (stored > kMaxBlockBytes || stored > file_bytes - kLengthBytes) return 0;
  ByteView block = head.subspan(kLengthBytes);
  block = block.first(std::min<std::size_t>(block.size(), stored));
  const auto preamble = format::read_snappy_preamble(block);
  if (!preamble || preamble->raw_bytes == 0 || !plausible(*preamble, stored)) return 0;
  if (preamble->raw_bytes >= out.size()) return decode_beginning(block.subspan(preamble->bytes), out);
  // A block that decodes to less than a record's header is so short that `head` holds all of it.
  std::span<std::byte> space = out;
  if (!SnappyBlocks().run(head, space)) return 0;
  return out.size() - space.size();
}

}  // namespace dovetail::detail
