// SPDX-License-Identifier: Apache-2.0
#include "convert/detect.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "convert/inflater.h"
#include "format/layout.h"
#include "format/tfrecord.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

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

bool is_text(ByteView head) {
  return std::find(head.begin(), head.end(), std::byte{0}) == head.end();
}

// What the beginning of a compressed file decodes to, as far as it does: what is wrong behind it is found when reading.
std::vector<std::byte> inflate_head(ByteView head, Compression compression) {
  std::vector<std::byte> decoded(kHeadBytes);
  std::span<std::byte> space = decoded;
  auto inflater = Inflater::make(compression);
  if (!inflater) return {};
  (void)inflater->run(head, space);
  decoded.resize(decoded.size() - space.size());
  return decoded;
}

// A plain TFRecord may begin like gzip or zlib: its first bytes are a length. The CRC that follows it decides.
Compression compression_of_tfrecord(ByteView head) {
  if (begins_with_tfrecord(head)) return Compression::none;
  if (has_gzip_magic(head)) return Compression::gzip;
  return has_zlib_magic(head) ? Compression::zlib : Compression::none;
}

std::optional<FileKind> recognise(ByteView head) {
  const Compression compression = compression_of_tfrecord(head);
  if (compression == Compression::none) {
    if (begins_with_tfrecord(head)) return FileKind{SourceFormat::tfrecord, compression};
  } else {
    const std::vector<std::byte> decoded = inflate_head(head, compression);
    if (begins_with_tfrecord(decoded)) return FileKind{SourceFormat::tfrecord, compression};
    if (compression == Compression::gzip) {
      if (decoded.empty() || !is_text(decoded)) return std::nullopt;
      return FileKind{SourceFormat::lines, compression};
    }
  }
  // Text, too, may begin with two bytes that zlib could begin with.
  if (!is_text(head)) return std::nullopt;
  return FileKind{SourceFormat::lines, Compression::none};
}

Result<std::vector<std::byte>> head_of(const SourceFile& file, std::size_t bytes) {
  std::vector<std::byte> head(bytes);
  auto read = file.peek(head);
  if (!read) return read.error();
  head.resize(*read);
  return head;
}

bool has_shard_magic(ByteView head) {
  return head.size() >= format::kFileMagic.size() &&
         std::memcmp(head.data(), format::kFileMagic.data(), format::kFileMagic.size()) == 0;
}

// Cuts `-NNNNN-of-NNNNN` off the end of a name.
bool cut_shard_suffix(std::string_view& name) {
  constexpr std::string_view kPattern = "-00000-of-00000";
  if (name.size() < kPattern.size()) return false;
  const std::string_view end = name.substr(name.size() - kPattern.size());
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(end[i])) != 0;
    if (kPattern[i] == '0' ? !digit : end[i] != kPattern[i]) return false;
  }
  name.remove_suffix(kPattern.size());
  return true;
}

}  // namespace

Result<FileKind> detect_file(const SourceFile& file, SourceFormat wanted) {
  const auto read = head_of(file, kHeadBytes);
  if (!read) return read.error();
  const ByteView head = *read;
  if (has_shard_magic(head)) return packed_already(file.path());
  if (wanted == SourceFormat::tfrecord) return FileKind{wanted, compression_of_tfrecord(head)};
  if (wanted == SourceFormat::lines) {
    return FileKind{wanted, has_gzip_magic(head) ? Compression::gzip : Compression::none};
  }
  if (head.empty()) {
    return Error(Errc::unknown_format, "the file is empty; say --from tfrecord or lines where it may be")
        .in_file(file.path());
  }
  const std::optional<FileKind> kind = recognise(head);
  if (kind) return *kind;
  return Error(Errc::unknown_format,
               "neither TFRecords (plain, gzip or zlib) nor text; say which with --from tfrecord, folder or lines")
      .in_file(file.path());
}

Result<bool> is_shard(const SourceFile& file) {
  const auto head = head_of(file, format::kFileMagic.size());
  if (!head) return head.error();
  return has_shard_magic(*head);
}

Error packed_already(const std::string& path) {
  return Error(Errc::unknown_format, "this is a Dovetail shard or dataset: it is packed already").in_file(path);
}

bool has_tfrecord_name(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  for (const std::string_view suffix : {".gz", ".gzip", ".zlib", ".zz"}) {
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    break;
  }
  if (name.ends_with(".tfrecord") || name.ends_with(".tfrecords")) return true;
  return cut_shard_suffix(name) && !name.empty();
}

}  // namespace dovetail::detail
