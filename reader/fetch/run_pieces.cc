// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/run_pieces.h"

#include <algorithm>

#include "format/tfrecord/tfrecord.h"
#include "reader/dataset/stored_block.h"
#include "reader/walk/entry.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t rounded_up(std::size_t bytes) noexcept {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

/// Whether the index gives a block as many bytes as its records need. If not, the index is damaged.
/// The block is then read separately, so that it overwrites no other block.
bool has_size(const ShardFile& file, std::size_t block, const FetchRules& rules) noexcept {
  const format::IndexEntry& entry = file.blocks()[block];
  return rules.record_bytes == 0 || entry.raw_bytes == std::uint64_t{entry.records} * rules.record_bytes;
}

/// Sizes of the blocks of a piece.
struct Blocks {
  std::size_t decoded = 0;  ///< Number of blocks that are stored encoded.
  std::size_t raw_bytes = 0;
};

Blocks blocks_of(const ShardFile& file, const RunPiece& piece) noexcept {
  Blocks blocks;
  for (std::size_t block = piece.first_block; block < piece.end_block; ++block) {
    blocks.raw_bytes += file.blocks()[block].raw_bytes;
    if (file.framing() == Framing::blocks && file.blocks()[block].codec != Codec::none) ++blocks.decoded;
  }
  return blocks;
}

/// Lays out the pieces one after the other. Each piece begins at the same offset in a cache line as
/// in the file, so that copies are aligned.
void lay_out_sized(const ShardFile& file, RunPieces& run) noexcept {
  for (RunPiece& piece : run.pieces) {
    const Blocks blocks = blocks_of(file, piece);
    piece.in_place = blocks.decoded == 0;
    piece.room_offset = rounded_up(run.room_bytes) + (piece.in_place ? piece.file_offset % kCacheLine : 0);
    run.room_bytes =
        piece.room_offset + (piece.in_place ? static_cast<std::size_t>(piece.stored_bytes) : blocks.raw_bytes);
  }
}

/// Lays out all records contiguously. In a TFRecord file they lie so; in a shard, headers separate
/// the blocks.
void lay_out_row(const ShardFile& file, const FetchRules& rules, RunPieces& run) noexcept {
  const std::uint32_t record_bytes = rules.record_bytes;
  const RunPiece& first = run.pieces.front();
  const std::size_t blocks = run.pieces.back().end_block - first.first_block;
  const bool in_place = file.framing() == Framing::tfrecord || (blocks == 1 && blocks_of(file, first).decoded == 0);
  const std::size_t begin = in_place ? first.file_offset % kCacheLine : 0;
  const std::uint64_t first_record = file.first_record(first.first_block);
  for (RunPiece& piece : run.pieces) {
    piece.in_place = in_place && has_size(file, piece.first_block, rules);
    const std::uint64_t records = file.first_record(piece.first_block) - first_record;
    piece.room_offset = begin + static_cast<std::size_t>(records * stride_of(file, record_bytes));
    const std::size_t bytes =
        piece.in_place
            ? static_cast<std::size_t>(piece.stored_bytes)
            : static_cast<std::size_t>((file.first_record(piece.end_block) - file.first_record(piece.first_block)) *
                                       record_bytes);
    run.room_bytes = std::max(run.room_bytes, piece.room_offset + bytes);
  }
}

}  // namespace

bool is_placed(const ShardFile& file, std::size_t block, const FetchRules& rules) noexcept {
  return rules.record_bytes == 0 && file.blocks()[block].raw_bytes >= rules.placed_bytes && is_single(file, block);
}

std::uint32_t stride_of(const ShardFile& file, std::uint32_t record_bytes) noexcept {
  if (file.framing() == Framing::blocks) return record_bytes;
  return record_bytes + static_cast<std::uint32_t>(format::kTfrecordHeaderBytes + format::kTfrecordFooterBytes);
}

RunPieces RunPieces::of(const ShardFile& file, const Run& run, const FetchRules& rules) {
  RunPieces made;
  made.first_block = file.block_of(run.first_record);
  if (rules.record_bytes == 0) made.room_bytes = static_cast<std::size_t>(run.count) * sizeof(RecordExtent);
  for (std::size_t block = made.first_block;
       block < file.blocks().size() && file.first_record(block) < run.first_record + run.count; ++block) {
    if (is_placed(file, block, rules)) {
      made.placed = true;
      continue;
    }
    const std::uint64_t begin = file.blocks()[block].offset;
    const std::uint64_t end = begin + stored_bytes(file, block);
    const bool joins = !made.pieces.empty() && made.pieces.back().end_block == block &&
                       end - made.pieces.back().file_offset <= rules.read_bytes && has_size(file, block, rules) &&
                       has_size(file, block - 1, rules);
    if (!joins) made.pieces.push_back({.first_block = block, .file_offset = begin});
    made.pieces.back().end_block = block + 1;
    made.pieces.back().stored_bytes = end - made.pieces.back().file_offset;
  }
  if (made.pieces.empty()) return made;
  if (rules.record_bytes == 0) {
    lay_out_sized(file, made);
  } else {
    lay_out_row(file, rules, made);
  }
  return made;
}

}  // namespace dovetail::detail
