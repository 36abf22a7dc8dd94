// SPDX-License-Identifier: Apache-2.0
// Some blocks of a dataset, to measure with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

namespace dovetail::tools {

/// A file opened for reading. Move-only.
class BlockFile {
 public:
  static Result<BlockFile> open(const std::string& path);
  BlockFile(BlockFile&& other) noexcept;
  BlockFile& operator=(BlockFile&& other) noexcept;
  ~BlockFile();

  /// Fills `into`. Errors: `file_changed` where the file ends before, or the system's.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into) const;
  const std::string& path() const noexcept { return path_; }

 private:
  BlockFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

/// Blocks from shards all over a dataset, as many from each.
struct BlockSample {
  struct Block {
    std::uint32_t file = 0;
    BlockInfo info;
  };
  std::vector<std::string> files;  ///< Their paths.
  std::vector<Block> blocks;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t compressed_bytes = 0;  ///< Of the raw bytes, those in compressed blocks.
};

/// Reads the indexes of at most 16 shards. Takes up to `most_bytes`, stored and raw each, but at least one block.
/// Errors: those of `RecordReader::open`.
Result<BlockSample> sample_blocks(const Dataset& dataset, std::uint64_t most_bytes);

}  // namespace dovetail::tools
