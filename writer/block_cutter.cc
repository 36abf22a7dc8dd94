// SPDX-License-Identifier: Apache-2.0
#include "writer/block_cutter.h"

#include <algorithm>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {

BlockCutter::BlockCutter(const WriterOptions& options, Emit emit)
    : block_bytes_(options.block_bytes),
      run_bytes_(options.run_bytes),
      emit_(std::move(emit)),
      run_records_(options.run_records),
      bounds_(options.block_bytes, std::max<std::uint64_t>(options.run_records, 1)) {}

Result<void> BlockCutter::append(ByteView record) {
  ++records_;
  if (run_records_ != 0) return place(record);
  first_.add(record.size());
  if (!format::can_choose_run(run_bytes_, first_)) {
    held_.append(record);
    return {};
  }
  // Count the deciding record, but do not hold it back: it may be as large as the format allows.
  DOVETAIL_TRY(choose_run());
  return place(record);
}

Result<void> BlockCutter::choose_run() {
  run_records_ = format::choose_run_records(run_bytes_, first_);
  bounds_ = format::BlockBounds(block_bytes_, run_records_);
  const format::RawBlock held = std::exchange(held_, {});
  std::uint32_t begin = 0;
  for (const std::uint32_t end : held.ends) {
    DOVETAIL_TRY(place(ByteView(held.bytes).subspan(begin, end - begin)));
    begin = end;
  }
  return {};
}

Result<void> BlockCutter::place(ByteView record) {
  if (bounds_.ends_before(record.size())) {
    DOVETAIL_TRY(close_block());
  }
  block_.append(record);
  // Fingerprint the copy: the caller may change its buffer meanwhile.
  fingerprint_.add(ByteView(block_.bytes).last(record.size()));
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
    DOVETAIL_TRY(choose_run());
  }
  if (!block_.empty()) {
    DOVETAIL_TRY(close_block());
  }
  // A shard without records that ends before the choice has no runs either, so any run length is
  // true.
  const ShardCut cut{std::max<std::uint64_t>(run_records_, 1), fingerprint_.value(), std::exchange(records_, 0)};
  bounds_.end_shard();
  fingerprint_ = {};
  return cut;
}

}  // namespace dovetail::detail
