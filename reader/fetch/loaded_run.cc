// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/loaded_run.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "format/tfrecord/tfrecord.h"
#include "reader/dataset/stored_block.h"

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

}  // namespace

bool is_placed(const ShardFile& file, std::size_t block, const FetchRules& rules) noexcept {
  return rules.record_bytes == 0 && file.blocks()[block].raw_bytes >= rules.placed_bytes && is_single(file, block);
}

std::uint32_t stride_of(const ShardFile& file, std::uint32_t record_bytes) noexcept {
  if (file.framing() == Framing::blocks) return record_bytes;
  return record_bytes + static_cast<std::uint32_t>(format::kTfrecordHeaderBytes + format::kTfrecordFooterBytes);
}

std::size_t LoadedRun::lay_out(const ShardFile& of, const FetchRules& rules) {
  rules_ = rules;
  pieces_.clear();
  places_ = false;
  room_bytes_ = rules.record_bytes == 0 ? static_cast<std::size_t>(run.count) * sizeof(RecordExtent) : 0;
  first_block_ = of.block_of(run.first_record);
  for (std::size_t block = first_block_;
       block < of.blocks().size() && of.first_record(block) < run.first_record + run.count; ++block) {
    if (is_placed(of, block, rules)) {
      places_ = true;
      continue;
    }
    const std::uint64_t begin = of.blocks()[block].offset;
    const std::uint64_t end = begin + stored_bytes(of, block);
    const bool joins = !pieces_.empty() && pieces_.back().end_block == block &&
                       end - pieces_.back().file_offset <= rules.read_bytes && has_size(of, block, rules) &&
                       has_size(of, block - 1, rules);
    if (!joins) pieces_.push_back({.first_block = block, .file_offset = begin});
    pieces_.back().end_block = block + 1;
    pieces_.back().stored_bytes = end - pieces_.back().file_offset;
  }
  if (pieces_.empty()) return room_bytes_;
  if (rules.record_bytes == 0) {
    lay_out_sized(of);
  } else {
    lay_out_row(of);
  }
  return room_bytes_;
}

// Lays out the pieces one after the other. Each piece begins at the same offset in a cache line as
// in the file, so that copies are aligned.
void LoadedRun::lay_out_sized(const ShardFile& of) noexcept {
  for (RunPiece& piece : pieces_) {
    const Blocks blocks = blocks_of(of, piece);
    piece.in_place = blocks.decoded == 0;
    piece.room_offset = rounded_up(room_bytes_) + (piece.in_place ? piece.file_offset % kCacheLine : 0);
    room_bytes_ =
        piece.room_offset + (piece.in_place ? static_cast<std::size_t>(piece.stored_bytes) : blocks.raw_bytes);
  }
}

// All records lie contiguously. In a TFRecord file they lie so; in a shard, headers separate
// the blocks.
void LoadedRun::lay_out_row(const ShardFile& of) noexcept {
  const std::uint32_t record_bytes = rules_.record_bytes;
  const RunPiece& first = pieces_.front();
  const std::size_t blocks = pieces_.back().end_block - first.first_block;
  const bool in_place = of.framing() == Framing::tfrecord || (blocks == 1 && blocks_of(of, first).decoded == 0);
  const std::size_t begin = in_place ? first.file_offset % kCacheLine : 0;
  const std::uint64_t first_record = of.first_record(first.first_block);
  for (RunPiece& piece : pieces_) {
    piece.in_place = in_place && has_size(of, piece.first_block, rules_);
    const std::uint64_t records = of.first_record(piece.first_block) - first_record;
    piece.room_offset = begin + static_cast<std::size_t>(records * stride_of(of, record_bytes));
    const std::size_t bytes =
        piece.in_place ? static_cast<std::size_t>(piece.stored_bytes)
                       : static_cast<std::size_t>(
                             (of.first_record(piece.end_block) - of.first_record(piece.first_block)) * record_bytes);
    room_bytes_ = std::max(room_bytes_, piece.room_offset + bytes);
  }
}

void LoadedRun::begin(std::shared_ptr<const ShardFile> of, AlignedBuffer room) {
  file = std::move(of);
  room_ = std::move(room);
  left = pieces_.size();
  if (rules_.record_bytes != 0) return;
  auto* const extents = reinterpret_cast<RecordExtent*>(room_.data());
  extents_ = {extents, static_cast<std::size_t>(run.count)};
  // Records of damaged blocks keep this value.
  std::uninitialized_fill(extents_.begin(), extents_.end(), RecordExtent());
  if (!places_) return;
  for (std::size_t block = first_block_; file->first_record(block) < run.first_record + run.count; ++block) {
    if (!is_placed(*file, block, rules_)) continue;
    extents_[static_cast<std::size_t>(file->first_record(block) - run.first_record)] = {
        RecordExtent::kPlaced + static_cast<std::uint32_t>(block - first_block_), file->blocks()[block].raw_bytes};
  }
}

std::span<std::byte> LoadedRun::read_into(std::size_t piece) const noexcept {
  const RunPiece& of = pieces_[piece];
  if (!of.in_place) return {};
  return {room_.data() + of.room_offset, static_cast<std::size_t>(of.stored_bytes)};
}

