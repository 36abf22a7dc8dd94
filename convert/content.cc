// SPDX-License-Identifier: Apache-2.0
#include "convert/content.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "convert/idx_layout.h"
#include "convert/recordio_layout.h"
#include "convert/snappy_blocks.h"
#include "format/layout.h"
#include "format/tfrecord.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kTarHeaderBytes = 512;
constexpr std::size_t kTarChecksumAt = 148;
constexpr std::size_t kTarChecksumBytes = 8;

}  // namespace

bool has_shard_magic(ByteView head) {
  return head.size() >= format::kFileMagic.size() &&
         std::memcmp(head.data(), format::kFileMagic.data(), format::kFileMagic.size()) == 0;
}

bool has_gzip_magic(ByteView head) {
  constexpr std::array<std::byte, 3> kMagic = {std::byte{0x1F}, std::byte{0x8B}, std::byte{8}};  // 8: deflate
  return head.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), head.begin());
}

// RFC 1950: deflate, a window that exists, a multiple of 31, no preset dictionary.
bool has_zlib_magic(ByteView head) {
  if (head.size() < 2) return false;
  const auto method = std::to_integer<unsigned>(head[0]);
  const auto flags = std::to_integer<unsigned>(head[1]);
  return (method & 0x0F) == 8 && (method >> 4) <= 7 && (method * 256 + flags) % 31 == 0 && (flags & 0x20) == 0;
}

bool begins_with_tfrecord(ByteView head) {
  return head.size() >= format::kTfrecordHeaderBytes &&
         format::decode_tfrecord_header(head.first<format::kTfrecordHeaderBytes>()).has_value();
}

// The sum of all bytes, those of the checksum itself taken as spaces. It is in the oldest of tars too, which have no magic.
bool begins_with_tar(ByteView head) {
  if (head.size() < kTarHeaderBytes || head[0] == std::byte{0}) return false;
  unsigned sum = 0;
  for (std::size_t i = 0; i < kTarHeaderBytes; ++i) {
    const bool checksum = i >= kTarChecksumAt && i < kTarChecksumAt + kTarChecksumBytes;
    sum += checksum ? ' ' : std::to_integer<unsigned>(head[i]);
  }
  unsigned said = 0;
  bool digits = false;
  for (const char c : as_chars(head.subspan(kTarChecksumAt, kTarChecksumBytes))) {
    if (c == ' ' && !digits) continue;
    if (c < '0' || c > '7') break;
    said = said * 8 + static_cast<unsigned>(c - '0');
    digits = true;
  }
  return digits && sum == said;
}

bool begins_with_recordio(ByteView head) {
  return head.size() >= kRecordioHeaderBytes && load_recordio_header(head).magic == kRecordioMagic;
}

bool begins_with_idx(ByteView head, std::uint64_t file_bytes) {
  const auto layout = parse_idx_layout(head);
  return layout && (file_bytes == 0 || layout->file_bytes() == file_bytes);
}

bool is_text(ByteView head) {
  return std::find(head.begin(), head.end(), std::byte{0}) == head.end();
}

Compression compression_of_tfrecord(ByteView head, std::uint64_t file_bytes) {
  if (begins_with_tfrecord(head)) return Compression::none;
  if (has_gzip_magic(head)) return Compression::gzip;
  std::array<std::byte, format::kTfrecordHeaderBytes> first;
  if (snappy_blocks_head(head, file_bytes, first) == first.size() && begins_with_tfrecord(first)) {
    return Compression::snappy;
  }
  return has_zlib_magic(head) ? Compression::zlib : Compression::none;
}

}  // namespace dovetail::detail
