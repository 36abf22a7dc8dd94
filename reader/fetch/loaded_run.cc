// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/loaded_run.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "reader/dataset/stored_block.h"

namespace dovetail::detail {

LoadedRun::LoadedRun(const ShardFile& file, const Run& run, RunPieces pieces, const FetchRules& rules,
                     AlignedBuffer room)
    : file_(&file), run_(run), pieces_(std::move(pieces)), rules_(rules), room_(std::move(room)) {
  if (rules_.record_bytes != 0) return;
  auto* const extents = reinterpret_cast<RecordExtent*>(room_.data());
  extents_ = {extents, static_cast<std::size_t>(run.count)};
  // Records of damaged blocks keep this value.
  std::uninitialized_fill(extents_.begin(), extents_.end(), RecordExtent());
  if (!pieces_.placed) return;
  const std::size_t first = pieces_.first_block;
  for (std::size_t block = first; file.first_record(block) < run.first_record + run.count; ++block) {
    if (!is_placed(file, block, rules_)) continue;
    extents_[static_cast<std::size_t>(file.first_record(block) - run.first_record)] = {
        RecordExtent::kPlaced + static_cast<std::uint32_t>(block - first), file.blocks()[block].raw_bytes};
  }
}

std::span<std::byte> LoadedRun::read_into(std::size_t piece) const noexcept {
  const RunPiece& of = pieces_.pieces[piece];
  if (!of.in_place) return {};
  return {room_.data() + of.room_offset, static_cast<std::size_t>(of.stored_bytes)};
}

LoadedRun::Filled LoadedRun::fill(std::size_t piece, const Result<void>& read, std::span<std::byte> stored,
                                  Storage& storage) {
  const RunPiece& of = pieces_.pieces[piece];
  Filled filled;
  for (std::size_t block = of.first_block; block < of.end_block; ++block) {
    Result<void> done = read;
    if (done) done = fill_block(of, block, stored);
    const format::IndexEntry& entry = file_->blocks()[block];
    if (!done && (read || !storage.gave_up(read.error()))) {
      // Bits also flip in memory and in transfers, so only a block that fails twice counts as
      // damaged.
      ++filled.retried_reads;
      const auto into = stored.subspan(static_cast<std::size_t>(entry.offset - of.file_offset),
                                       static_cast<std::size_t>(stored_bytes(*file_, block)));
      done = storage.read_again(file_->file(), entry.offset, ReadInto{into});
      if (done) done = fill_block(of, block, stored);
    }
    if (done) continue;
    const std::uint64_t first_id = run_.first_id - run_.first_record + file_->first_record(block);
    filled.damage.push_back({block, first_id, entry.records, done.error().at(file_->file().path(), entry.offset)});
  }
  return filled;
}

Result<void> LoadedRun::fill_block(const RunPiece& piece, std::size_t block, std::span<std::byte> stored) {
  const format::IndexEntry& entry = file_->blocks()[block];
  const ByteView of_block = stored.subspan(static_cast<std::size_t>(entry.offset - piece.file_offset),
                                           static_cast<std::size_t>(stored_bytes(*file_, block)));
  // The index is checked by its sums only, but the memory is sized for records of one size.
  if (rules_.record_bytes != 0 && entry.raw_bytes != std::uint64_t{entry.records} * rules_.record_bytes) {
    return Error(Errc::index_mismatch, "records are not all of " + std::to_string(rules_.record_bytes) + " bytes");
  }
  // A TFRecord's records stay where they are read; only their ends are decoded, into separate
  // memory.
  std::vector<std::byte> ends;
  std::span<std::byte> out;
  if (keeps_stored(*file_)) {
    ends.resize(static_cast<std::size_t>(decoded_bytes(*file_, block)));
    out = ends;
  } else if (!piece.in_place) {
    std::size_t offset = piece.room_offset;
    if (rules_.record_bytes != 0) {
      const std::uint64_t before = file_->first_record(block) - file_->first_record(piece.first_block);
      offset += static_cast<std::size_t>(before * rules_.record_bytes);
    } else {
      for (std::size_t i = piece.first_block; i < block; ++i) offset += file_->blocks()[i].raw_bytes;
    }
    // The decoder may overwrite slack bytes. They are free only behind the last block of the run.
    const bool last = block + 1 == pieces_.pieces.back().end_block;
    out = {room_.data() + offset, entry.raw_bytes + (last ? AlignedBuffer::kSlack : 0)};
  }
  Result<format::BlockRecords> records = decode_stored(*file_, block, of_block, out);
  if (!records) return records.error();
  const ShardInfo& info = file_->info();
  if (info.min_record_bytes == info.max_record_bytes && !records->all_have(info.max_record_bytes)) {
    return Error(Errc::index_mismatch,
                 "records are not all of " + std::to_string(info.max_record_bytes) + " bytes, as the footer says");
  }
  if (!piece.in_place && !keeps_stored(*file_) && entry.codec == Codec::none) {
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
  const std::uint64_t first = file_->first_record(block);
  const std::uint64_t begin = std::max(first, run_.first_record);
  const std::uint64_t end = std::min(first + records.size(), run_.first_record + run_.count);
  for (std::uint64_t record = begin; record < end; ++record) {
    const ByteView bytes = records[static_cast<std::uint32_t>(record - first)];
    extents_[static_cast<std::size_t>(record - run_.first_record)] = {
        static_cast<std::uint32_t>(bytes.data() - room_.data()), static_cast<std::uint32_t>(bytes.size())};
  }
}

ReadyRun LoadedRun::ready(std::uint32_t shard, bool damaged) const noexcept {
  const std::size_t first = pieces_.first_block;
  ReadyRun ready{.where = to_where(room_.data()),
                 .first_id = run_.first_id,
                 .extents = rules_.record_bytes == 0 ? extents_.data() : nullptr,
                 .first_block = first,
                 .shard = shard,
                 .stride = stride_of(*file_, rules_.record_bytes)};
  if (rules_.record_bytes != 0) {
    const RunPiece& piece = pieces_.pieces.front();
    std::size_t head = 0;
    if (piece.in_place) head = head_bytes(*file_) + file_->blocks()[first].table_bytes;
    // Records of the first block before the run.
    const std::uint64_t before = run_.first_record - file_->first_record(first);
    ready.where += piece.room_offset + head + before * stride_of(*file_, rules_.record_bytes);
  }
  if (damaged) ready.where |= Entry::kDamage;
  return ready;
}

}  // namespace dovetail::detail
