// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include <dovetail/convert.h>
#include <dovetail/error.h>

namespace dovetail::detail {

/// Keeps the failure to report, and tells other threads when to stop.
///
/// Damage does not stop threads that work on earlier input: one of them may find damage that comes
/// first.
/// Threads: any.
class FailureGate {
 public:
  /// `place` orders the failures: the number of a shard, or of a share of the input.
  void fail(std::uint32_t place, const Error& error);
  /// Whether work on `place` is useless now.
  bool stops(std::uint32_t place) const noexcept {
    return std::int64_t{place} > limit_.load(std::memory_order_relaxed);
  }
  /// Success, or the failure. Needs: all threads have ended.
  Result<void> outcome() const;

 private:
  // It only decreases. A thread that sees this late works in vain; the failure itself is visible
  // after the join.
  std::atomic<std::int64_t> limit_{std::int64_t{1} << 32};
  std::mutex mutex_;
  std::uint32_t place_ = 0;
  std::optional<Error> failure_;
};

/// Adds up the progress of the threads of a conversion, and reports it.
///
/// Threads: any.
class ProgressMeter {
 public:
  /// `work_total` is in the units of `Done::work`.
  ProgressMeter(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total, double work_total);

  struct Done {
    std::uint64_t records = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t input_bytes = 0;
    double work = 0;
  };
  /// Errors: `operation_canceled`, permanently once it was cancelled.
  Result<void> add(const Done& done);
  /// Whether it was cancelled. Asks again if nothing was reported for a twentieth of a second: cheap
  /// enough for every piece of input. Does not wait while another thread reports.
  bool cancelled();

 private:
  Result<void> report(const Done& done);  // needs the lock

  std::atomic<std::int64_t> asked_ns_{INT64_MIN};  // relaxed: no other memory depends on it
  std::mutex mutex_;
  std::function<bool(const ConvertProgress&)> progress_;
  double work_total_;
  double work_ = 0;
  std::atomic<bool> cancelled_ = false;
  ConvertProgress sum_;
};

/// Polls the caller's `progress` for cancellation now and then, without progress: for
/// `SourceOptions::cancelled`.
/// Ownership: keeps a copy of `progress`.
std::function<bool()> ask_seldom(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total = 0);

/// Calls `work` on `count` threads, including the caller's, and waits for all. If the system cannot
/// start so many, fewer call it. Lack of memory is reported to `gate`; other exceptions, from the
/// caller's functions, are rethrown.
void run_workers(unsigned count, FailureGate& gate, const std::function<void()>& work);

}  // namespace dovetail::detail
