// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace dovetail::detail {

/// The part of `bytes` that consists of whole pages.
std::span<std::byte> whole_pages(std::span<std::byte> bytes, std::size_t page) noexcept;

/// Owned bytes, aligned for blocks, followed by some slack that decoders may overwrite.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kSlack = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new (bytes + kSlack, std::align_val_t{kAlignment}))), size_(bytes) {}
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() {
    if (data_ != nullptr) give_up();
  }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  /// Returns the pages to the system at once, and the addresses to the allocator.
  void give_up() noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Hands out buffers within a budget and keeps returned buffers for the next use, so that steady
/// reading does not allocate.
///
/// Sizes are rounded up to one of eight classes per power of two. This wastes at most an eighth,
/// and keeps the number of sizes small.
/// Units:   bytes, by the rounded size.
/// Threads: none; guarded by the reader's lock.
class BufferPool {
 public:
  /// Smallest size of a buffer.
  static constexpr std::size_t kSmallest = 4096;

  explicit BufferPool(std::uint64_t budget) : budget_(budget) {}

  /// Bytes that `take(bytes)` charges.
  static std::size_t rounded(std::size_t bytes) noexcept;
  /// Whether this many more bytes fit the budget.
  bool fits(std::uint64_t rounded_bytes) const noexcept { return used_ + rounded_bytes <= budget_; }
  /// A buffer of at least `bytes`. Drops idle buffers that would exceed the budget. The buffer
  /// itself may exceed it, so check `fits` first.
  AlignedBuffer take(std::size_t bytes);
  /// Takes a buffer back. Does nothing if `buffer` is empty.
  void give_back(AlignedBuffer buffer);

  /// Bytes in use now, and their peak.
  std::uint64_t used() const noexcept { return used_; }
  std::uint64_t peak() const noexcept { return peak_; }

 private:
  void trim(std::uint64_t room);

  std::uint64_t budget_;
  std::uint64_t used_ = 0;
  std::uint64_t idle_ = 0;
  std::uint64_t peak_ = 0;
  std::map<std::size_t, std::vector<AlignedBuffer>> idle_buffers_;
};

}  // namespace dovetail::detail
