// SPDX-License-Identifier: Apache-2.0
// The place of a tag depends on the tag before it, and a processor cannot predict whether a tag is
// a literal or a copy. So one step of the fast loop takes a copy and the literal that may follow
// it. It finds both lengths without a branch, and only predicts that nothing rare happens. The loop
// moves whole chunks, which may be more bytes than needed; the next step overwrites the excess.
#include "format/snappy_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "format/endian.h"

namespace dovetail::format {
namespace {

// The lowest two bits of a tag.
enum TagType : std::size_t { literal = 0, copy_1 = 1, copy_2 = 2, copy_4 = 3 };

constexpr std::size_t kChunk = 16;
constexpr std::size_t kLongestCopy = 64;
constexpr std::size_t kLongestShortLiteral = 60;  // a longer literal has its length behind the tag

// One step of the fast loop reads the tag of a copy, its offset, the tag of a literal, and whole
// chunks of the literal.
constexpr std::size_t kStepReads = 1 + 2 + 1 + 4 * kChunk;
// One step writes the copy, and then whole chunks for the literal.
constexpr std::size_t kStepWrites = kLongestCopy + 4 * kChunk;
static_assert(4 * kChunk >= kLongestCopy && 4 * kChunk >= kLongestShortLiteral);
// The copy of a step must end before raw_end, because the room for a rare literal is counted from
// there.
static_assert(kDecodeSlack <= kStepWrites - kLongestCopy);

// About how many bytes are written while a cache line is on its way to the core.
constexpr std::size_t kPrefetchBytes = 1024;

// What the tag of a copy encodes. All other tags are rare here. They get an offset of 0, which
// never passes the check.
struct Tags {
  std::array<std::uint32_t, 256> offset{};                       // by tag: the offset bits in the tag
  std::array<std::uint32_t, 4> offset_mask{0, 0xFF, 0xFFFF, 0};  // by type: the offset bits behind the tag
  std::array<std::uint8_t, 256> length{};                        // by tag
};
constexpr Tags kTags = []() {
  Tags tags;
  for (std::uint32_t tag = 0; tag < tags.length.size(); ++tag) {
    const bool short_copy = (tag & 3) == copy_1;
    tags.length[tag] = static_cast<std::uint8_t>(short_copy ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1);
    if (short_copy) tags.offset[tag] = (tag >> 5) << 8;
  }
  return tags;
}();

// Eight bytes that repeat a pattern of 1 to 7 bytes: the pattern times `spread`. `step` is a whole
// number of patterns, so each store, `step` bytes after the one before, writes the same eight
// bytes.
struct Repetition {
  std::uint64_t keep = 0;
  std::uint64_t spread = 0;
  std::size_t step = 0;
};
constexpr std::array<Repetition, 8> kRepetitions = []() {
  std::array<Repetition, 8> repetitions{};
  for (unsigned offset = 1; offset < repetitions.size(); ++offset) {
    Repetition& repetition = repetitions[offset];
    repetition.keep = (std::uint64_t{1} << (8 * offset)) - 1;
    for (unsigned at = 0; at < 8; at += offset) repetition.spread |= std::uint64_t{1} << (8 * at);
    repetition.step = 8 / offset * offset;
  }
  return repetitions;
}();

// Hides the origin of a value, so that the compiler chooses between two values without a branch.
template <class T>
inline void make_opaque(T& value) noexcept {
#if defined(__GNUC__)
  __asm__("" : "+r"(value));
#endif
}

inline void prefetch(std::uintptr_t address) noexcept {
#if defined(__GNUC__)
  // The address may lie behind the buffer, so it is an integer: such a pointer would be undefined.
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);  // NOLINT(performance-no-int-to-ptr)
#endif
}

inline void copy_chunk(std::byte* to, const std::byte* from) noexcept {
  std::array<std::byte, kChunk> chunk;
  std::memcpy(chunk.data(), from, kChunk);
  std::memcpy(to, chunk.data(), kChunk);
}

// Copies from at least a chunk's length away, or a source that does not overlap the bytes written.
// Writes whole chunks.
// Needs: `length` is up to 64.
inline void copy_far(std::byte* to, const std::byte* from, std::size_t length) noexcept {
  copy_chunk(to, from);
  copy_chunk(to + kChunk, from + kChunk);
  if (length > 2 * kChunk) [[unlikely]] {
    copy_chunk(to + 2 * kChunk, from + 2 * kChunk);
    copy_chunk(to + 3 * kChunk, from + 3 * kChunk);
  }
}

// Returns the first eight bytes of a copy from 1 to 7 bytes away.
inline std::uint64_t repeated_bytes(const std::byte* from, std::size_t offset) noexcept {
  return (load_le<std::uint64_t>(from) & kRepetitions[offset].keep) * kRepetitions[offset].spread;
}

// A copy whose source overlaps its target: repeats the last `offset` bytes. Writes less than a
// chunk behind its end.
void repeat(std::byte* to, std::size_t offset, std::size_t length) noexcept {
  std::byte* const end = to + length;
  const std::byte* from = to - offset;
  if (offset < kRepetitions.size()) {
    const std::uint64_t bytes = repeated_bytes(from, offset);
    for (; to < end; to += kRepetitions[offset].step) store_le(to, bytes);
    return;
  }
  // If `offset` is below a chunk's length, the last bytes of each store are not of the pattern. The
  // next store overwrites these bytes.
  const std::size_t step = std::min(offset, kChunk);
  for (; to < end; to += step, from += step) copy_chunk(to, from);
}

// A position in both streams. `in` is null if the input is damaged.
struct Place {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
};

// The fixed ends of both streams.
struct Bounds {
  const std::byte* in_end = nullptr;
  std::byte* out = nullptr;
  std::byte* raw_end = nullptr;
  std::size_t slack = 0;  // behind raw_end, at most kDecodeSlack

