// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/buffer_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace dovetail::detail {

std::span<std::byte> whole_pages(std::span<std::byte> bytes, std::size_t page) noexcept {
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  if (bytes.size() < before) return {};
  return bytes.subspan(before, (bytes.size() - before) / page * page);
}

// Allocators keep freed memory that lies between live blocks, in several heaps. Buffers of many
// sizes within the budget would therefore stay resident at twice its size or more.
void AlignedBuffer::give_up() noexcept {
  constexpr std::size_t kWorthACall = 16384;
  // The system's page size: the kernel rounds up to it, so a smaller value would free bytes behind
  // the buffer.
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::span<std::byte> pages = whole_pages({data_, size_}, page);
  if (pages.size() >= kWorthACall) (void)::madvise(pages.data(), pages.size(), MADV_DONTNEED);
  ::operator delete (data_, std::align_val_t{kAlignment});
}

std::size_t BufferPool::rounded(std::size_t bytes) noexcept {
  if (bytes <= kSmallest) return kSmallest;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

AlignedBuffer BufferPool::take(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  AlignedBuffer buffer;
  if (const auto found = idle_buffers_.find(size); found != idle_buffers_.end() && !found->second.empty()) {
    buffer = std::move(found->second.back());
    found->second.pop_back();
    idle_ -= size;
  } else {
    trim(size);
    buffer = AlignedBuffer(size);
  }
  used_ += size;
  peak_ = std::max(peak_, used_);
  return buffer;
}

void BufferPool::give_back(AlignedBuffer buffer) {
  if (!buffer) return;
  const std::size_t size = buffer.size();
  used_ -= size;
  if (used_ + idle_ + size > budget_) return;
  idle_buffers_[size].push_back(std::move(buffer));
  idle_ += size;  // last, because the lines above may throw
}

void BufferPool::trim(std::uint64_t room) {
  while (idle_ > 0 && used_ + idle_ + room > budget_) {
    const auto largest = std::prev(idle_buffers_.end());
    if (largest->second.empty()) {
      idle_buffers_.erase(largest);
      continue;
    }
    idle_ -= largest->first;
    largest->second.pop_back();
  }
}

}  // namespace dovetail::detail
