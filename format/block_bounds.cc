// SPDX-License-Identifier: Apache-2.0
#include "format/block_bounds.h"

#include <algorithm>

#include "format/layout.h"

namespace dovetail::format {

namespace {

constexpr std::uint64_t kSampleBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

}  // namespace

bool can_choose_run(std::uint64_t run_bytes, const FirstRecords& first) noexcept {
  return first.bytes - first.most >= std::max(run_bytes, kSampleBytes) ||
         first.bytes >= std::max(run_bytes, kMostBytes) || first.records >= kMaxBlockRecords;
}

std::uint64_t choose_run_records(std::uint64_t run_bytes, const FirstRecords& first) noexcept {
  if (first.bytes == 0) return kMaxBlockRecords;
  const std::uint64_t aim = first.least == first.most ? run_bytes : run_bytes - run_bytes / 4;
  const std::uint64_t others = first.bytes - first.most;
  const std::uint64_t run_records =
      others >= run_bytes ? aim * (first.records - 1) / others : aim * first.records / first.bytes;
  return std::clamp<std::uint64_t>(run_records, 1, kMaxBlockRecords);
}

std::uint64_t mean_run_bytes(std::uint64_t records, std::uint64_t raw_bytes, std::uint64_t run_records) noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(raw_bytes) / static_cast<double>(records) *
                                    static_cast<double>(run_records));
}

std::optional<std::uint64_t> longer_run(std::uint64_t records, std::uint64_t raw_bytes, std::uint64_t run_records,
                                        std::uint64_t run_bytes) noexcept {
  if (raw_bytes <= run_bytes) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(run_bytes) * static_cast<double>(records) /
                                                 static_cast<double>(raw_bytes));
  const std::uint64_t run = std::min<std::uint64_t>(wanted, kMaxBlockRecords);
  return run > 2 * run_records ? std::optional(run) : std::nullopt;
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
