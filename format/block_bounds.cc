// SPDX-License-Identifier: Apache-2.0
#include "format/block_bounds.h"

#include "format/layout.h"

namespace dovetail::format {

namespace {

/// Whether a record of so many bytes gets a block of its own.
bool alone(std::uint64_t record_bytes, std::uint32_t block_bytes) noexcept {
  return record_bytes >= block_bytes / 2;
}

std::uint64_t ceil_div(std::uint64_t value, std::uint64_t divisor) noexcept {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

}  // namespace

bool crosses_chunk_end(const RunShape& shape, std::uint64_t first_record, std::uint64_t records) noexcept {
  const std::uint64_t first = first_record % shape.run_records;
  const std::uint64_t last = first + records - 1;
  return last >= shape.run_records || first / shape.chunk_records != last / shape.chunk_records;
}

bool can_choose_run(std::uint64_t run_bytes, const FirstRecords& first) noexcept {
  return first.bytes >= run_bytes || first.records >= kMaxBlockRecords;
}

RunShape choose_run_shape(const RunTargets& targets, const FirstRecords& first) noexcept {
  std::uint64_t run = targets.run_records;
  std::uint64_t chunk = targets.chunk_records;
  const std::uint64_t bytes = std::max<std::uint64_t>(first.bytes, 1);
  if (chunk == 0) {
    std::uint64_t most = targets.block_bytes;
    if (first.least != first.most) most -= most / 4;
    if (run == 0) most = std::min(most, targets.run_bytes);
    chunk = 1;
    if (first.records != 0 && !alone(first.bytes / first.records, targets.block_bytes)) {
      chunk = std::clamp<std::uint64_t>(most * first.records / bytes, 1, kMaxBlockRecords);
    }
    if (run != 0) chunk = ceil_div(run, ceil_div(run, chunk));
  }
  if (run == 0) {
    run = chunk;
    if (const std::uint64_t most = kMaxBlockRecords / chunk; most > 1) {  // so that the products stay small
      const std::uint64_t rounded = (targets.run_bytes * first.records + chunk * bytes / 2) / (chunk * bytes);
      run *= std::clamp<std::uint64_t>(rounded, 1, most);
    }
  }
  return {run, chunk};
}

bool BlockBounds::ends_before(std::uint64_t record_bytes) const noexcept {
  return records_ > 0 && (alone(record_bytes, block_bytes_) || bytes_ + record_bytes > block_bytes_);
}

bool BlockBounds::add(std::uint64_t record_bytes) noexcept {
  ++records_;
  ++in_run_;
  bytes_ += record_bytes;
  if (in_run_ == shape_.run_records) in_run_ = 0;
  const bool ends =
      alone(record_bytes, block_bytes_) || in_run_ % shape_.chunk_records == 0 || records_ == kMaxBlockRecords;
  if (ends) end_block();
  return ends;
}

}  // namespace dovetail::format
