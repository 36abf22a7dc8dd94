// SPDX-License-Identifier: Apache-2.0
#include "fuzz/support.h"

#include <sanitizer/allocator_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "sources/bytes/decoder.h"
#include "tests/support/temp_folder.h"

namespace dovetail::fuzz {

namespace {

std::atomic<std::int64_t> g_allocated{0};
std::atomic<std::int64_t> g_limit{INT64_MAX};

void count_allocation(std::int64_t bytes) noexcept {
  const std::int64_t now = g_allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now <= g_limit.load(std::memory_order_relaxed)) return;
  g_limit = INT64_MAX;
  std::fprintf(stderr, "claim broken: %lld bytes are allocated for this input, the last %lld at once\n",
               static_cast<long long>(now), static_cast<long long>(bytes));
  std::abort();
}

void count_release(std::int64_t bytes) noexcept {
  g_allocated.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

void require(bool good, std::string_view what) {
  if (good) return;
  std::fprintf(stderr, "claim broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::size_t window_for(std::string_view input) noexcept {
  constexpr std::string_view kMagics[] = {"\x28\xb5\x2f\xfd",
                                          "\xfd"
                                          "7zXZ"};
  const bool claims =
      std::ranges::any_of(kMagics, [&](std::string_view magic) { return input.find(magic) != input.npos; });
  return claims ? std::size_t{detail::kMaxWindowBytes} : 0;
}

MemoryLimit::MemoryLimit(std::size_t bytes) noexcept {
  g_allocated = 0;
  g_limit = static_cast<std::int64_t>(bytes);
}

MemoryLimit::~MemoryLimit() {
  g_limit = INT64_MAX;
}

MemoryFile::MemoryFile(ByteView bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  require(descriptor_ >= 0, "memfd_create");
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    require(written > 0, "write to memory");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

const std::string& scratch_folder() {
  static const test::TempFolder folder;
  return folder.path();
}

std::uint8_t Input::byte() noexcept {
  const std::string_view taken = take(1);
  return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken.front());
}

std::uint16_t Input::u16() noexcept {
  const unsigned low = byte();
  const unsigned high = byte();
  return static_cast<std::uint16_t>(low | high << 8);
}

std::string_view Input::take(std::size_t bytes) noexcept {
  const std::string_view taken = rest_.substr(0, std::min(bytes, rest_.size()));
  rest_.remove_prefix(taken.size());
  return taken;
}

}  // namespace dovetail::fuzz

// Called by AddressSanitizer for every allocation.
extern "C" void __sanitizer_malloc_hook(const volatile void*, std::size_t bytes) {
  dovetail::fuzz::count_allocation(static_cast<std::int64_t>(bytes));
}

extern "C" void __sanitizer_free_hook(const volatile void* memory) {
  const auto bytes = ::__sanitizer_get_allocated_size(const_cast<const void*>(memory));
  dovetail::fuzz::count_release(static_cast<std::int64_t>(bytes));
}
