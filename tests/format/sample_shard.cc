// SPDX-License-Identifier: Apache-2.0
#include "tests/format/sample_shard.h"

#include <algorithm>

#include "format/block_decoder.h"

namespace dovetail::format::test {

DatasetId sample_dataset_id() {
  DatasetId id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) id.bytes[i] = static_cast<std::uint8_t>(0x11 * i);
  return id;
}

std::uint64_t Draws::next() noexcept {
  state_ += 0x9E3779B97F4A7C15ull;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::string noise(std::size_t size, std::uint64_t seed) {
  Draws draws(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(draws.below(256));
  return text;
}

std::string prose(std::size_t size, std::uint64_t seed) {
  static const char* const kWords[] = {"dove ", "tail ", "joint ", "board ", "saw ", "pin ", "glue ", "clamp "};
  Draws draws(seed);
  std::string text;
  while (text.size() < size) text += kWords[draws.below(std::size(kWords))];
  text.resize(size);
  return text;
}

SampleShard make_shard(const ShardSpec& spec) {
  SampleShard shard;
  ShardEncoder encoder(sample_dataset_id(), spec.shard_number);
  encoder.begin(spec.metadata, shard.bytes).value();
  RecordFingerprint fingerprint;
  RawBlock raw;
  EncodedBlock encoded;
  for (std::size_t i = 0; i < spec.records.size(); ++i) {
    const ByteView record = as_bytes(spec.records[i]);
    fingerprint.add(record);
    raw.append(record);
    const bool last = i + 1 == spec.records.size();
    if (last || raw.records() == spec.block_records || (i + 1) % spec.run_records == 0) {
      encode_block(raw, spec.codec, encoded);
      encoder.add(encoded, shard.bytes).value();
      raw.clear();
    }
  }
  shard.info = encoder.finish(spec.run_records, fingerprint.value(), shard.bytes);
  return shard;
}

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

EncodedBlock encode_records(const Records& records, Codec codec) {
  RawBlock raw;
  for (const std::string& record : records) raw.append(as_bytes(record));
  EncodedBlock block;
  encode_block(raw, codec, block);
  return block;
}

}  // namespace dovetail::format::test
