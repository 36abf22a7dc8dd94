// SPDX-License-Identifier: Apache-2.0
#include "reader/fill/slot_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "format/try.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {

namespace {

constexpr std::size_t kCacheLine = 64;

/// Writes ids and ends of `count` rows of `bytes` each; the first row begins at `at`. Returns the
/// OR of all `where`, to find damage.
DOVETAIL_WIDE_VECTORS
std::uint64_t note_rows(const Entry* __restrict records, std::size_t count, std::size_t bytes, std::int64_t at,
                        std::int64_t* __restrict ends, std::uint64_t* __restrict ids) noexcept {
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    any |= records[i].where;
    ids[i] = records[i].id;
    ends[i] = at += static_cast<std::int64_t>(bytes);
  }
  return any;
}

// Records are prefetched when they enter the pool, but have left the nearest cache when they are
// copied. So a copy prefetches the records that follow once more.
constexpr std::size_t kRecordsAhead = 4;

/// Prefetches the first cache lines of a record, without a branch on its size. `where` may be any
/// value: a prefetch of what is no address has no effect.
void prefetch_record(std::uint64_t where) noexcept {
  constexpr std::size_t kLines = 4;
  for (std::size_t line = 0; line < kLines; ++line) __builtin_prefetch(address_of(where + line * kCacheLine));
}

/// Copies records of one cache line each to consecutive rows.
DOVETAIL_WIDE_VECTORS
void copy_lines(const Entry* __restrict records, std::size_t count, std::byte* __restrict to) noexcept {
  constexpr std::size_t kAhead = 8;
  std::size_t i = 0;
  for (; i + kAhead < count; ++i) {
    __builtin_prefetch(address_of(records[i + kAhead].where));
    std::memcpy(to + i * kCacheLine, address_of(records[i].where), kCacheLine);
  }
  for (; i < count; ++i) std::memcpy(to + i * kCacheLine, address_of(records[i].where), kCacheLine);
}

void copy_same(const Entry* records, std::size_t count, std::size_t bytes, std::byte* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kRecordsAhead < count) prefetch_record(records[i + kRecordsAhead].where);
    std::memcpy(to + i * bytes, address_of(records[i].where), bytes);
  }
}

/// Copies a record. With `slack`, may read and write up to `kCopySlack` bytes after its end. That
/// saves short records a call of `memcpy` and a branch on their length.
[[gnu::always_inline]] inline void copy_record(std::byte* out, const std::byte* in, std::size_t bytes,
                                               bool slack) noexcept {
  if (!slack || bytes > 4 * kCopySlack) {
    if (bytes > 0) std::memcpy(out, in, bytes);
    return;
  }
  for (std::size_t at = 0; at < bytes; at += kCopySlack) std::memcpy(out + at, in + at, kCopySlack);
}

}  // namespace

void SlotRows::begin(std::shared_ptr<SlotLease> lease, std::uint32_t batches) {
  lease_ = std::move(lease);
  batches_ = batches;
  begin_batch(0);
}

void SlotRows::begin_batch(std::uint32_t batch) {
  batch_ = batch;
  row_ = 0;
  end_ = 0;
  const std::size_t bytes = batches_ == 1 ? std::dynamic_extent : rules_.slab_bytes;
  parts_ = SlabParts(lease_->bytes().subspan(batch * rules_.slab_bytes, bytes), rules_.batch_rows);
  parts_.offsets[0] = 0;
}

std::size_t SlotRows::copy(std::span<const Entry> records, RowStatus status) noexcept {
  const std::size_t bytes = rules_.record_bytes;
  const std::uint64_t room = parts_.capacity - end_;
  std::size_t count = records.size();
  if (bytes > 0) count = static_cast<std::size_t>(std::min<std::uint64_t>(count, room / bytes));
  const std::uint64_t any = note_rows(records.data(), count, bytes, static_cast<std::int64_t>(end_),
                                      parts_.offsets + row_ + 1, parts_.ids + row_);
  if ((any & Entry::kDamage) != 0) [[unlikely]] {
    const auto damaged = [](const Entry& record) { return (record.where & Entry::kDamage) != 0; };
    count = static_cast<std::size_t>(std::find_if(records.begin(), records.end(), damaged) - records.begin());
  }
  if (bytes == kCacheLine) {
    copy_lines(records.data(), count, parts_.values + end_);
  } else if (bytes > 0) {
    copy_same(records.data(), count, bytes, parts_.values + end_);
  }
  std::fill_n(parts_.status + row_, count, status);
  row_ += static_cast<std::uint32_t>(count);
  end_ += count * bytes;
  return count;
}

