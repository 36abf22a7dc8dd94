// SPDX-License-Identifier: Apache-2.0
// Decodes a shard from memory, strictly. What decodes has structures that encode to the same bytes,
// and tells of itself what its records are.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fuzz/support.h"
#include "tests/support/decoded_shards.h"

namespace dovetail::fuzz {
namespace {

using namespace format;  // NOLINT: of the format's own names nearly all

template <std::size_t kBytes, class Structure>
void require_same_bytes(const Structure& structure, ByteView found, const char* what) {
  std::array<std::byte, kBytes> encoded{};
  encode(structure, std::span<std::byte, kBytes>(encoded));
  require(std::ranges::equal(encoded, found.first(kBytes)), what);
}

void judge(ByteView file) {
  const MemoryLimit limit(memory_for(file.size()));
  const auto shard = test::read_shard(file);
  if (!shard) return require(!shard.error().to_string().empty(), "a failure says what it is");
  const ShardInfo& info = shard->tail.footer.info;
  require(shard->records.size() == info.records, "as many records as the footer counts");
  require(shard->blocks.size() == info.blocks && shard->index.size() == info.blocks, "as many blocks");
  // That sizes are within the limits of a footer is for `verify` to see: shard_file_fuzz.
  std::uint64_t raw_bytes = 0;
  for (const std::string& record : shard->records) raw_bytes += record.size();
  require(raw_bytes == info.raw_bytes, "as many bytes");
  require_same_bytes<kFileHeaderBytes>(shard->header, file, "the file header");
  require_same_bytes<kTrailerBytes>(shard->tail.trailer, file.last(kTrailerBytes), "the trailer");
  for (const BlockHeader& block : shard->blocks) {
    require_same_bytes<kBlockHeaderBytes>(block, file.subspan(block.offset), "a block header");
  }
  require(decode_metadata(as_bytes(encode(shard->metadata))).value() == shard->metadata, "the metadata");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge(std::as_bytes(std::span(data, size)));
  return 0;
}