  // Returns whether a copy of `length` bytes may write whole chunks. The last chunk starts before
  // the copy's end.
  bool has_room(const std::byte* to, std::size_t length) const noexcept {
    return length + kChunk <= static_cast<std::size_t>(raw_end - to) + slack;
  }
};

std::uint32_t load_some(const std::byte* from, std::size_t bytes) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint32_t>(from[i]) << (8 * i);
  return value;
}

// Copies with all checks. Needs: `length` is 1 to 64.
[[gnu::noinline]] bool copy_back(std::byte* to, std::size_t offset, std::size_t length, const Bounds& bounds) noexcept {
  if (offset == 0 || offset > static_cast<std::size_t>(to - bounds.out)) return false;
  if (length > static_cast<std::size_t>(bounds.raw_end - to)) return false;
  if (bounds.has_room(to, length)) {
    repeat(to, offset, length);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = *(to + i - offset);
  }
  return true;
}

// The same with a short cut for up to eight bytes, which are frequent in numbers with leading
// zeros.
// Needs: room for eight bytes at `to`.
inline bool copy_near(std::byte* to, std::size_t offset, std::size_t length, const Bounds& bounds) noexcept {
  const bool is_short = offset - 1 < kRepetitions.size() - 1 && length <= 8;
  if (!is_short || offset > static_cast<std::size_t>(to - bounds.out)) return copy_back(to, offset, length, bounds);
  store_le(to, repeated_bytes(to - offset, offset));
  return true;
}

// Decodes one tag of any kind at any place, with all checks. Needs: `at.in` is before the end.
[[gnu::noinline]] Place decode_tag(Place at, const Bounds& bounds) noexcept {
  const auto tag = std::to_integer<std::uint32_t>(*at.in++);
  const auto stored = static_cast<std::size_t>(bounds.in_end - at.in);
  if ((tag & 3) == literal) {
    std::uint64_t length = tag >> 2;
    std::size_t length_bytes = 0;
    if (length >= kLongestShortLiteral) {
      length_bytes = length - (kLongestShortLiteral - 1);
      if (length_bytes > stored) return {};
      length = load_some(at.in, length_bytes);
    }
    ++length;
    if (length > stored - length_bytes || length > static_cast<std::size_t>(bounds.raw_end - at.out)) return {};
    if (length != 0) std::memcpy(at.out, at.in + length_bytes, length);
    return {at.in + length_bytes + length, at.out + length};
  }
  const std::size_t offset_bytes = (tag & 3) == copy_4 ? 4 : tag & 3;
  if (offset_bytes > stored) return {};
  const bool short_copy = (tag & 3) == copy_1;
  const std::size_t length = short_copy ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
  const std::size_t offset = load_some(at.in, offset_bytes) + (short_copy ? (tag >> 5) << 8 : 0);
  if (!copy_back(at.out, offset, length, bounds)) return {};
  return {at.in + offset_bytes, at.out + length};
}

