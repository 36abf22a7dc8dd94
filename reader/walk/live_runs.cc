// SPDX-License-Identifier: Apache-2.0
#include "reader/walk/live_runs.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

constexpr std::size_t kCacheLine = 64;
// While a larger record is copied, the hardware prefetcher loads the rest of it.
constexpr std::size_t kPrefetchBytes = 256;

DOVETAIL_WIDE_VECTORS
void give_same_size(std::size_t some, const std::uint64_t* __restrict where, const std::uint64_t* __restrict id,
                    const std::uint32_t* __restrict at, const std::uint32_t* __restrict stride,
                    Entry* __restrict out) noexcept {
  for (std::size_t i = 0; i < some; ++i) {
    const std::uint64_t offset = std::uint64_t{at[i]} * stride[i];
    out[i] = {where[i] + offset, id[i] + at[i]};
  }
}

}  // namespace

template <class E>
LiveRuns<E>::~LiveRuns() {
  if (open_) memory_.close(pass_);
  if (!spare_.empty()) memory_.give_back(spare_);
  memory_.end(pass_);
}

template <class E>
bool LiveRuns<E>::ready(const RunGroup& group) {
  if (open_ && first_run_ == group.first_run()) return true;  // since the pool was restored
  return open(group.number());
}

template <class E>
bool LiveRuns<E>::open(std::uint64_t group) {
  assert(!open_);  // a group is retired before the next one is opened
  const std::uint64_t first = order_.group_begin(group);
  const std::uint64_t end = order_.group_begin(group + 1);
  if (!memory_.open(pass_, group, std::span(runs_).first(static_cast<std::size_t>(end - first)))) return false;
  first_run_ = first;
  end_run_ = end;
  open_ = true;
  return true;
}

template <class E>
E LiveRuns<E>::entry_at(std::uint64_t run, std::uint32_t record) const noexcept {
  const ReadyRun& of = runs_[static_cast<std::size_t>(run - first_run_)];
  if constexpr (kSized) {
    return entry_in(of, record);
  } else {
    return {of.where + std::uint64_t{record} * of.stride, of.first_id + record};
  }
}

template <class E>
void LiveRuns<E>::bind(Bases& bases, std::size_t slot, std::uint64_t position) const {
  const ReadyRun& run = runs_[static_cast<std::size_t>(position - first_run_)];
  bases.insert(slot, run.where, run.first_id, run.stride, &run);
}

template <class E>
void LiveRuns<E>::give(const Bases& bases, std::size_t slot, std::size_t some, const std::uint32_t* at, E* out) const {
  if constexpr (kSized) {
    const ReadyRun* const* const run = bases.template data<3>() + slot;
    for (std::size_t i = 0; i < some; ++i) out[i] = entry_in(*run[i], at[i]);
  } else {
    give_same_size(some, bases.template data<0>() + slot, bases.template data<1>() + slot, at,
                   bases.template data<2>() + slot, out);
  }
}

template <class E>
std::size_t LiveRuns<E>::restore(std::span<const PooledPick> held, std::span<E> pool) {
  if (open_) retire(pool);
  if (!open(held.front().group)) return 0;
  std::size_t done = 0;
  for (; done < held.size() && held[done].pick.run < end_run_; ++done) {
    pool[held[done].slot] = entry_at(held[done].pick.run, static_cast<std::uint32_t>(held[done].pick.record));
  }
  return done;
}

template <class E>
void LiveRuns<E>::entered(std::span<const E> entries) const noexcept {
  if (!kSized && record_bytes_ <= kCacheLine) {
    for (const E& entry : entries) __builtin_prefetch(address_of(entry.where));
    return;
  }
  for (const E& entry : entries) {
    const std::size_t bytes = std::min(bytes_of(entry), kPrefetchBytes);
    for (std::size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(address_of(entry.where + at));
  }
}

template <class E>
std::size_t LiveRuns<E>::bytes_to_move(const E& entry) const noexcept {
  const std::size_t bytes = bytes_of(entry);
  if (bytes == 0 || address_of(entry.where) == nullptr) return 0;  // lost, or a slot that is not filled yet
  if ((entry.where & detail::Entry::kDamage) != 0 && memory_.is_damaged(entry.id)) return 0;
  const std::byte* const data = address_of(entry.where);
  return data >= spare_.data() && data < spare_.data() + spare_.size() ? 0 : bytes;
}

template <class E>
void LiveRuns<E>::move_to_spare(std::span<E> pool) noexcept {
  for (E& entry : pool) {
    const std::size_t bytes = bytes_to_move(entry);
    if (bytes == 0) continue;
    std::byte* const to = spare_.data() + spare_used_;
    std::memcpy(to, address_of(entry.where), bytes);
    entry.where = to_where(to);
    spare_used_ += bytes;
  }
}

template <class E>
void LiveRuns<E>::retire(std::span<E> pool) {
  std::size_t bytes = 0;
  for (const E& entry : pool) bytes += bytes_to_move(entry);
  // Rows may still be copied from records moved earlier. Such a copy reads kCopySlack bytes past
  // its record, so these bytes must not be written.
  if (bytes > 0 && spare_used_ > 0) spare_used_ += kCopySlack;
  if (spare_used_ + bytes > spare_.size()) {
    const std::span<std::byte> full = std::exchange(spare_, {});
    bytes = 0;
    for (const E& entry : pool) bytes += bytes_to_move(entry);
    // Take twice the room needed, so that records that stay in the pool are not copied again each
    // time.
    spare_ = memory_.take_spare(bytes + kCopySlack, 2 * bytes + kCopySlack);
    spare_used_ = 0;
    move_to_spare(pool);
    if (!full.empty()) memory_.give_back(full);
  } else {
    move_to_spare(pool);
  }
  memory_.close(pass_);
  open_ = false;
}

template <class E>
std::uint64_t LiveRuns<E>::scattered_ready(std::uint64_t position) {
  if (open_ && position == end_run_) {
    memory_.close(pass_);
    open_ = false;
  }
  if (!open_ && !open(order_.groups_before(position + 1) - 1)) return 0;
  return end_run_ - position;
}

template <class E>
E LiveRuns<E>::scattered(std::uint64_t position) const {
  return entry_at(position, 0);
}

template class LiveRuns<Entry>;
template class LiveRuns<SizedEntry>;

}  // namespace dovetail::detail
