// SPDX-License-Identifier: Apache-2.0
#include "fuzz/repair.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "format/block_decoder.h"
#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"
#include "format/messages.h"
#include "format/shard_encoder.h"
#include "format/structures.h"
#include "format/tfrecord/tfrecord.h"

namespace dovetail::fuzz {

namespace {

using namespace format;  // NOLINT: of the format's own names nearly all

constexpr std::uint32_t kMostRawBytes = 1u << 20;  // a block above it is not decoded for its fingerprint

void seal(std::span<std::byte> structure) {
  store_le(structure.data() + structure.size() - 4, crc32c(structure.first(structure.size() - 4)));
}

class ShardRepair {
 public:
  ShardRepair(std::span<std::byte> file, unsigned repair) : file_(file), repair_(repair) {}

  void run() {
    if (file_.size() < kFileHeaderBytes) return;
    seal(file_.first(kFileHeaderBytes));
    if (const auto header = decode_file_header(file_.first<kFileHeaderBytes>())) {
      file_id_ = make_file_id(header->dataset_id, header->shard_number);
    }
    std::size_t offset = kFileHeaderBytes;
    while (offset + kBlockHeaderBytes + kTrailerBytes <= file_.size()) {
      const std::size_t span = block(offset);
      if (span == 0) break;
      offset += span;
    }
    trailer();
  }

 private:
  template <class T>
  T get(std::size_t at) const {
    return load_le<T>(file_.data() + at);
  }
  template <class T>
  void put(std::size_t at, T value) {
    store_le(file_.data() + at, value);
  }
  bool asked(unsigned what) const { return (repair_ & what) != 0; }

  /// Repairs one block; its distance to the next, or 0 where it is none.
  std::size_t block(std::size_t at) {
    put(at + block_header::kSync, kBlockSync);
    const std::uint64_t bytes = std::uint64_t{get<std::uint32_t>(at + block_header::kTableBytes)} +
                                get<std::uint32_t>(at + block_header::kStoredBytes);
    if (bytes > file_.size() - at - kBlockHeaderBytes - kTrailerBytes) return 0;
    if (asked(kRepairPlaces)) {
      put(at + block_header::kOffset, std::uint64_t{at});
      put(at + block_header::kSequence, sequence_);
      put(at + block_header::kFirstRecord, records_);
      put(at + block_header::kFileId, file_id_);
    }
    ++sequence_;
    const auto body = file_.subspan(at + kBlockHeaderBytes, bytes);
    const auto type = static_cast<BlockType>(file_[at + block_header::kType]);
    if (type == BlockType::index) index(at, body);
    if (type == BlockType::footer) footer(at, body);
    const std::uint32_t crc = crc32c(body);
    if (type == BlockType::index) index_crc_ = crc;
    put(at + block_header::kPayloadCrc, crc);
    seal(file_.subspan(at, kBlockHeaderBytes));
    if (type == BlockType::data) data(at, body);
    return align_up(kBlockHeaderBytes + bytes);
  }

  void data(std::size_t at, ByteView body) {
    const auto header = decode_block_header(file_.subspan(at).first<kBlockHeaderBytes>());
    if (!header || header->type != BlockType::data) return;
    entries_.push_back({at, header->records, header->stored_bytes, header->raw_bytes, header->table_bytes,
                        header->payload_crc, header->codec});
    records_ += header->records;
    if (header->raw_bytes > kMostRawBytes) return;
    std::vector<std::byte> raw(header->raw_bytes);
    const auto records = decode_block(*header, body, raw);
    for (std::uint32_t i = 0; records && i < records->size(); ++i) {
      const ByteView record = (*records)[i];
      const auto size = static_cast<std::uint32_t>(record.size());
      fingerprint_.add(record);
      shortest_ = std::min(shortest_, size);
      longest_ = std::max(longest_, size);
    }
  }

  void index(std::size_t at, std::span<std::byte> body) {
    index_offset_ = at;
    if (!asked(kRepairIndex)) return;
    for (std::size_t i = 0; i < entries_.size() && (i + 1) * kIndexEntryBytes <= body.size(); ++i) {
      encode(entries_[i], body.subspan(i * kIndexEntryBytes).first<kIndexEntryBytes>());
    }
  }

  void footer(std::size_t at, std::span<std::byte> body) {
    footer_offset_ = at;
    auto footer = decode_footer(body);
    if (!footer) return;
    footer->index_crc = index_crc_;
    if (asked(kRepairFooter)) fill(*footer);
    const std::string bytes = encode(*footer);
    if (bytes.size() == body.size()) std::memcpy(body.data(), bytes.data(), bytes.size());
  }

