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

/// The file of `ReaderOptions::metrics`, replaced in one go: a scrape finds all of one moment.
///
/// Threads: any. Statistics are taken and written by one thread at a time, so the file never goes back.
class MetricsFile {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kInterval{15};

  /// `stats` is called with no lock of the reader held.
  MetricsFile(const ReaderOptions& options, std::function<ReaderStats()> stats);

  /// Writes it for the first time. Errors: `already_exists` for what is no such file; the system's.
  Result<void> begin();
  /// A batch, or the end of an epoch, was handed over.
  void handed_over(bool end_of_epoch, Clock::time_point now) noexcept;
  /// Does nothing unless `begin` was successful.
  void write() noexcept;

 private:
  Result<void> replace();

  std::string path_;  // absolute: the program may change its folder
  std::map<std::string, std::string> labels_;
  std::function<ReaderStats()> stats_;
  std::function<void(std::string_view)> log_;
  std::mutex mutex_;
  std::atomic<Clock::time_point> due_{};
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace dovetail::detail
