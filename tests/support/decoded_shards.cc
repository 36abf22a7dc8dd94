// SPDX-License-Identifier: Apache-2.0
#include "tests/support/decoded_shards.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "format/block_decoder.h"
#include "format/layout.h"
#include "format/shard_encoder.h"

namespace dovetail::test {

using namespace format;

namespace {

Result<void> read_blocks(ByteView file, DecodedShard& shard) {
  RecordFingerprint fingerprint;
  std::uint64_t first_record = 0;
  std::uint32_t sequence = shard.tail.first_sequence;
  for (const IndexEntry& entry : shard.index) {
    const ByteView bytes = file.subspan(entry.offset, entry.span_bytes());
    const auto header = decode_block_header(bytes.first<kBlockHeaderBytes>());
    if (!header) return header.error();
    auto placed = check_block_header(*header, entry, shard.tail.trailer.file_id, sequence, first_record);
    if (!placed) return placed;
    Bytes out(header->raw_bytes);
    const auto records = decode_block(*header, bytes.subspan(kBlockHeaderBytes, header->body_bytes()), out);
    if (!records) return records.error();
    for (std::uint32_t i = 0; i < records->size(); ++i) {
      fingerprint.add((*records)[i]);
      shard.records.emplace_back(as_chars((*records)[i]));
    }
    shard.blocks.push_back(*header);
    first_record += header->records;
    ++sequence;
  }
  if (fingerprint.value() != shard.tail.footer.info.fingerprint) {
    return Error(Errc::index_mismatch, "fingerprint");
  }
  return {};
}

}  // namespace

Result<DecodedShard> read_shard(ByteView file) {
  DecodedShard shard;
  if (file.size() < kFileHeaderBytes) return Error(Errc::truncated, "file header");
  const auto header = decode_file_header(file.first<kFileHeaderBytes>());
  if (!header) return header.error();
  shard.header = *header;

  const auto tail = decode_tail(file.last(std::min<std::size_t>(file.size(), kTailBytes)), file.size());
  if (!tail) return tail.error();
  shard.tail = *tail;
  if (shard.tail.trailer.file_id != make_file_id(header->dataset_id, header->shard_number)) {
    return Error(Errc::misplaced_block, "the trailer of another file");
  }
  auto metadata = decode_metadata_block(file.subspan(kFileHeaderBytes), shard.tail.trailer.file_id);
  if (!metadata) return metadata.error();
  shard.metadata = std::move(*metadata);

  const std::uint64_t index_offset = shard.tail.footer.index_offset;
  auto index = decode_index(file.subspan(index_offset, shard.tail.trailer.footer_offset - index_offset), shard.tail);
  if (!index) return index.error();
  shard.index = std::move(*index);
  if (auto blocks = read_blocks(file, shard); !blocks) return blocks.error();
  return shard;
}

std::vector<bool> padding_of(const DecodedShard& shard, std::size_t file_bytes) {
  std::vector<bool> padding(file_bytes, false);
  const auto mark = [&](std::uint64_t offset, std::uint64_t body_bytes) {
    const std::uint64_t end = offset + align_up(kBlockHeaderBytes + body_bytes);
    for (std::uint64_t i = offset + kBlockHeaderBytes + body_bytes; i < end; ++i) padding[i] = true;
  };
  mark(kFileHeaderBytes, encode(shard.metadata).size());
  for (const BlockHeader& block : shard.blocks) mark(block.offset, block.body_bytes());
  mark(shard.tail.footer.index_offset, shard.index.size() * kIndexEntryBytes);
  Footer footer = shard.tail.footer;
  footer.info.file_bytes = 0;
  mark(shard.tail.trailer.footer_offset, encode(footer).size());
  return padding;
}

DecodedShard read_shard_file(const std::string& path) {
  const Bytes bytes = read_file(path);
  auto shard = read_shard(bytes);
  if (!shard) throw Exception(shard.error().in_file(path));
  return std::move(*shard);
}

DecodedDataset read_dataset(const std::string& folder) {
  DecodedDataset dataset;
  const DecodedShard manifest = read_shard_file(folder + '/' + format::kManifestName);
  if (manifest.metadata.record_type != format::kManifestRecordType) throw std::runtime_error("not a manifest");
  dataset.id = manifest.header.dataset_id;
  for (const std::string& record : manifest.records) {
    const ShardInfo info = format::decode_shard_info(as_bytes(record)).value();
    DecodedShard shard = read_shard_file(folder + '/' + info.name);
    ShardInfo footer = shard.tail.footer.info;
    footer.name = info.name;
    if (footer != info) throw std::runtime_error(info.name + " is not what its manifest says");
    if (shard.header.dataset_id != dataset.id || shard.header.shard_number != dataset.infos.size()) {
      throw std::runtime_error(info.name + " belongs elsewhere");
    }
    dataset.infos.push_back(info);
    dataset.records.insert(dataset.records.end(), shard.records.begin(), shard.records.end());
    dataset.shards.push_back(std::move(shard));
  }
  return dataset;
}

}  // namespace dovetail::test
