// SPDX-License-Identifier: Apache-2.0
#include "tests/reader/storage/storage_fixture.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace dovetail::test {
namespace {

constexpr std::size_t kGuard = 32;
constexpr std::byte kUntouched{0xA5};

}  // namespace

std::byte byte_at(std::uint64_t offset) noexcept {
  // Different in every page and on both sides of every boundary.
  return static_cast<std::byte>((offset * 0x9E3779B97F4A7C15u) >> 56);
}

std::string sample_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t at = 0; at < count; ++at) bytes[at] = static_cast<char>(byte_at(at));
  return bytes;
}

// Memory: guard, first part, guard, second part, guard.
SampleRead::SampleRead(std::uint64_t offset, std::size_t bytes, std::size_t split)
    : offset_(offset), bytes_(bytes), split_(std::min(split, bytes)), memory_(bytes + 3 * kGuard, kUntouched) {}

detail::ReadInto SampleRead::into() noexcept {
  const std::span<std::byte> all(memory_);
  return {.first = all.subspan(kGuard, split_), .second = all.subspan(2 * kGuard + split_, bytes_ - split_)};
}

void SampleRead::complete(Result<void> result) {
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(result_.has_value()) << "completed twice";
  result_ = std::move(result);
  changed_.notify_all();
}

bool SampleRead::completed() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

Result<void> SampleRead::wait() const {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::minutes(1), [this] { return result_.has_value(); })) {
    ADD_FAILURE() << "a read of " << bytes_ << " bytes from " << offset_ << " on never completed";
    std::abort();  // its memory may still be written to
  }
  return *result_;
}

bool SampleRead::guards_are_whole() const {
  const auto untouched = [&](std::size_t from) {
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(from);
    return std::all_of(begin, begin + kGuard, [](std::byte byte) { return byte == kUntouched; });
  };
  return untouched(0) && untouched(kGuard + split_) && untouched(2 * kGuard + bytes_);
}

std::string SampleRead::complaint() const {
  const std::string which = std::to_string(bytes_) + " bytes from " + std::to_string(offset_) + " on, split at " +
                            std::to_string(split_) + ": ";
  for (std::size_t i = 0; i < bytes_; ++i) {
    const std::byte got = memory_[i < split_ ? kGuard + i : 2 * kGuard + i];
    if (got != byte_at(offset_ + i)) return which + "byte " + std::to_string(i) + " is wrong";
  }
  if (!guards_are_whole()) return which + "memory beside the destination was written";
  return {};
}

std::shared_ptr<SampleRead> start_read(detail::Storage& storage, const detail::InputFile& file, std::uint64_t offset,
                                       std::size_t bytes, std::size_t split) {
  auto read = std::make_shared<SampleRead>(offset, bytes, split);
  storage.read(file, offset, read->into(), [read](Result<void> result) { read->complete(std::move(result)); });
  return read;
}

std::size_t cached_pages(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto bytes = static_cast<std::size_t>(std::filesystem::file_size(path));
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  EXPECT_NE(memory, MAP_FAILED);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(::mincore(memory, bytes, pages.data()), 0);
  ::munmap(memory, bytes);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char in) { return (in & 1) != 0; }));
}

void without_system_call(long number, const std::function<void()>& body) {
  std::thread([&] {
    std::array<sock_filter, 4> filter{{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},  // the number of the call
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(number)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog program{.len = filter.size(), .filter = filter.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      ASSERT_EQ(errno, EINVAL) << "the filter is refused";
      GTEST_SKIP() << "no system call can be forbidden here, as in an emulator";
    }
    body();
  }).join();
}

void with_little_locked_memory(const std::function<void()>& body) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  rlimit little = before;
  // A ring fits, also beside what other processes of this user have locked; the buffers do not.
  little.rlim_cur = 4 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &little), 0);
  std::thread([&] {
    // The limit does not hold for those with this capability; giving it up concerns this thread
    // only.
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> capabilities{};
    ASSERT_EQ(::syscall(SYS_capget, &header, capabilities.data()), 0);
    capabilities[0].effective &= ~(1u << CAP_IPC_LOCK);
    ASSERT_EQ(::syscall(SYS_capset, &header, capabilities.data()), 0);
    body();
  }).join();
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

}  // namespace dovetail::test
