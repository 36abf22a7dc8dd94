// SPDX-License-Identifier: Apache-2.0
#include "tests/format/snappy_streams.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>

#include <snappy.h>

#include "format/layout.h"
#include "format/snappy_decoder.h"

namespace dovetail::test {

using namespace format;

namespace {

constexpr std::size_t kFence = 64;  // bytes before the output that must stay as they are
constexpr std::byte kBefore{0x5A};
constexpr std::byte kFresh{0xA5};

void append_number(Bytes& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xFF));
}

bool all_are(ByteView bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == value; });
}

std::string about(const char* what, std::size_t raw_bytes, std::size_t slack) {
  return std::string(what) + ", raw " + std::to_string(raw_bytes) + ", slack " + std::to_string(slack);
}

}  // namespace

void SnappyStream::add_literal(ByteView bytes) {
  std::size_t length_bytes = 0;
  if (bytes.size() > 60) {
    for (std::size_t rest = bytes.size() - 1; rest > 0; rest >>= 8) ++length_bytes;
  }
  add_literal(bytes, length_bytes);
}

void SnappyStream::add_literal(ByteView bytes, std::size_t length_bytes) {
  const std::size_t number = bytes.size() - 1;
  append_number(tags_, (length_bytes == 0 ? number : 59 + length_bytes) << 2, 1);
  append_number(tags_, number, length_bytes);
  add_bytes(bytes);
  raw_.insert(raw_.end(), bytes.begin(), bytes.end());
}

void SnappyStream::add_copy(std::size_t offset_bytes, std::uint32_t offset, std::size_t length) {
  if (offset_bytes == 1) {
    append_number(tags_, 1u | ((length - 4) << 2) | ((offset >> 8) << 5), 1);
  } else {
    append_number(tags_, (offset_bytes == 2 ? 2u : 3u) | ((length - 1) << 2), 1);
  }
  append_number(tags_, offset, offset_bytes);
  for (std::size_t i = 0; i < length; ++i) {
    raw_.push_back(offset == 0 || offset > raw_.size() ? std::byte{0} : raw_[raw_.size() - offset]);
  }
}

Bytes SnappyStream::stored(std::uint64_t claimed_bytes) const {
  Bytes stored = snappy_preamble(claimed_bytes);
  stored.insert(stored.end(), tags_.begin(), tags_.end());
  return stored;
}

Bytes snappy_preamble(std::uint64_t raw_bytes) {
  Bytes preamble;
  for (; raw_bytes >= 0x80; raw_bytes >>= 7) preamble.push_back(static_cast<std::byte>(0x80 | (raw_bytes & 0x7F)));
  preamble.push_back(static_cast<std::byte>(raw_bytes));
  return preamble;
}

std::uint64_t followed_length(ByteView tags) noexcept {
  std::uint64_t length = 0;
  for (std::size_t at = 0; at < tags.size();) {
    const auto tag = std::to_integer<std::size_t>(tags[at++]);
    std::size_t more = tag & 3;
    std::uint64_t adds = (tag >> 2) + 1;
    switch (tag & 3) {
      case 0:
        if (adds > 60) {
          const auto length_bytes = static_cast<std::size_t>(adds - 60);
          if (length_bytes > tags.size() - at) return length;
          adds = 1;
          for (std::size_t i = 0; i < length_bytes; ++i) {
            adds += std::to_integer<std::uint64_t>(tags[at++]) << (8 * i);
          }
        }
        if (adds > tags.size() - at) return length;
        more = static_cast<std::size_t>(adds);
        break;
      case 1:
        adds = ((tag >> 2) & 7) + 4;
        break;
      case 3:
        more = 4;
        break;
      default:
        break;
    }
    length += adds;
    at += more;
  }
  return length;
}

SnappyStream random_snappy_stream(Draws& draws, std::size_t most_tags) {
  SnappyStream stream;
  const std::size_t tags = draws.below(most_tags + 1);
  for (std::size_t i = 0; i < tags; ++i) {
    const std::uint64_t kind = draws.below(16);
    if (stream.raw().empty() || kind < 6) {
      constexpr std::uint64_t kLongest[] = {4, 16, 17, 60, 60, 70, 300, 70000};
      const std::uint64_t longest = kLongest[draws.below(draws.below(8) == 0 ? 8 : 6)];
      const std::string bytes = noise(1 + draws.below(longest), draws.next());
      if (draws.below(8) == 0) {
        stream.add_literal(as_bytes(bytes), bytes.size() <= 256 ? 1 + draws.below(4) : 3 + draws.below(2));
      } else {
        stream.add_literal(as_bytes(bytes));
      }
      continue;
    }
    constexpr std::uint64_t kFurthest[] = {1, 8, 16, 32, 64, 70, 2047, 65535, 70000};
    const std::uint64_t furthest = std::min<std::uint64_t>(kFurthest[draws.below(9)], stream.raw().size());
    const auto offset = static_cast<std::uint32_t>(draws.below(4) == 0 ? furthest : 1 + draws.below(furthest));
    const std::size_t length = 1 + draws.below(draws.below(2) == 0 ? 12 : 64);
    if (offset < 2048 && length >= 4 && length <= 11 && draws.below(4) != 0) {
      stream.add_copy(1, offset, length);
    } else {
      stream.add_copy(offset < 65536 && kind != 15 ? 2 : 4, offset, length);
    }
  }
  return stream;
}

