// SPDX-License-Identifier: Apache-2.0
// Filling of rows whose records are not in a run in memory.
#include <vector>

#include "reader/fill/slot_fill.h"

namespace dovetail::detail {

namespace {

/// If the encoded block was read to the memory of its row, copies it first, because decoding writes
/// there.
Result<void> decode_record(const RowRead& read) {
  ByteView stored = read.into;
  if (read.into.data() == read.record.data()) {
    thread_local std::vector<std::byte> scratch;  // per thread, so that it stays in the caches
    scratch.assign(read.into.begin(), read.into.end());
    stored = scratch;
  }
  return decode_single(*read.file, read.block, stored, read.record);
}

}  // namespace

bool SlotFill::read_record(const SizedEntry& record, RowStatus status) {
  std::shared_ptr<const ShardFile> file = parts_.shards.find(record.shard);
  if (file == nullptr) {
    if (const std::optional<Error> failure = parts_.shards.failure(record.shard)) {
      return lose(record.id, status, {record.shard, 0, parts_.shards.records(record.shard), *failure, true});
    }
    parts_.shards.want(record.shard);
    waits_for_shard_ = true;
    return false;
  }
  const std::uint32_t row = rows_.rows();
  const std::uint64_t at = rows_.value_bytes();
  if (!fail_unless(rows_.add_room(record.id, status, record.bytes), record.bytes)) return false;
  RowRead& read = reads_.emplace_back();
  read.file = std::move(file);
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
  check(read);
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
  const auto check = [&] {
    if (read.is_encoded()) return decode_record(read);
    const ReadInto into = read.destination();
    return check_single(*read.file, read.block, into.first, into.second);
  };
  const Result<void> good =
      check_twice(*read.file, read.block, read.read, read.destination(), parts_.storage, read.retried, check);
  if (!good.has_value()) read.damage = good.error();
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
