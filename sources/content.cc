// SPDX-License-Identifier: Apache-2.0
#include "sources/content.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "format/layout.h"
#include "format/tfrecord/tfrecord.h"
#include "sources/bytes/snappy_blocks.h"
#include "sources/idx_layout.h"
#include "sources/recordio_layout.h"

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

Compression compression_of_magic(ByteView head) {
  using namespace std::string_view_literals;
  const std::string_view text = as_chars(head);
  constexpr std::size_t kBzip2Level = 3;                             // the digit in the magic
  if (text.starts_with("\x1F\x8B\x08"sv)) return Compression::gzip;  // 8: deflate
  if (text.starts_with("\xFD"
                       "7zXZ\0"sv))
    return Compression::xz;
  if (text.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::zstd;
  // A skippable frame, which pzstd writes before each of its frames.
  if (text.size() >= 4 && (text[0] & '\xF0') == '\x50' && text.substr(1, 3) == "\x2A\x4D\x18"sv)
    return Compression::zstd;
  // Text may also begin with these letters. In bzip2, a block or the end follows them.
  if (text.starts_with("BZh"sv) && text.size() > kBzip2Level && text[kBzip2Level] >= '1' && text[kBzip2Level] <= '9') {
    const std::string_view block = text.substr(kBzip2Level + 1);
    if (block.starts_with("1AY&SY"sv) || block.starts_with("\x17\x72\x45\x38\x50\x90"sv)) return Compression::bzip2;
  }
  return Compression::none;
}

// RFC 1950: method deflate, a valid window, a multiple of 31, no preset dictionary.
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

// The checksum of a tar header: the sum of all its bytes, with the checksum's own bytes taken as
// spaces. Even the oldest tars, which have no magic, have it.
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
  const Compression magic = compression_of_magic(head);
  if (magic != Compression::none) return magic;
  std::array<std::byte, format::kTfrecordHeaderBytes> first;
  if (snappy_blocks_head(head, file_bytes, first) == first.size() && begins_with_tfrecord(first)) {
    return Compression::snappy;
  }
  return has_zlib_magic(head) ? Compression::zlib : Compression::none;
}

}  // namespace dovetail::detail
