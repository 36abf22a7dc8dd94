// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/block_sample.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dovetail::tools {

namespace {

constexpr std::size_t kMostShards = 16;

/// The shards that have records, or some of them at equal distances.
std::vector<std::uint32_t> choose_shards(const Dataset& dataset) {
  std::vector<std::uint32_t> filled;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    if (dataset.shards()[shard].records > 0) filled.push_back(shard);
  }
  if (filled.size() <= kMostShards) return filled;
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < kMostShards; ++i) chosen.push_back(filled[i * filled.size() / kMostShards]);
  return chosen;
}

/// Consecutive blocks from the middle of a shard.
void take_blocks(std::span<const BlockInfo> blocks, std::uint64_t most_bytes, std::uint32_t file, BlockSample& sample) {
  std::uint64_t stored = 0;
  std::uint64_t raw = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockInfo& block = blocks[(blocks.size() / 2 + i) % blocks.size()];
    stored += block.stored_bytes;
    raw += block.raw_bytes;
    if (!sample.blocks.empty() && std::max(stored, raw) > most_bytes) return;
    sample.blocks.push_back({file, block});
    sample.stored_bytes += block.stored_bytes;
    sample.raw_bytes += block.raw_bytes;
    if (block.codec != Codec::none) sample.compressed_bytes += block.raw_bytes;
  }
}

}  // namespace

Result<BlockFile> BlockFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Error::from_errno(errno).in_file(path);
  return BlockFile(descriptor, path);
}

BlockFile::BlockFile(BlockFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

BlockFile& BlockFile::operator=(BlockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

BlockFile::~BlockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> BlockFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno).at(path_, offset);
    if (got == 0) return Error(Errc::file_changed, "it ends before a block that its index names").at(path_, offset);
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<BlockSample> sample_blocks(const Dataset& dataset, std::uint64_t most_bytes) {
  BlockSample sample;
  const std::vector<std::uint32_t> shards = choose_shards(dataset);
  for (const std::uint32_t shard : shards) {
    const Result<RecordReader> reader = RecordReader::open(dataset, shard);
    if (!reader) return reader.error();
    take_blocks(reader->shard().blocks, most_bytes / shards.size(), static_cast<std::uint32_t>(sample.files.size()),
                sample);
    sample.files.push_back(dataset.shard_path(shard));
  }
  return sample;
}

}  // namespace dovetail::tools