std::size_t SlotRows::copy(std::span<const SizedEntry> records, RowStatus status) noexcept {
  // Local copies stay in registers; the compiler must assume that the stores below alias the
  // members.
  std::int64_t* const offsets = parts_.offsets + row_ + 1;
  std::uint64_t* const ids = parts_.ids + row_;
  std::byte* const values = parts_.values;
  const std::uint64_t capacity = parts_.capacity;
  std::uint64_t end = end_;
  std::size_t done = 0;
  for (; done < records.size(); ++done) {
    const SizedEntry& record = records[done];
    const std::uint64_t after = end + record.bytes;
    if ((record.where & Entry::kDamage) != 0 || !record.in_memory() || after > capacity) break;
    if (done + kRecordsAhead < records.size()) prefetch_record(records[done + kRecordsAhead].where);
    copy_record(values + end, address_of(record.where), record.bytes, after + kCopySlack <= capacity);
    end = after;
    offsets[done] = static_cast<std::int64_t>(end);
    ids[done] = record.id;
  }
  std::fill_n(parts_.status + row_, done, status);
  row_ += static_cast<std::uint32_t>(done);
  end_ = end;
  return done;
}

Result<void> SlotRows::add(std::uint64_t id, RowStatus status, ByteView record) {
  DOVETAIL_TRY(add_room(id, status, record.size()));
  if (!record.empty()) std::memcpy(parts_.values + end_ - record.size(), record.data(), record.size());
  return {};
}

Result<void> SlotRows::add_room(std::uint64_t id, RowStatus status, std::uint64_t bytes) {
  DOVETAIL_TRY(reserve(end_ + bytes, end_));
  end_ += bytes;
  parts_.offsets[row_ + 1] = static_cast<std::int64_t>(end_);
  parts_.ids[row_] = id;
  parts_.status[row_] = status;
  ++row_;
  return {};
}

void SlotRows::add_without_bytes(std::uint64_t id, RowStatus status) noexcept {
  parts_.offsets[row_ + 1] = 0;
  parts_.ids[row_] = id;
  parts_.status[row_] = status;
  ++row_;
}

Result<void> SlotRows::reserve(std::uint64_t bytes, std::uint64_t filled) {
  if (bytes <= parts_.capacity) return {};
  if (!may_grow()) return Error(Errc::batch_too_large);
  const std::size_t values = SlabLayout::for_rows(rules_.batch_rows).values;
  DOVETAIL_ASSIGN(std::shared_ptr<SlotLease> larger,
                  ring_.spill(*lease_, values + std::max(bytes, 2 * parts_.capacity)));
  std::memcpy(larger->bytes().data(), lease_->bytes().data(), values + filled);
  lease_ = std::move(larger);
  parts_ = SlabParts(lease_->bytes(), rules_.batch_rows);
  return {};
}

Result<void> SlotRows::mend(bool substitutes) {
  const std::vector<std::int64_t> old(parts_.offsets, parts_.offsets + row_ + 1);
  const std::vector<std::byte> packed(parts_.values, parts_.values + end_);
  std::vector<std::uint32_t> source(row_);
  std::iota(source.begin(), source.end(), 0u);
  if (substitutes) source = substitution_sources(status(), rules_.rows_per_lane);
  const auto bytes_of = [&](std::uint32_t row) {
    return is_damaged_empty(parts_.status[row]) ? 0 : static_cast<std::uint64_t>(old[row + 1] - old[row]);
  };
  std::uint64_t total = 0;
  for (std::uint32_t row = 0; row < row_; ++row) total += bytes_of(row);
  for (std::uint32_t row = 0; row < row_; ++row) {
    if (source[row] == row) continue;
    const std::uint64_t bytes = bytes_of(source[row]);
    if (may_grow() || total + bytes <= parts_.capacity) {
      total += bytes;
    } else {
      source[row] = row;  // leave this row empty rather than fail a step whose own rows fit
    }
  }
  DOVETAIL_TRY(reserve(total, 0));
  end_ = 0;
  for (std::uint32_t row = 0; row < row_; ++row) {
    const std::uint32_t from = source[row];
    const std::uint64_t bytes = bytes_of(from);
    std::copy_n(packed.data() + old[from], bytes, parts_.values + end_);
    end_ += bytes;
    parts_.offsets[row + 1] = static_cast<std::int64_t>(end_);
    if (from != row) parts_.status[row] = substituted(parts_.status[row]);
  }
  return {};
}

}  // namespace dovetail::detail