void damage(Bytes& stored, Draws& draws) {
  for (std::uint64_t changes = 1 + draws.below(3); changes > 0 && !stored.empty(); --changes) {
    const std::size_t at = draws.below(stored.size());
    const auto place = stored.begin() + static_cast<std::ptrdiff_t>(at);
    switch (draws.below(6)) {
      case 0:
        *place ^= std::byte{1} << draws.below(8);
        break;
      case 1:
        *place = static_cast<std::byte>(draws.below(256));
        break;
      case 2:
        stored.resize(at);
        break;
      case 3:
        stored.erase(place);
        break;
      case 4:
        stored.insert(place, *place);
        break;
      default:
        stored.push_back(static_cast<std::byte>(draws.below(256)));
    }
  }
}

GuardedMemory::GuardedMemory(std::size_t capacity) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
  capacity_ = (capacity + page_ - 1) / page_ * page_;
  void* const mapping = mmap(nullptr, capacity_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(mapping);
  begin_ = mapping_ + page_;
  if (mprotect(begin_, capacity_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

GuardedMemory::~GuardedMemory() {
  munmap(mapping_, capacity_ + 2 * page_);
}

std::string SnappyComparison::difference(ByteView stored, std::size_t slack) {
  accepted_ = false;
  const auto* const characters = reinterpret_cast<const char*>(stored.data());
  std::size_t raw_bytes = 0;
  const bool has_length = snappy::GetUncompressedLength(characters, stored.size(), &raw_bytes);
  if (stored.size() > stored_.capacity()) return "longer than this test is made for";
  const std::span<std::byte> in = stored_.back(stored.size());
  std::copy(stored.begin(), stored.end(), in.begin());

  const auto preamble = read_snappy_preamble(in);
  if (preamble.has_value() != has_length) return "one decoder finds a length";
  const std::span<std::byte> nothing = out_.back(0);
  if (!has_length) return snappy_decode(in, 0, nothing) ? "decodes without a length" : "";
  if (preamble->raw_bytes != raw_bytes) return "the lengths differ";
  if (raw_bytes != 0 && snappy_decode(in, 0, nothing)) return "decodes to nothing what says that it is something";
  if (raw_bytes > kMostRawBytes) return "";

  expected_.resize(raw_bytes);
  accepted_ = snappy::RawUncompress(characters, stored.size(), reinterpret_cast<char*>(expected_.data()));
  // Snappy 1.2 counts in 32 bits and takes a literal of 2^32 bytes for one of none; 1.3 refuses it.
  const bool may_wrap = std::search(in.begin(), in.end(), kLiteralOf4GiB.begin(), kLiteralOf4GiB.end()) != in.end();

  const std::span<std::byte> fenced = out_.back(kFence + raw_bytes + slack);
  const std::span<std::byte> out = fenced.subspan(kFence);
  std::fill_n(fenced.begin(), kFence, kBefore);
  std::fill(out.begin(), out.end(), kFresh);
  if (snappy_decode(in, static_cast<std::uint32_t>(raw_bytes), out) != accepted_) {
    if (accepted_ && may_wrap) {
      accepted_ = false;
      return "";
    }
    return about(accepted_ ? "refused" : "accepted", raw_bytes, slack);
  }
  if (accepted_ && !std::equal(expected_.begin(), expected_.end(), out.begin())) {
    return about("other bytes", raw_bytes, slack);
  }
  if (!all_are(fenced.first(kFence), kBefore)) return about("touches what is before the output", raw_bytes, slack);
  if (slack > kDecodeSlack && !all_are(out.subspan(raw_bytes + kDecodeSlack), kFresh)) {
    return about("touches what is behind the slack", raw_bytes, slack);
  }
  return "";
}

}  // namespace dovetail::test
