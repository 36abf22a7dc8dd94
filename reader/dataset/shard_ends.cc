// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/shard_ends.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"
#include "format/text/hex.h"
#include "format/text/shell_quoted.h"
#include "format/try.h"
#include "reader/dataset/paths.h"

namespace dovetail::detail {
namespace {

using Head = std::array<std::byte, format::kFileHeaderBytes>;

constexpr std::size_t kTfrecordLengthBytes = 8;
constexpr std::size_t kTfrecordHeaderBytes = 12;

bool starts_as_dovetail(ByteView head) noexcept {
  const std::size_t known = std::min(head.size(), format::kFileMagic.size());
  return known > 0 && std::memcmp(head.data(), format::kFileMagic.data(), known) == 0;
}

// A TFRecord has no magic number, but the masked CRC of the first length identifies it as well.
bool starts_as_tfrecord(ByteView head) noexcept {
  if (head.size() < kTfrecordHeaderBytes) return false;
  const auto stored = format::load_le<std::uint32_t>(head.data() + kTfrecordLengthBytes);
  return format::mask_crc(format::crc32c(head.first(kTfrecordLengthBytes))) == stored;
}

bool starts_as_gzip(ByteView head) noexcept {
  return head.size() >= 2 && head[0] == std::byte{0x1F} && head[1] == std::byte{0x8B};
}

Error foreign_file(ByteView head, const std::string& path) {
  const std::string pack = "`dovetail convert " + format::shell_path(path) + " --to DIR`";
  if (starts_as_tfrecord(head)) {
    return Error(Errc::not_indexed, "this is a TFRecord file without an index; make one with `dovetail index " +
                                        format::shell_path(path) + "`, or pack it with " + pack)
        .in_file(path);
  }
  if (head.empty()) return Error(Errc::not_dovetail, "the file is empty").in_file(path);
  if (starts_as_gzip(head)) {
    return Error(Errc::not_dovetail, "this is a gzip file; if it holds TFRecords, pack it with " + pack).in_file(path);
  }
  return Error(Errc::not_dovetail, "it does not begin like one").at(path, 0);
}

Error unfinished_file(const InputFile& file) {
  return Error(
             Errc::unfinished,
             "there is no trailer at its end: the writer did not finish, or the end was cut off; intact blocks before "
             "that can be recovered")
      .at(file.path(), file.size());
}

Result<format::FileHeader> read_file_header(const InputFile& file) {
  Head head;
  const std::span<std::byte> known = std::span(head).first(std::min<std::uint64_t>(head.size(), file.size()));
  DOVETAIL_TRY(file.read(0, known));
  if (!starts_as_dovetail(known)) return foreign_file(known, file.path());
  if (known.size() < head.size()) return unfinished_file(file);
  auto header = format::decode_file_header(head);
  if (!header) return header.error().at(file.path(), 0);
  return header;
}

std::string in_hex(std::uint64_t value) {
  return "0x" + format::hex64(value);
}

struct Field {
  const char* name;
  std::uint64_t (*value)(const ShardInfo&);
  bool hex = false;
};

constexpr std::array kFields = {
    Field{"file_id", [](const ShardInfo& info) { return info.file_id; }, true},
    Field{"file_bytes", [](const ShardInfo& info) { return info.file_bytes; }},
    Field{"records", [](const ShardInfo& info) { return info.records; }},
    Field{"blocks", [](const ShardInfo& info) { return info.blocks; }},
    Field{"run_records", [](const ShardInfo& info) { return info.run_records; }},
    Field{"raw_bytes", [](const ShardInfo& info) { return info.raw_bytes; }},
    Field{"stored_bytes", [](const ShardInfo& info) { return info.stored_bytes; }},
    Field{"min_record_bytes", [](const ShardInfo& info) { return std::uint64_t{info.min_record_bytes}; }},
    Field{"max_record_bytes", [](const ShardInfo& info) { return std::uint64_t{info.max_record_bytes}; }},
    Field{"max_block_raw", [](const ShardInfo& info) { return std::uint64_t{info.max_block_raw}; }},
    Field{"max_block_stored", [](const ShardInfo& info) { return std::uint64_t{info.max_block_stored}; }},
    Field{"max_block_records", [](const ShardInfo& info) { return std::uint64_t{info.max_block_records}; }},
    Field{"fingerprint", [](const ShardInfo& info) { return info.fingerprint; }, true},
};

bool ends_as_dovetail(const std::string& path) {
  std::array<std::byte, format::kTrailerBytes> end;
  const auto file = InputFile::open(path);
  if (!file || file->size() < end.size() || !file->read(file->size() - end.size(), end)) return false;
  return std::memcmp(end.data() + format::trailer::kMagic, format::kTrailerMagic.data(),
                     format::kTrailerMagic.size()) == 0;
}

}  // namespace

Error of_named_file(const Error& error, const std::string& path) {
  if (!error.is(Errc::not_dovetail) || error.path() != path) return error;
  if (path.ends_with(format::kShardSuffix) || ends_as_dovetail(path)) return error;
  const std::string pack = "pack its content with `dovetail convert " + format::shell_path(path) + " --to DIR`";
  return Error(Errc::foreign_file, error.offset() ? pack : error.detail()).in_file(path);
}

Result<ShardEnds> read_shard_ends(const std::string& path) {
  DOVETAIL_ASSIGN(auto file, InputFile::open(path));
  DOVETAIL_ASSIGN(const auto header, read_file_header(file));

  std::vector<std::byte> tail_bytes(std::min<std::uint64_t>(file.size(), format::kTailBytes));
  DOVETAIL_TRY(file.read(file.size() - tail_bytes.size(), tail_bytes));
  auto tail = format::decode_tail(tail_bytes, file.size());
  if (!tail) {
    if (tail.error().is(Errc::unfinished)) return unfinished_file(file);
    return tail.error().in_file(path);
  }
  const std::uint64_t file_id = format::make_file_id(header.dataset_id, header.shard_number);
  if (file_id != tail->trailer.file_id) {
    return Error(Errc::index_mismatch, "the header has file id " + in_hex(file_id) + ", the trailer " +
                                           in_hex(tail->trailer.file_id) + ": its end belongs to another file")
        .at(path, file.size() - format::kTrailerBytes);
  }
  tail->footer.info.name = name_of(path);
  return ShardEnds{std::move(file), header, std::move(*tail), std::move(tail_bytes)};
}

Result<void> check_shard_info(const ShardInfo& expected, const ShardInfo& found) {
  for (const Field& field : kFields) {
    const std::uint64_t promised = field.value(expected);
    const std::uint64_t actual = field.value(found);
    if (promised == actual) continue;
    const auto text = [&](std::uint64_t value) { return field.hex ? in_hex(value) : std::to_string(value); };
    return Error(Errc::manifest_mismatch,
                 std::string(field.name) + ": the manifest says " + text(promised) + ", the shard " + text(actual));
  }
  return {};
}

}  // namespace dovetail::detail
