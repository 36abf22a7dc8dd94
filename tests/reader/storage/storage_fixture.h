// SPDX-License-Identifier: Apache-2.0
// What the tests of storages share: a file of known bytes, reads into guarded memory, and threads
// that may not do all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reader/storage/storage.h"

namespace dovetail::test {

/// The byte at an offset of every file of `sample_bytes`.
std::byte byte_at(std::uint64_t offset) noexcept;
std::string sample_bytes(std::size_t count);

/// One read of a file of `sample_bytes` and what came of it.
///
/// Threads: `complete` is called once, from any thread; the destination may be looked at after
///          `wait`.
class SampleRead {
 public:
  /// `split`: how many of the bytes go into the first part of the destination.
  SampleRead(std::uint64_t offset, std::size_t bytes, std::size_t split);

  std::uint64_t offset() const noexcept { return offset_; }
  detail::ReadInto into() noexcept;

  void complete(Result<void> result);
  bool completed() const;
  /// The outcome; waits for it, and gives up on the whole test program after a minute.
  Result<void> wait() const;

  /// What is wrong with the memory, if anything: all wanted bytes are there and none beside them
  /// was written.
  std::string complaint() const;
  /// Whether nothing beside the destination was written.
  bool guards_are_whole() const;

 private:
  std::uint64_t offset_;
  std::size_t bytes_;
  std::size_t split_;
  std::vector<std::byte> memory_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Result<void>> result_;
};

/// Asks for a read whose outcome is to be waited for at the result.
std::shared_ptr<SampleRead> start_read(detail::Storage& storage, const detail::InputFile& file, std::uint64_t offset,
                                       std::size_t bytes, std::size_t split = 0);

/// How many pages of a file are in the page cache; looking at them changes nothing.
std::size_t cached_pages(const std::string& path);

/// Runs `body` on a thread for which, and for whose threads, the system call fails with `EPERM`, as
/// in a sandbox.
void without_system_call(long number, const std::function<void()>& body);

/// Runs `body` on a thread that may lock less memory than the buffers of direct reads take.
void with_little_locked_memory(const std::function<void()>& body);

}  // namespace dovetail::test
