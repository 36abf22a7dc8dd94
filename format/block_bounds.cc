// SPDX-License-Identifier: Apache-2.0
#include "format/block_bounds.h"

#include <algorithm>

#include "format/layout.h"

namespace dovetail::format {

bool can_choose_run(std::uint64_t run_bytes, const FirstRecords& first) noexcept {
  return first.bytes >= run_bytes || first.records >= kMaxBlockRecords;
}

std::uint64_t choose_run_records(std::uint64_t run_bytes, const FirstRecords& first) noexcept {
  if (first.bytes == 0) return kMaxBlockRecords;
  const std::uint64_t aim = first.least == first.most ? run_bytes : run_bytes - run_bytes / 4;
  return std::clamp<std::uint64_t>(aim * first.records / first.bytes, 1, kMaxBlockRecords);
}

bool BlockBounds::ends_before(std::uint64_t record_bytes) const noexcept {
  return records_ > 0 && (alone(record_bytes) || bytes_ + record_bytes > block_bytes_);
}

bool BlockBounds::add(std::uint64_t record_bytes) noexcept {
  ++records_;
  ++shard_records_;
  bytes_ += record_bytes;
  const bool ends = alone(record_bytes) || shard_records_ % run_records_ == 0 || records_ == kMaxBlockRecords;
  if (ends) end_block();
  return ends;
}

}  // namespace dovetail::format