LoadedRun::Filled LoadedRun::fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored,
                                  Storage& storage) {
  const RunPiece& of = pieces_[piece];
  Filled filled;
  for (std::size_t block = of.first_block; block < of.end_block; ++block) {
    const format::IndexEntry& entry = file->blocks()[block];
    const auto of_block = stored.subspan(static_cast<std::size_t>(entry.offset - of.file_offset),
                                         static_cast<std::size_t>(stored_bytes(*file, block)));
    const Result<void> done = check_twice(*file, block, read, ReadInto{of_block}, storage, filled.retried_reads,
                                          [&] { return fill_block(of, block, of_block); });
    if (done) continue;
    const std::uint64_t first_id = run.first_id - run.first_record + file->first_record(block);
    filled.damage.push_back({block, first_id, entry.records, done.error()});
  }
  return filled;
}

Result<void> LoadedRun::fill_block(const RunPiece& piece, std::size_t block, ByteView of_block) {
  const format::IndexEntry& entry = file->blocks()[block];
  // The index is checked by its sums only, but the memory is sized for records of one size.
  if (rules_.record_bytes != 0 && entry.raw_bytes != std::uint64_t{entry.records} * rules_.record_bytes) {
    return Error(Errc::index_mismatch, "records are not all of " + std::to_string(rules_.record_bytes) + " bytes");
  }
  // A TFRecord's records stay where they are read; only their ends are decoded, into separate
  // memory.
  std::vector<std::byte> ends;
  std::span<std::byte> out;
  if (keeps_stored(*file)) {
    ends.resize(static_cast<std::size_t>(decoded_bytes(*file, block)));
    out = ends;
  } else if (!piece.in_place) {
    std::size_t offset = piece.room_offset;
    if (rules_.record_bytes != 0) {
      const std::uint64_t before = file->first_record(block) - file->first_record(piece.first_block);
      offset += static_cast<std::size_t>(before * rules_.record_bytes);
    } else {
      for (std::size_t i = piece.first_block; i < block; ++i) offset += file->blocks()[i].raw_bytes;
    }
    // The decoder may overwrite slack bytes. They are free only behind the last block of the run.
    const bool last = block + 1 == pieces_.back().end_block;
    out = {room_.data() + offset, entry.raw_bytes + (last ? AlignedBuffer::kSlack : 0)};
  }
  Result<format::BlockRecords> records = decode_stored(*file, block, of_block, out);
  if (!records) return records.error();
  const ShardInfo& info = file->info();
  if (info.min_record_bytes == info.max_record_bytes && !records->all_have(info.max_record_bytes)) {
    return Error(Errc::index_mismatch,
                 "records are not all of " + std::to_string(info.max_record_bytes) + " bytes, as the footer says");
  }
  if (!piece.in_place && !keeps_stored(*file) && entry.codec == Codec::none) {
    const ByteView body = of_block.last(entry.raw_bytes);
    if (!body.empty()) std::memcpy(out.data(), body.data(), body.size());
    *records = entry.table_bytes == 0
                   ? format::BlockRecords(out.data(), entry.records, entry.raw_bytes / entry.records)
                   : format::BlockRecords(out.data(), of_block.data() + format::kBlockHeaderBytes, entry.records);
  }
  if (rules_.record_bytes == 0) note(block, *records);
  return {};
}

void LoadedRun::note(std::size_t block, const format::BlockRecords& records) {
  const std::uint64_t first = file->first_record(block);
  const std::uint64_t begin = std::max(first, run.first_record);
  const std::uint64_t end = std::min(first + records.size(), run.first_record + run.count);
  for (std::uint64_t record = begin; record < end; ++record) {
    const ByteView bytes = records[static_cast<std::uint32_t>(record - first)];
    extents_[static_cast<std::size_t>(record - run.first_record)] = {
        static_cast<std::uint32_t>(bytes.data() - room_.data()), static_cast<std::uint32_t>(bytes.size())};
  }
}

void LoadedRun::finish() {
  result = file != nullptr ? ready() : ReadyRun{.where = Entry::kDamage, .first_id = run.first_id, .shard = run.shard};
  file.reset();
}

ReadyRun LoadedRun::ready() const noexcept {
  ReadyRun ready{.where = to_where(room_.data()),
                 .first_id = run.first_id,
                 .extents = rules_.record_bytes == 0 ? extents_.data() : nullptr,
                 .first_block = first_block_,
                 .shard = run.shard,
                 .stride = stride_of(*file, rules_.record_bytes)};
  if (rules_.record_bytes != 0) {
    const RunPiece& piece = pieces_.front();
    std::size_t head = 0;
    if (piece.in_place) head = head_bytes(*file) + file->blocks()[first_block_].table_bytes;
    // Records of the first block before the run.
    const std::uint64_t before = run.first_record - file->first_record(first_block_);
    ready.where += piece.room_offset + head + before * stride_of(*file, rules_.record_bytes);
  }
  if (damaged) ready.where |= Entry::kDamage;
  return ready;
}

}  // namespace dovetail::detail
