// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord_index.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/layout.h"
#include "format/tfrecord/tfrecord_block.h"
#include "format/try.h"

namespace dovetail::format {

namespace {

Error mismatch(std::size_t block, const std::string& detail) {
  return Error(Errc::index_mismatch, "block " + std::to_string(block) + " of the TFRecord index: " + detail);
}

}  // namespace

void encode(const TfrecordBlock& block, std::vector<std::byte>& out) {
  const std::size_t at = out.size();
  out.resize(at + kTfrecordIndexEntryBytes);
  store_le(out.data() + at + tfrecord_index_entry::kRecords, block.records);
  store_le(out.data() + at + tfrecord_index_entry::kStoredBytes, block.stored_bytes);
  store_le(out.data() + at + tfrecord_index_entry::kFootersCrc, block.footers_crc);
}

Result<void> TfrecordIndexReader::add(ByteView record) {
  if (record.empty() || record.size() % kTfrecordIndexEntryBytes != 0) {
    return Error(Errc::bad_length, "a record of the TFRecord index does not hold whole entries");
  }
  for (; !record.empty(); record = record.subspan(kTfrecordIndexEntryBytes)) {
    const std::byte* const at = record.data();
    const TfrecordBlock block{load_le<std::uint32_t>(at + tfrecord_index_entry::kRecords),
                              load_le<std::uint32_t>(at + tfrecord_index_entry::kStoredBytes),
                              load_le<std::uint32_t>(at + tfrecord_index_entry::kFootersCrc)};
    DOVETAIL_TRY(add_block(block));
  }
  return {};
}

Result<void> TfrecordIndexReader::add_block(const TfrecordBlock& block) {
  const std::size_t number = blocks_.size();
  if (number == info_.blocks) return mismatch(number, "there are more blocks than counted");
  const std::uint64_t frames = std::uint64_t{block.records} * kTfrecordFrameBytes;
  if (block.records == 0 || block.records > info_.max_block_records || block.stored_bytes < frames ||
      block.stored_bytes > info_.max_block_stored || block.stored_bytes - frames > info_.max_block_raw) {
    return mismatch(number, "records or bytes are out of range");
  }
  if (block.records > 1 && block.stored_bytes - frames > kMaxSharedBlockBytes) {
    return mismatch(number, "too many bytes for more than one record");
  }
  if (block.stored_bytes > info_.file_bytes - offset_) return mismatch(number, "it reaches past the end of the file");
  if (records_ / info_.run_records != (records_ + block.records - 1) / info_.run_records) {
    return mismatch(number, "it reaches into the next run");
  }
  IndexEntry entry;
  entry.offset = offset_;
  entry.records = block.records;
  entry.stored_bytes = block.stored_bytes;
  entry.raw_bytes = static_cast<std::uint32_t>(block.stored_bytes - frames);
  entry.payload_crc = block.footers_crc;
  max_block_raw_ = std::max(max_block_raw_, entry.raw_bytes);
  max_block_stored_ = std::max(max_block_stored_, entry.stored_bytes);
  max_block_records_ = std::max(max_block_records_, entry.records);
  identity_.add(block);
  blocks_.push_back(entry);
  offset_ += block.stored_bytes;
  records_ += block.records;
  return {};
}

Result<std::vector<IndexEntry>> TfrecordIndexReader::finish() {
  if (blocks_.size() != info_.blocks || records_ != info_.records || offset_ != info_.file_bytes) {
    return Error(Errc::index_mismatch, "the blocks of the TFRecord index do not add up to the file");
  }
  if (max_block_raw_ != info_.max_block_raw || max_block_stored_ != info_.max_block_stored ||
      max_block_records_ != info_.max_block_records || identity_.value(info_.file_bytes) != info_.file_id) {
    return Error(Errc::index_mismatch, "the limits or the file id of the TFRecord index are not those of its blocks");
  }
  return std::move(blocks_);
}

void TfrecordIdentity::add(const TfrecordBlock& block) noexcept {
  std::array<std::byte, sizeof(std::uint32_t)> bytes;
  store_le(bytes.data(), block.footers_crc);
  crc_ = crc32c(bytes, crc_);
}

std::uint64_t TfrecordIdentity::value(std::uint64_t file_bytes) const noexcept {
  std::array<std::byte, sizeof(std::uint64_t)> bytes;
  store_le(bytes.data(), file_bytes);
  return (std::uint64_t{crc_} << 32) | crc32c(bytes);
}

}  // namespace dovetail::format
