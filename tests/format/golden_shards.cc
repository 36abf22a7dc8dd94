// SPDX-License-Identifier: Apache-2.0
#include "tests/format/golden_shards.h"

#include <algorithm>

#include "format/crc32c/crc32c.h"

namespace dovetail::test {

using namespace format;

namespace {

GoldenShard golden(std::string name, std::uint32_t shard_number, ShardSpec spec) {
  spec.shard_number = shard_number;
  const bool exact = spec.codec == Codec::none;
  return {std::move(name), spec.records, spec.metadata, make_shard(spec).bytes, exact};
}

ShardSpec mixed_sizes(Codec codec) {
  ShardSpec spec{.codec = codec, .run_records = 10, .block_records = 4};
  for (std::uint64_t i = 0; i < 35; ++i) {
    const std::size_t size = i * i % 97 * 5;
    spec.records.push_back(i % 3 == 2 ? noise(size, i) : prose(size, i));
  }
  return spec;
}

ShardSpec fixed_size() {
  ShardSpec spec{.run_records = 8, .block_records = 8};
  for (std::uint64_t i = 0; i < 20; ++i) spec.records.push_back(noise(28, i));
  return spec;
}

ShardSpec of_records(Records records) {
  return {.records = std::move(records)};
}

ShardSpec large_record() {
  ShardSpec spec = of_records({"small", noise(30000, 1), "small again"});
  spec.block_records = 1;
  return spec;
}

ShardSpec manifest_of(const std::vector<GoldenShard>& shards) {
  ShardSpec spec{.run_records = 4096, .block_records = 4096, .metadata = {kManifestRecordType, "sample", {}}};
  for (const GoldenShard& shard : shards) {
    ShardInfo info = read_shard(shard.bytes).value().tail.footer.info;
    info.name = shard.name;
    spec.records.push_back(encode(info));
  }
  return spec;
}

void append_block(BlockHeader header, ByteView body, Bytes& out) {
  header.offset = out.size();
  header.payload_crc = crc32c(body);
  const std::size_t start = out.size();
  out.resize(start + header.span_bytes());
  encode(header, std::span<std::byte>(out).subspan(start).first<kBlockHeaderBytes>());
  std::copy(body.begin(), body.end(), out.begin() + static_cast<std::ptrdiff_t>(start + kBlockHeaderBytes));
}

BlockHeader plain_header(BlockType type, ByteView body, std::uint64_t file_id) {
  BlockHeader header;
  header.type = type;
  header.stored_bytes = header.raw_bytes = static_cast<std::uint32_t>(body.size());
  header.file_id = file_id;
  return header;
}

/// A file as a later 1.x may write it: minor version, feature bit, a block and a footer field that
/// nobody knows yet.
GoldenShard from_a_newer_minor_version(std::uint32_t shard_number) {
  ShardSpec spec = of_records({"dove", "tails", "pin"});
  spec.shard_number = shard_number;
  const Bytes old_bytes = make_shard(spec).bytes;
  const DecodedShard old = read_shard(old_bytes).value();
  const std::uint64_t file_id = old.tail.trailer.file_id;

  Bytes bytes(kFileHeaderBytes);
  FileHeader file_header = old.header;
  file_header.minor = 7;
  file_header.may_ignore = 1;
  encode(file_header, std::span<std::byte>(bytes).first<kFileHeaderBytes>());
  const std::string metadata = encode(spec.metadata);
  append_block(plain_header(BlockType::metadata, as_bytes(metadata), file_id), as_bytes(metadata), bytes);
  BlockHeader unknown = plain_header(static_cast<BlockType>(0x91), as_bytes("unknown"), file_id);
  unknown.codec = static_cast<Codec>(77);
  unknown.sequence = 1;
  append_block(unknown, as_bytes("unknown"), bytes);

  const std::uint64_t shift = bytes.size() - old.index.front().offset;
  Bytes index;
  for (std::size_t i = 0; i < old.blocks.size(); ++i) {
    BlockHeader header = old.blocks[i];
    IndexEntry entry = old.index[i];
    const ByteView body = ByteView(old_bytes).subspan(entry.offset + kBlockHeaderBytes, header.body_bytes());
    entry.offset += shift;
    ++header.sequence;
    append_block(header, body, bytes);
    index.resize(index.size() + kIndexEntryBytes);
    encode(entry, std::span<std::byte>(index).last<kIndexEntryBytes>());
  }
  Footer footer = old.tail.footer;
  footer.info.file_bytes = 0;
  footer.index_offset = bytes.size();
  footer.index_crc = crc32c(index);
  BlockHeader header = plain_header(BlockType::index, index, file_id);
  header.first_record = footer.info.records;
  header.sequence = static_cast<std::uint32_t>(footer.info.blocks + 2);
  append_block(header, index, bytes);

  Trailer trailer = old.tail.trailer;
  trailer.footer_offset = bytes.size();
  const std::string message = encode(footer) + std::string("\xA0\x06\x07", 3);  // field 100, a number
  header = plain_header(BlockType::footer, as_bytes(message), file_id);
  header.first_record = footer.info.records;
  header.sequence = static_cast<std::uint32_t>(footer.info.blocks + 3);
  append_block(header, as_bytes(message), bytes);
  trailer.file_bytes = bytes.size() + kTrailerBytes;
  bytes.resize(trailer.file_bytes);
  encode(trailer, std::span<std::byte>(bytes).last<kTrailerBytes>());
  return {"newer_minor.dvt", spec.records, spec.metadata, std::move(bytes), true};
}

}  // namespace

std::vector<GoldenShard> golden_shards() {
  std::vector<GoldenShard> shards = {
      golden("stored.dvt", 0, mixed_sizes(Codec::none)),
      golden("fixed_size.dvt", 1, fixed_size()),
      golden("empty.dvt", 2, of_records({})),
      golden("one_record.dvt", 3, of_records({"the only one"})),
      golden("empty_records.dvt", 4, of_records({"", "", "a", ""})),
      golden("large_record.dvt", 5, large_record()),
      from_a_newer_minor_version(6),
      golden("snappy.dvt", 7, mixed_sizes(Codec::snappy)),
      golden("zstd.dvt", 8, mixed_sizes(Codec::zstd)),
  };
  // The sizes of compressed blocks would make the bytes of the manifest depend on the version of
  // Snappy.
  std::vector<GoldenShard> listed;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(listed), [](const GoldenShard& s) { return s.exact; });
  shards.push_back(golden(kManifestName, kManifestShardNumber, manifest_of(listed)));
  return shards;
}

SampleShard worked_example() {
  ShardSpec spec{.records = {"dove", "tails", "pin"},
                 .run_records = 2,
                 .block_records = 2,
                 .shard_number = 0,
                 .metadata = {"text", "example 1", {{"wood", "oak"}}}};
  return make_shard(spec);
}

}  // namespace dovetail::test
