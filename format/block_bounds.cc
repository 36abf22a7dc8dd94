// SPDX-License-Identifier: Apache-2.0
#include "format/block_bounds.h"

#include <algorithm>

#include "format/layout.h"

namespace dovetail::format {

std::uint64_t choose_run_records(std::uint64_t run_bytes, std::uint64_t records, std::uint64_t bytes) noexcept {
  if (bytes == 0) return kMaxBlockRecords;
  const std::uint64_t rounded = (run_bytes * records + bytes / 2) / bytes;
  return std::clamp<std::uint64_t>(rounded, 1, kMaxBlockRecords);
}

bool can_choose_run(std::uint64_t run_bytes, std::uint64_t records, std::uint64_t bytes) noexcept {
  return bytes >= run_bytes || records >= kMaxBlockRecords;
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
