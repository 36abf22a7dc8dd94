// SPDX-License-Identifier: Apache-2.0
// Filling of rows whose records are not in a run in memory.
#include <algorithm>

#include "reader/fill/slot_fill.h"

namespace dovetail::detail {

namespace {

// The most blocks that are requested together, and the most bytes of them.
constexpr std::size_t kMostReads = 64;
constexpr std::uint64_t kMostReadBytes = 4 << 20;
constexpr std::size_t kMostKeptBytes = 128 << 10;  // of a block, for the next one

}  // namespace

Result<std::shared_ptr<const ShardFile>> SlotFill::open(std::uint32_t shard) {
  std::shared_ptr<const ShardFile> file = parts_.shards.find(shard);
  if (file != nullptr) return file;
  if (const std::optional<Error> failure = parts_.shards.failure(shard)) return *failure;
  parts_.shards.want(shard);
  waits_for_shard_ = true;
  return file;
}

bool SlotFill::lose_shard(const SizedEntry& record, RowStatus status, const Error& failure) {
  return lose(record.id, status, {record.shard, 0, parts_.shards.records(record.shard), failure, true});
}

bool SlotFill::read_record(const SizedEntry& record, RowStatus status) {
  Result<std::shared_ptr<const ShardFile>> file = open(record.shard);
  if (!file.has_value()) return lose_shard(record, status, file.error());
  if (*file == nullptr) return false;
  const std::uint32_t row = rows_.rows();
  const std::uint64_t at = rows_.value_bytes();
  if (!fail_unless(rows_.add_room(record.id, status, record.bytes), record.bytes)) return false;
  RowRead& read = reads_.emplace_back();
  read.file = std::move(*file);
  read.shard = record.shard;
  read.block = static_cast<std::size_t>(record.where);
  read.row = row;
  read.at = at;
  read.record = {rows_.parts().values + at, record.bytes};
  read.into = read.is_encoded() ? room_for_block(*read.file, read.block) : read.record;
  ++counts_.direct_reads;
  counts_.direct_bytes += read.into.size();
  const Result<bool> there = parts_.storage.try_read(read.file->file(), read.offset(), read.destination());
  if (there.has_value() && !*there) return true;
  if (!there.has_value()) read.read = there.error();
  check_record(read, parts_.storage);
  counts_.retried_reads += read.retried;
  const bool goes_on = !read.damage.has_value() || lose_placed(read);
  reads_.pop_back();
  return goes_on;
}

bool SlotFill::lose_placed(const RowRead& read) {
  const std::uint64_t record = read.file->first_record(read.block);
  if (!note_loss(rows_.parts().ids[read.row], {read.shard, record, record + 1, *read.damage})) return false;
  RowStatus& status = rows_.parts().status[read.row];
  status = damaged_empty(status);
  return true;
}

bool SlotFill::read_block(const SizedEntry& record, RowStatus status) {
  if (!reads_.empty()) {  // the read was requested, and has arrived
    const RowRead& read = reads_.front();
    return add_from_block(record, status, *read.file, read.read, read.into);
  }
  const Result<std::shared_ptr<const ShardFile>> opened = open(record.shard);
  if (!opened.has_value()) return lose_shard(record, status, opened.error());
  const std::shared_ptr<const ShardFile>& file = *opened;
  if (file == nullptr) return false;
  const std::size_t block = file->block_of(record.where);
  const std::span<std::byte> into = room_for_block(*file, block);
  const Result<bool> there = parts_.storage.try_read(file->file(), file->blocks()[block].offset, ReadInto{into});
  if (there.has_value() && !*there) return false;
  return add_from_block(record, status, *file, there.has_value() ? Result<void>() : there.error(), into);
}

bool SlotFill::add_from_block(const SizedEntry& record, RowStatus status, const ShardFile& file,
                              const Result<void>& read, std::span<std::byte> stored) {
  const std::size_t block = file.block_of(record.where);
  ++counts_.direct_reads;
  counts_.direct_bytes += stored.size();
  const Result<ByteView> found =
      record_of_block(file, block, record.where, read, stored, decoded_, parts_.storage, counts_);
  bool added = false;
  if (found.has_value()) {
    added = add(record.id, status, *found);
  } else {
    const Loss loss{record.shard, file.first_record(block), file.first_record(block + 1), found.error()};
    added = lose(record.id, status, loss);
  }
  // The memory of the block is reused for the next block.
  if (added && columns_ && rows_.rows() < rules_.batch_rows) let_go();
  return added && !error_.has_value();
}

void SlotFill::read_ahead(std::span<const SizedEntry> records) {
  const std::uint64_t most = std::min(kMostReadBytes, rules_.ahead_bytes);
  std::uint64_t bytes = 0;
  bool open_all = !waits_for_shard_;
  for (const SizedEntry& record : records.first(std::min(records.size(), kMostReads))) {
    std::shared_ptr<const ShardFile> file = parts_.shards.peek(record.shard);
    if (file == nullptr) {
      if (parts_.shards.failure(record.shard) || parts_.shards.crowded()) return;
      parts_.shards.want(record.shard);
      open_all = false;
    }
    if (!open_all) continue;  // after a shard that is not open, only open more shards
    const std::size_t block = file->block_of(record.where);
    const auto stored = static_cast<std::size_t>(stored_bytes(*file, block));
    if (!reads_.empty() && bytes + stored > most) return;
    bytes += stored;
    RowRead& read = reads_.emplace_back();
    read.file = std::move(file);
    read.shard = record.shard;
    read.block = block;
    read.stored = AlignedBuffer(stored);
    read.into = {read.stored.data(), stored};
  }
}

std::span<std::byte> SlotFill::room_for_block(const ShardFile& file, std::size_t block) {
  const auto bytes = static_cast<std::size_t>(stored_bytes(file, block));
  if (stored_.size() < bytes) stored_ = AlignedBuffer(bytes);
  return {stored_.data(), bytes};
}

void SlotFill::free_blocks() {
  for (AlignedBuffer* const block : {&stored_, &decoded_}) {
    if (block->size() > kMostKeptBytes) *block = AlignedBuffer();
  }
}

bool SlotFill::has_placed_reads() const noexcept {
  return !reads_.empty() && reads_.front().is_placed();
}

std::vector<RowRead*> SlotFill::waiting() {
  if (error_.has_value()) reads_.clear();  // so that others can use the files
  std::vector<RowRead*> waiting;
  for (RowRead& read : reads_) {
    if (read.is_placed()) {  // a batch that spilled has moved since
      read.record = {rows_.parts().values + read.at, read.record.size()};
      read.into = read.record.first(read.into.size());
    }
    waiting.push_back(&read);
  }
  return waiting;
}

void SlotFill::check(RowRead& read) {
  if (read.is_placed()) check_record(read, parts_.storage);
}

void SlotFill::resume() {
  if (!has_placed_reads()) return;
  for (const RowRead& read : reads_) {
    counts_.retried_reads += read.retried;
    if (read.damage.has_value() && !lose_placed(read)) break;
  }
  reads_.clear();
  if (!error_.has_value()) end_row();
}

}  // namespace dovetail::detail
