// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/bounce_buffers.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <utility>

namespace dovetail::detail {

Result<BounceBuffers> BounceBuffers::make(std::size_t count, std::size_t bytes_each) {
  const std::size_t bytes = count * bytes_each;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return Error::from_errno(errno, "no memory for " + std::to_string(bytes) + " bytes of direct reads");
  }
  // The kernel then looks up fewer pages for each read. If it refuses, nothing is lost.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  BounceBuffers buffers;
  buffers.all_ = {static_cast<std::byte*>(memory), bytes};
  buffers.bytes_each_ = bytes_each;
  return buffers;
}

BounceBuffers::BounceBuffers(BounceBuffers&& other) noexcept
    : all_(std::exchange(other.all_, {})), bytes_each_(std::exchange(other.bytes_each_, 0)) {}

BounceBuffers& BounceBuffers::operator=(BounceBuffers&& other) noexcept {
  std::swap(all_, other.all_);
  std::swap(bytes_each_, other.bytes_each_);
  return *this;
}

BounceBuffers::~BounceBuffers() {
  if (!all_.empty()) (void)::munmap(all_.data(), all_.size());
}

}  // namespace dovetail::detail
