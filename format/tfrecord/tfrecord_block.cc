// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord_block.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"

namespace dovetail::format {

namespace {

Error not_as_indexed(std::uint32_t record, const std::string& what) {
  return Error(Errc::index_mismatch, "record " + std::to_string(record) + " of the block " + what +
                                         ": the file is not the one that was indexed; run "
                                         "`dovetail index --overwrite` on it");
}

constexpr char kChanged[] = " of the block: damaged, or changed since the file was indexed";

Error bad_length_crc(std::uint32_t record) {
  return Error(Errc::tfrecord_checksum, "the length of record " + std::to_string(record) + kChanged);
}

}  // namespace

void FootersCrc::add(std::span<const std::byte, kTfrecordFooterBytes> footer) noexcept {
  if (held_ == kHeld) value();
  std::memcpy(footers_ + held_ * kTfrecordFooterBytes, footer.data(), kTfrecordFooterBytes);
  ++held_;
}

std::uint32_t FootersCrc::value() noexcept {
  crc_ = crc32c(ByteView(footers_, held_ * kTfrecordFooterBytes), crc_);
  held_ = 0;
  return crc_;
}

Result<BlockRecords> decode_tfrecord_block(const IndexEntry& entry, ByteView stored, std::span<std::byte> table) {
  FootersCrc footers;
  const std::uint32_t record_bytes = entry.raw_bytes / entry.records;
  std::uint32_t ends = 0;
  for (std::uint32_t record = 0; record < entry.records; ++record) {
    if (stored.size() < kTfrecordFrameBytes) return not_as_indexed(record, "begins beyond the block's end");
    const std::optional<std::uint64_t> length = decode_tfrecord_header(stored.first<kTfrecordHeaderBytes>());
    if (!length) return bad_length_crc(record);
    if (*length > stored.size() - kTfrecordFrameBytes) return not_as_indexed(record, "reaches past the block's end");
    if (table.empty() && *length != record_bytes) return not_as_indexed(record, "has another size");
    const ByteView bytes = stored.subspan(kTfrecordHeaderBytes, *length);
    stored = stored.subspan(kTfrecordHeaderBytes + *length);
    const auto footer = stored.first<kTfrecordFooterBytes>();
    if (!check_tfrecord_footer(bytes, footer)) {
      return Error(Errc::tfrecord_checksum, "record " + std::to_string(record) + kChanged);
    }
    stored = stored.subspan(kTfrecordFooterBytes);
    footers.add(footer);
    if (!table.empty())
      store_le(table.data() + std::size_t{record} * kTableEntryBytes, ends += static_cast<std::uint32_t>(*length));
  }
  if (!stored.empty()) return not_as_indexed(entry.records, "is not in the index");
  if (footers.value() != entry.payload_crc) {
    return Error(Errc::index_mismatch,
                 "the records are good, but not those that were indexed; run `dovetail index --overwrite` on the file");
  }
  const std::byte* const first = stored.data() - entry.stored_bytes + kTfrecordHeaderBytes;
  if (table.empty()) return BlockRecords(first, entry.records, record_bytes, kTfrecordFrameBytes);
  return BlockRecords(first, table.data(), entry.records, kTfrecordFrameBytes);
}

Result<void> check_tfrecord(const IndexEntry& entry, std::span<const std::byte, kTfrecordHeaderBytes> header,
                            ByteView record) {
  const std::optional<std::uint64_t> length = decode_tfrecord_header(header);
  if (!length) return bad_length_crc(0);
  if (*length != record.size()) return not_as_indexed(0, "has another size");
  std::array<std::byte, kTfrecordFooterBytes> footer;
  encode_tfrecord_footer(record, footer);
  FootersCrc footers;
  footers.add(footer);
  if (footers.value() != entry.payload_crc) return Error(Errc::tfrecord_checksum, std::string("record 0") + kChanged);
  return {};
}

}  // namespace dovetail::format
