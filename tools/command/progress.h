// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dovetail::tools {

/// The text of the line: records, bytes and bytes per second. If `share_done` is known, which means
/// not negative, also that share and the time left at the same speed.
std::string progress_text(const std::string& verb, std::uint64_t records, std::uint64_t bytes, double share_done,
                          double seconds);

/// A progress line on standard error, rewritten as work goes on. No line if standard error is not a
/// terminal.
class Progress {
 public:
  explicit Progress(std::string verb);
  /// Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share_done` is in [0, 1], or negative if unknown. Cheap enough to call per record.
  void update(std::uint64_t records, std::uint64_t bytes, double share_done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string verb_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace dovetail::tools