  void fill(Footer& footer) const {
    ShardInfo& info = footer.info;
    info.records = records_;
    info.blocks = entries_.size();
    info.raw_bytes = info.stored_bytes = 0;
    info.max_block_raw = info.max_block_stored = info.max_block_records = 0;
    info.min_record_bytes = entries_.empty() ? 0 : std::min(shortest_, longest_);
    info.max_record_bytes = longest_;
    for (const IndexEntry& entry : entries_) {
      info.raw_bytes += entry.raw_bytes;
      info.stored_bytes += std::uint64_t{entry.stored_bytes} + entry.table_bytes;
      info.max_block_raw = std::max(info.max_block_raw, entry.raw_bytes);
      info.max_block_stored = std::max(info.max_block_stored, entry.stored_bytes + entry.table_bytes);
      info.max_block_records = std::max(info.max_block_records, entry.records);
    }
    info.fingerprint = fingerprint_.value();
    info.file_id = file_id_;
    footer.index_offset = index_offset_;
  }

  void trailer() {
    if (file_.size() < kFileHeaderBytes + kTrailerBytes) return;
    const std::size_t at = file_.size() - kTrailerBytes;
    std::memcpy(file_.data() + at, kTrailerMagic.data(), kTrailerMagic.size());
    if (asked(kRepairPlaces)) put(at + trailer::kFileId, file_id_);
    if (asked(kRepairTrailer)) {
      put(at + trailer::kFileBytes, std::uint64_t{file_.size()});
      put(at + trailer::kFooterOffset, footer_offset_);
      put(at + trailer::kRecords, records_);
      put(at + trailer::kBlocks, std::uint64_t{entries_.size()});
    }
    seal(file_.subspan(at));
  }

  std::span<std::byte> file_;
  unsigned repair_;
  std::uint64_t file_id_ = 0;
  std::uint32_t sequence_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t index_offset_ = 0;
  std::uint32_t index_crc_ = 0;
  std::uint64_t footer_offset_ = 0;
  std::uint32_t shortest_ = UINT32_MAX;
  std::uint32_t longest_ = 0;
  std::vector<IndexEntry> entries_;
  RecordFingerprint fingerprint_;
};

}  // namespace

void repair_shard(std::span<std::byte> file, unsigned repair) {
  ShardRepair(file, repair).run();
}

void repair_tfrecord(std::span<std::byte> file) {
  while (file.size() >= kTfrecordFrameBytes) {
    const auto bytes = load_le<std::uint64_t>(file.data());
    encode_tfrecord_header(bytes, file.first<kTfrecordHeaderBytes>());
    if (bytes > file.size() - kTfrecordFrameBytes) return;
    const auto record = file.subspan(kTfrecordHeaderBytes, bytes);
    encode_tfrecord_footer(record, file.subspan(kTfrecordHeaderBytes + bytes).first<kTfrecordFooterBytes>());
    file = file.subspan(kTfrecordFrameBytes + bytes);
  }
}

void repair_tar(std::span<std::byte> file) {
  constexpr std::size_t kHeaderBytes = 512;
  constexpr std::size_t kSize = 124;
  constexpr std::size_t kSizeDigits = 11;
  constexpr std::size_t kChecksum = 148;
  constexpr std::size_t kChecksumBytes = 8;
  while (file.size() >= kHeaderBytes) {
    const auto header = file.first(kHeaderBytes);
    const bool end = std::ranges::all_of(header, [](std::byte b) { return b == std::byte{0}; });
    std::fill_n(header.begin() + kChecksum, kChecksumBytes, std::byte{' '});
    unsigned sum = 0;
    for (const std::byte b : header) sum += std::to_integer<unsigned>(b);
    for (std::size_t digit = 6; digit-- > 0; sum /= 8) header[kChecksum + digit] = std::byte('0' + sum % 8);
    header[kChecksum + 6] = std::byte{0};
    if (end) std::ranges::fill(header, std::byte{0});
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kSizeDigits; ++i) {
      const auto digit = std::to_integer<unsigned>(header[kSize + i]) - '0';
      if (digit < 8) bytes = bytes * 8 + digit;
    }
    const std::uint64_t step = kHeaderBytes + (bytes + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
    if (step > file.size()) return;
    file = file.subspan(step);
  }
}

}  // namespace dovetail::fuzz
