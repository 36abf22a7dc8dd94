// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace dovetail::detail {

/// How many bytes to read ahead of gathering. Where the page cache has the bytes, little: what was just read is then
/// still in the caches of the processor when it is gathered. Where a device has them, as much as the budget allows: it
/// doubles whenever a read has to wait, and halves after a long time without.
///
/// Threads: none; guarded by the reader's lock.
class ReadWindow {
 public:
  /// `always_cold` where every read waits.
  ReadWindow(std::uint64_t least, std::uint64_t most, bool always_cold = false)
      : least_(std::min(least, most)), most_(most), always_cold_(always_cold), bytes_(least_), cold_(always_cold) {}

  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Whether reads have had to wait lately.
  bool cold() const noexcept { return cold_; }

  /// A read found its bytes in memory.
  void hit(std::uint64_t bytes) noexcept {
    hits_ += bytes;
    if (!cold_ || hits_ < kHitsPerWindow * bytes_) return;
    bytes_ = std::max(least_, bytes_ / 2);
    cold_ = always_cold_ || bytes_ > least_;
    hits_ = 0;
  }
  /// A read has to wait.
  void miss() noexcept {
    hits_ = 0;
    cold_ = true;
    bytes_ = std::min(most_, std::max(kFirstStep, 2 * bytes_));
  }

 private:
  static constexpr std::uint64_t kFirstStep = 1 << 20;
  static constexpr std::uint64_t kHitsPerWindow = 16;

  std::uint64_t least_;
  std::uint64_t most_;
  bool always_cold_;
  std::uint64_t bytes_;
  bool cold_;
  std::uint64_t hits_ = 0;  // in bytes, since the last miss or change
};

}  // namespace dovetail::detail
