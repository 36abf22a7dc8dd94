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

/// Keeps the failure that is to be reported, and tells the others when to stop.
///
/// Damage does not stop those that work on earlier input: one of them may still find damage that comes first.
/// Threads: any.
class FailureGate {
 public:
  /// `place` orders the failures: a shard, or a share of the input.
  void fail(std::uint32_t place, const Error& error);
  /// Whether work on `place` is of no use any more.
  bool stops(std::uint32_t place) const noexcept {
    return std::int64_t{place} > limit_.load(std::memory_order_relaxed);
  }
  /// Success, or the failure. Needs: all threads have ended.
  Result<void> outcome() const;

 private:
  // It only falls. Who sees that late, by a relaxed load, works for nothing; the failure itself is seen after the join.
  std::atomic<std::int64_t> limit_{std::int64_t{1} << 32};
  std::mutex mutex_;
  std::uint32_t place_ = 0;
  std::optional<Error> failure_;
};

/// Keeps a question from being asked more than some twenty times a second. Threads: any.
class SeldomAsked {
 public:
  /// Whether it is time to ask; true for one thread only.
  bool is_due() noexcept;
  void was_asked() noexcept;

 private:
  std::atomic<std::int64_t> asked_ns_{INT64_MIN};  // relaxed: no other memory depends on it
};

/// Whether the caller's `progress` ends the work, asked now and then with nothing done: for `SourceOptions::cancelled`.
/// Ownership: keeps a copy of `progress`.
std::function<bool()> ask_seldom(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total = 0);

/// Adds up what the threads of a conversion do, and passes it on.
///
/// Threads: any.
class ProgressMeter {
 public:
  /// `work_total` in the units of `Done::work`.
  ProgressMeter(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total, double work_total);

  struct Done {
    std::uint64_t records = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t input_bytes = 0;
    double work = 0;
  };
  /// Errors: `operation_canceled`, for ever once it was.
  Result<void> add(const Done& done);
  /// Whether it was cancelled. Asks anew where nothing was passed on for a while: cheap enough for every piece of input.
  bool cancelled();

 private:
  SeldomAsked asked_;
  std::mutex mutex_;
  std::function<bool(const ConvertProgress&)> progress_;
  double work_total_;
  double work_ = 0;
  bool cancelled_ = false;
  ConvertProgress sum_;
};

/// Calls `work` on `count` threads, the caller's among them, and waits for all. Where the system starts no more, fewer
/// call it. Memory that is short comes to `gate`; what else is thrown, by a function of the caller's, is thrown again.
void run_workers(unsigned count, FailureGate& gate, const std::function<void()>& work);

}  // namespace dovetail::detail
