// SPDX-License-Identifier: Apache-2.0
// Filling of rows whose records are not in a run in memory.
#include <vector>

#include "reader/fill/slot_fill.h"

namespace dovetail::detail {

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
  read.into = read.record;
  if (read.is_encoded()) {
    thread_local std::vector<std::byte> encoded;  // per thread, so that it stays in the caches
    const auto bytes = static_cast<std::size_t>(stored_bytes(*read.file, read.block));
    if (encoded.size() < bytes) encoded.resize(bytes);
    read.into = std::span(encoded).first(bytes);
  }
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

std::vector<RowRead*> SlotFill::waiting() {
  if (error_.has_value()) reads_.clear();  // so that others can use the files
  std::vector<RowRead*> waiting;
  for (RowRead& read : reads_) {
    read.record = {rows_.parts().values + read.at, read.record.size()};  // a batch that spilled has moved since
    read.into = read.record.first(read.into.size());
    waiting.push_back(&read);
  }
  return waiting;
}

void SlotFill::check(RowRead& read) {
  check_record(read, parts_.storage);
}

void SlotFill::resume() {
  for (const RowRead& read : reads_) {
    counts_.retried_reads += read.retried;
    if (read.damage.has_value() && !lose_placed(read)) break;
  }
  reads_.clear();
  if (!error_.has_value()) end_row();
}

}  // namespace dovetail::detail