// Decodes as long as both streams have room for a whole step.
Place decode_most(Place at, const Bounds& bounds) noexcept {
  if (static_cast<std::size_t>(bounds.in_end - at.in) < kStepReads) return at;
  if (static_cast<std::size_t>(bounds.raw_end - at.out) + bounds.slack < kStepWrites) return at;
  const std::byte* const last_in = bounds.in_end - kStepReads;
  std::byte* const last_out = bounds.raw_end - (kStepWrites - bounds.slack);
  const auto begin = reinterpret_cast<std::uintptr_t>(bounds.out);
  const std::byte* in = at.in;
  std::byte* out = at.out;
  while (in <= last_in && out <= last_out) {
    const std::uint64_t word = load_le<std::uint32_t>(in);
    const std::uint64_t rest = word >> 8;
    const std::size_t type = word & 3;
    const std::size_t length = kTags.length[word & 0xFF];
    const std::size_t offset = (rest & kTags.offset_mask[type]) + kTags.offset[word & 0xFF];

    // If the next tag is a literal, the next copy is behind the bytes of the literal; otherwise it
    // is here. The sums are in the order of the critical path, which compilers would change.
    const std::byte* const here = in + 1 + type;
    const std::uint64_t tag = rest >> (8 * type);
    auto more = static_cast<std::size_t>(tag >> 2) & 0x3F;
    const std::byte* behind_literal = here + 2;
    make_opaque(more);
    make_opaque(behind_literal);
    behind_literal += more;
    const std::byte* next = here;
    make_opaque(behind_literal);
    make_opaque(next);
    next = (tag & 3) == literal ? behind_literal : next;
    make_opaque(next);

    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(out) - offset;
    if (offset < length || from < begin) [[unlikely]] {
      if (type == literal || type == copy_4) {
        at = decode_tag({in, out}, bounds);
        if (at.in == nullptr) return at;
        in = at.in;
        out = at.out;
        continue;
      }
      if (!copy_near(out, offset, length, bounds)) return {};
    } else {
      // `from` was an integer until this check, because it could lie before the buffer.
      copy_far(out, reinterpret_cast<const std::byte*>(from), length);  // NOLINT(performance-no-int-to-ptr)
    }
    out += length;
    prefetch(reinterpret_cast<std::uintptr_t>(out) + kPrefetchBytes);

    auto literal_bytes = static_cast<std::size_t>(next - here);
    literal_bytes -= literal_bytes != 0;  // the tag
    const std::byte* const bytes = here + 1;
    copy_chunk(out, bytes);
    copy_chunk(out + kChunk, bytes + kChunk);
    copy_chunk(out + 2 * kChunk, bytes + 2 * kChunk);
    if (literal_bytes > 3 * kChunk) [[unlikely]] {
      if (literal_bytes > kLongestShortLiteral) {
        at = decode_tag({here, out}, bounds);
        if (at.in == nullptr) return at;
        in = at.in;
        out = at.out;
        continue;
      }
      copy_chunk(out + 3 * kChunk, bytes + 3 * kChunk);
    }
    out += literal_bytes;
    in = next;
  }
  // The last step may have ended in the slack. Then the stream has more bytes than the caller asked
  // for.
  if (out > bounds.raw_end) return {};
  return {in, out};
}

}  // namespace

std::optional<SnappyPreamble> read_snappy_preamble(ByteView stored) noexcept {
  SnappyPreamble preamble;
  for (unsigned shift = 0; shift < 32 && preamble.bytes < stored.size(); shift += 7) {
    const auto byte = std::to_integer<std::uint32_t>(stored[preamble.bytes++]);
    const std::uint32_t bits = byte & 0x7F;
    if ((bits << shift) >> shift != bits) return std::nullopt;
    preamble.raw_bytes |= bits << shift;
    if (byte < 0x80) return preamble;
  }
  return std::nullopt;
}

bool snappy_decode(ByteView stored, std::uint32_t raw_bytes, std::span<std::byte> out) noexcept {
  const auto preamble = read_snappy_preamble(stored);
  if (!preamble || preamble->raw_bytes != raw_bytes) return false;
  Bounds bounds;
  bounds.in_end = stored.data() + stored.size();
  bounds.out = out.data();
  bounds.raw_end = out.data() + raw_bytes;
  bounds.slack = std::min(out.size() - raw_bytes, kDecodeSlack);
  Place at = decode_most({stored.data() + preamble->bytes, out.data()}, bounds);
  while (at.in != nullptr && at.in < bounds.in_end) at = decode_tag(at, bounds);
  return at.in != nullptr && at.out == bounds.raw_end;
}

}  // namespace dovetail::format
