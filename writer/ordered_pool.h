// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/error.h>

namespace dovetail::detail {

/// Threads that work on jobs in any order. `take` returns the jobs in the order of `submit`.
///
/// Ownership: a job belongs to the pool from `submit` to `take`.
/// Threads:   one thread submits and takes; the pool runs its own. The destructor drops jobs that
///            have not begun.
/// Errors:    the result or exception of `work` comes back with the job; no exception leaves a
///            thread.
/// Cost:      as many jobs as the caller keeps in flight.
template <class Job>
class OrderedPool {
 public:
  using Work = std::function<Result<void>(Job& job)>;

  struct Done {
    Job job;
    Result<void> outcome;
  };

  /// Errors: the system's, if no thread can be started.
  static Result<std::unique_ptr<OrderedPool>> start(unsigned threads, Work work) {
    std::unique_ptr<OrderedPool> pool(new OrderedPool(std::move(work)));
    try {
      while (pool->threads_.size() < threads) pool->threads_.emplace_back([raw = pool.get()] { raw->run(); });
    } catch (const std::system_error& error) {
      // Fewer threads only reduce the speed.
      if (pool->threads_.empty()) return Error::from_errno(error.code().value(), "cannot start a thread");
    }
    return pool;
  }

  OrderedPool(const OrderedPool&) = delete;
  OrderedPool& operator=(const OrderedPool&) = delete;

  ~OrderedPool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_waits_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(Job job) {
    {
      const std::lock_guard lock(mutex_);
      tickets_.emplace_back(std::move(job));
    }
    work_waits_.notify_one();
  }

  std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return tickets_.size();
  }

  /// Waits for the oldest job. Needs: a job is in flight.
  Done take() {
    std::unique_lock lock(mutex_);
    oldest_done_.wait(lock, [this] { return tickets_.front().outcome.has_value(); });
    Done done{std::move(tickets_.front().job), std::move(*tickets_.front().outcome)};
    tickets_.pop_front();
    --begun_;
    return done;
  }

 private:
  struct Ticket {
    explicit Ticket(Job its_job) : job(std::move(its_job)) {}
    Job job;
    std::optional<Result<void>> outcome;
  };

  explicit OrderedPool(Work work) : work_(std::move(work)) {}

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_waits_.wait(lock, [this] { return stopping_ || begun_ < tickets_.size(); });
      if (stopping_) return;
      // Adding or removing at an end of a deque does not move its other elements.
      Ticket& ticket = tickets_[begun_++];
      lock.unlock();
      Result<void> outcome = guarded(ticket.job);
      lock.lock();
      ticket.outcome = std::move(outcome);
      if (&ticket == &tickets_.front()) oldest_done_.notify_one();
    }
  }

  Result<void> guarded(Job& job) noexcept {
    try {
      return work_(job);
    } catch (const std::bad_alloc&) {
      return Error(boost::system::errc::make_error_code(boost::system::errc::not_enough_memory));
    } catch (const std::system_error& error) {
      return Error(error.code());
    } catch (...) {
      return Error(boost::system::errc::make_error_code(boost::system::errc::state_not_recoverable));
    }
  }

  const Work work_;
  mutable std::mutex mutex_;
  std::condition_variable work_waits_;
  std::condition_variable oldest_done_;
  std::deque<Ticket> tickets_;  // oldest first
  std::size_t begun_ = 0;       // tickets at the front that a thread has begun
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dovetail::detail
