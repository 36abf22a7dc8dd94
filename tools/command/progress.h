// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dovetail::tools {

/// What the line says: records, bytes, bytes a second and, where the share of the work that is done is known (not
/// negative), that and the time that is left at the same speed.
std::string progress_text(const std::string& verb, std::uint64_t records, std::uint64_t bytes, double share_done,
                          double seconds);

/// One line on standard error that is rewritten as work goes on; nothing where that is no terminal.
class Progress {
 public:
  explicit Progress(std::string verb);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share_done` in [0, 1], negative where it is not known. Cheap enough to call per record.
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
