// SPDX-License-Identifier: Apache-2.0
#include "convert/workers.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dovetail::detail {

void FailureGate::fail(std::uint32_t place, const Error& error) {
  const std::lock_guard lock(mutex_);
  const bool input = error.kind() == ErrorKind::damaged || error.kind() == ErrorKind::usage;
  const bool first = !failure_ || (place < place_ && error.kind() != ErrorKind::cancelled);
  if (first) {
    place_ = place;
    failure_ = error;
  }
  const std::int64_t limit = input ? std::int64_t{place} : -1;
  limit_.store(std::min(limit_.load(std::memory_order_relaxed), limit), std::memory_order_relaxed);
}

Result<void> FailureGate::outcome() const {
  if (failure_) return *failure_;
  return {};
}

namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ProgressMeter::ProgressMeter(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total,
                             double work_total)
    : progress_(std::move(progress)), work_total_(work_total) {
  sum_.input_total = input_total;
}

Result<void> ProgressMeter::add(const Done& done) {
  if (!progress_) return {};
  const std::lock_guard lock(mutex_);
  return report(done);
}

Result<void> ProgressMeter::report(const Done& done) {
  const Error cancelled(boost::system::errc::make_error_code(boost::system::errc::operation_canceled));
  if (cancelled_) return cancelled;
  sum_.records += done.records;
  sum_.raw_bytes += done.raw_bytes;
  sum_.input_bytes += done.input_bytes;
  work_ += done.work;
  sum_.share = work_total_ > 0 ? std::min(work_ / work_total_, 1.0) : 0;
  asked_ns_.store(now_ns(), std::memory_order_relaxed);
  cancelled_ = !progress_(sum_);
  if (cancelled_) return cancelled;
  return {};
}

bool ProgressMeter::cancelled() {
  if (!progress_) return false;
  constexpr std::int64_t kApartNs = 50'000'000;
  const std::int64_t now = now_ns();
  std::int64_t asked = asked_ns_.load(std::memory_order_relaxed);
  const bool due = asked == INT64_MIN || now - asked >= kApartNs;
  // One thread asks. A thread that reports meanwhile asks too, and may take long.
  if (due && asked_ns_.compare_exchange_strong(asked, now, std::memory_order_relaxed)) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) return !report({});
  }
  return cancelled_;
}

std::function<bool()> ask_seldom(std::function<bool(const ConvertProgress&)> progress, std::uint64_t input_total) {
  if (!progress) return {};
  return
      [meter = std::make_shared<ProgressMeter>(std::move(progress), input_total, 0.0)] { return meter->cancelled(); };
}

void run_workers(unsigned count, FailureGate& gate, const std::function<void()>& work) {
  std::exception_ptr of_caller;
  std::once_flag first;
  const auto guarded = [&] {
    try {
      work();
    } catch (const std::bad_alloc&) {
      gate.fail(0, Error::from_errno(ENOMEM));
    } catch (const std::length_error&) {
      gate.fail(0, Error::from_errno(ENOMEM));
    } catch (const std::system_error& error) {
      gate.fail(0, Error::from_errno(error.code().value()));
    } catch (...) {
      std::call_once(first, [&] { of_caller = std::current_exception(); });
      gate.fail(0, Error::from_errno(ECANCELED));
    }
  };
  std::vector<std::thread> threads;
  try {
    threads.reserve(count);
    while (threads.size() + 1 < count) threads.emplace_back(guarded);
  } catch (const std::exception&) {
    // Fewer threads only reduce the speed.
  }
  guarded();
  for (std::thread& thread : threads) thread.join();
  if (of_caller) std::rethrow_exception(of_caller);
}

}  // namespace dovetail::detail
