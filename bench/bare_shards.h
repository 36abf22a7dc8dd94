// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset.h>

#include "bench/files.h"
#include "format/block_decoder.h"

namespace dovetail::bench {

/// A file and where its blocks lie.
struct BareShard {
  ReadFile file;
  std::uint64_t file_id = 0;
  std::vector<format::IndexEntry> index;
  std::vector<std::uint64_t> first_record;  ///< Of each block.
  std::uint64_t first_block = 0;            ///< Number of its first block in the dataset.

  explicit BareShard(const std::string& path) : file(path) {}

  std::size_t block_of(std::uint64_t record) const;
};

/// The blocks of a dataset, read with the checks of the reader and nothing else. Everything throws
/// what is damaged.
///
/// Threads: none.
class BareShards {
 public:
  BareShards(const Dataset& dataset, const std::string& folder);

  const BareShard& operator[](std::size_t number) const { return shards_[number]; }
  /// The shard that has a block, and the block's number in it.
  std::pair<const BareShard*, std::size_t> find(std::uint64_t block) const;

  /// Reads, checks and decodes a block to `out`, with its header before it where it is stored as it
  /// is. What is returned lies there.
  format::BlockRecords load_block(const BareShard& shard, std::size_t number, std::span<std::byte> out);
  /// The only record of a block, straight to its row.
  static void read_image(const BareShard& shard, std::size_t number, std::span<std::byte> row);

 private:
  std::vector<BareShard> shards_;
  std::unique_ptr<std::byte[]> stored_;  // a compressed block before it is decoded
};

}  // namespace dovetail::bench
