// SPDX-License-Identifier: Apache-2.0
#include "writer/block_cutter.h"

#include <algorithm>
#include <utility>

#include "format/layout.h"

namespace dovetail::detail {

namespace {

// Tiny or empty records would make runs, and the records held back to choose them, arbitrarily long.
constexpr std::uint64_t kMaxChosenRun = format::kMaxBlockRecords;

std::uint64_t choose_run(std::uint64_t run_bytes, std::uint64_t records, std::uint64_t bytes) {
  if (bytes == 0) return kMaxChosenRun;
  const std::uint64_t rounded = (run_bytes * records + bytes / 2) / bytes;
  return std::clamp<std::uint64_t>(rounded, 1, kMaxChosenRun);
}

}  // namespace

BlockCutter::BlockCutter(const Limits& limits, Emit emit)
    : limits_(limits), emit_(std::move(emit)), run_records_(limits.run_records) {}

Result<void> BlockCutter::append(ByteView record) {
  fingerprint_.add(record);
  if (run_records_ != 0) return place(record);
  const std::uint64_t records = std::uint64_t{held_.records()} + 1;
  const std::uint64_t bytes = std::uint64_t{held_.bytes.size()} + record.size();
  if (bytes < limits_.run_bytes && records < kMaxChosenRun) {
    held_.append(record);
    return {};
  }
  // The record that decides is counted but not held: it may be as large as the format allows.
  run_records_ = choose_run(limits_.run_bytes, records, bytes);
  if (auto released = release_held(); !released) return released;
  return place(record);
}

Result<void> BlockCutter::release_held() {
  const format::RawBlock held = std::exchange(held_, {});
  std::uint32_t begin = 0;
  for (const std::uint32_t end : held.ends) {
    if (auto placed = place(ByteView(held.bytes).subspan(begin, end - begin)); !placed) return placed;
    begin = end;
  }
  return {};
}

Result<void> BlockCutter::place(ByteView record) {
  const bool alone = record.size() >= limits_.block_bytes / 2;
  const bool full = block_.bytes.size() + record.size() > limits_.block_bytes;
  if ((alone || full) && !block_.empty()) {
    if (auto closed = close_block(); !closed) return closed;
  }
  block_.append(record);
  ++shard_records_;
  const bool run_ends = shard_records_ % run_records_ == 0;
  if (alone || run_ends || block_.records() == format::kMaxBlockRecords) return close_block();
  return {};
}

Result<void> BlockCutter::close_block() {
  Result<void> emitted = emit_(block_);
  block_.clear();
  return emitted;
}

Result<ShardCut> BlockCutter::end_shard() {
  if (!held_.empty()) {
    run_records_ = choose_run(limits_.run_bytes, held_.records(), held_.bytes.size());
    if (auto released = release_held(); !released) return released.error();
  }
  if (!block_.empty()) {
    if (auto closed = close_block(); !closed) return closed.error();
  }
  // A shard without records that comes before the choice has no runs either: any length is true of it.
  const ShardCut cut{std::max<std::uint64_t>(run_records_, 1), fingerprint_.value()};
  shard_records_ = 0;
  fingerprint_ = {};
  return cut;
}

}  // namespace dovetail::detail
