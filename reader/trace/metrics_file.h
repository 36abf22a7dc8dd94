// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <dovetail/error.h>
#include <dovetail/reader_options.h>
#include <dovetail/reader_stats.h>

namespace dovetail::detail {

/// The file of `ReaderOptions::metrics`. It is replaced atomically, so a scrape reads the values of
/// one moment.
///
/// Threads: any. One thread at a time takes statistics and writes them, so counters in the file
///          never decrease.
class MetricsFile {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{15};

  /// `stats` is called without any lock of the reader.
  MetricsFile(const ReaderOptions& options, std::function<ReaderStats()> stats);

  /// Writes the file for the first time, over that of an earlier run of any rank. Errors:
  /// `already_exists` if the file exists and is not a metrics file; errors of the system.
  Result<void> begin();
  /// Call after a batch, or the end of an epoch, was handed over. Writes the file if it is due.
  void handed_over(bool end_of_epoch, Clock::time_point now) noexcept;
  /// Writes the file. Does nothing unless `begin` succeeded. Warns, once, if another rank has
  /// written the file since.
  void write() noexcept;

 private:
  Result<void> replace();
  void warn_of_other_rank();

  std::string path_;  // absolute, because the program may change its working directory
  std::map<std::string, std::string> labels_;
  std::function<ReaderStats()> stats_;
  std::function<void(std::string_view)> log_;
  std::mutex mutex_;
  std::atomic<Clock::time_point> due_{};
  bool begun_ = false;
  bool failed_ = false;
  bool shared_ = false;
};

}  // namespace dovetail::detail
