// SPDX-License-Identifier: Apache-2.0
#include "writer/block_cutter.h"

#include <utility>

namespace dovetail::detail {

BlockCutter::BlockCutter(const format::RunTargets& targets, Emit emit)
    : targets_(targets), emit_(std::move(emit)), bounds_(targets.block_bytes, choose_run_shape(targets, {})) {}

Result<void> BlockCutter::append(ByteView record) {
  fingerprint_.add(record);
  ++records_;
  if (!targets_.open()) return place(record);
  first_.add(record.size());
  if (!format::can_choose_run(targets_.run_bytes, first_)) {
    held_.append(record);
    return {};
  }
  // The record that decides is counted but not held: it may be as large as the format allows.
  if (auto chosen = choose_shape(); !chosen) return chosen;
  return place(record);
}

Result<void> BlockCutter::choose_shape() {
  const format::RunShape shape = choose_run_shape(targets_, first_);
  targets_.run_records = shape.run_records;
  targets_.chunk_records = shape.chunk_records;
  bounds_ = format::BlockBounds(targets_.block_bytes, shape);
  const format::RawBlock held = std::exchange(held_, {});
  std::uint32_t begin = 0;
  for (const std::uint32_t end : held.ends) {
    if (auto placed = place(ByteView(held.bytes).subspan(begin, end - begin)); !placed) return placed;
    begin = end;
  }
  return {};
}

Result<void> BlockCutter::place(ByteView record) {
  if (bounds_.ends_before(record.size())) {
    if (auto closed = close_block(); !closed) return closed;
  }
  block_.append(record);
  if (bounds_.add(record.size())) return close_block();
  return {};
}

Result<void> BlockCutter::close_block() {
  bounds_.end_block();
  Result<void> emitted = emit_(block_);
  block_.clear();
  return emitted;
}

Result<ShardCut> BlockCutter::end_shard() {
  if (!held_.empty()) {
    if (auto chosen = choose_shape(); !chosen) return chosen.error();
  }
  if (!block_.empty()) {
    if (auto closed = close_block(); !closed) return closed.error();
  }
  // A shard without records that comes before the choice has no runs either: any shape is true of it.
  const ShardCut cut{choose_run_shape(targets_, {}), fingerprint_.value(), std::exchange(records_, 0)};
  bounds_.end_shard();
  fingerprint_ = {};
  return cut;
}

}  // namespace dovetail::detail
