// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <dovetail/reader_stats.h>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Options of a watch.
struct WatchOptions {
  /// A call that takes longer is late; more than 0.
  std::chrono::nanoseconds after{};
  /// If true, a late call fails with `ETIMEDOUT`. Otherwise the call continues, and is logged again
  /// after twice the time, and so on.
  bool gives_up = false;
  /// Called with a line for each late call, on any thread of the reader; may be null.
  std::function<void(std::string_view)> log;
  /// Runs the timer. Must outlive the watch until `stop`.
  boost::asio::any_io_executor executor;
};

/// A request to a storage that is not answered yet.
class Awaited {
 public:
  /// The age of `what` is not set.
  explicit Awaited(HungRead what) : what_(std::move(what)) {}
  virtual ~Awaited() = default;

  const HungRead& what() const noexcept { return what_; }
  /// Called once if the request is late and fails. `ReadWatch::end` returns false from then on.
  virtual void give_up() noexcept {}

 protected:
  /// Changes the description to that of the next piece. Needs: not watched.
  void move_to(std::uint64_t offset, std::uint64_t bytes) noexcept {
    what_.offset = offset;
    what_.bytes = bytes;
  }

 private:
  friend class ReadWatch;
  using Clock = std::chrono::steady_clock;
  using List = std::list<std::shared_ptr<Awaited>>;
  HungRead what_;
  Clock::time_point asked_{};
  Clock::duration late_at_{};  // the age at which it is late next
  List node_ = List(1);        // allocated here, so that `begin` needs no memory
  List::iterator place_{};
  bool watched_ = false;
  bool late_ = false;
};

/// Watches how long requests take, with a timer that runs only while there are any.
///
/// Threads: all functions may be called from any thread.
/// Cost:    a lock for each call; the timer fires at most once in `after` while nothing is late.
class ReadWatch : public std::enable_shared_from_this<ReadWatch> {
 public:
  explicit ReadWatch(WatchOptions options);

  void begin(const std::shared_ptr<Awaited>& awaited) noexcept;
  /// Call this when the request is answered. Afterwards its data may be freed, and it may begin
  /// again. Returns false if it was given up, so that the answer is too late. Idempotent.
  bool end(Awaited& awaited) noexcept;
  /// Logs or gives up all requests that are late now. For threads that wait and may keep the timer
  /// from running.
  void look() noexcept;
  /// The longest time that a waiting thread should wait before it calls `look`.
  std::chrono::nanoseconds period() const noexcept { return options_.after; }

  HungReads hung_reads() const;
  /// Ends the timer and all watching.
  void stop() noexcept;

 private:
  using Clock = Awaited::Clock;
  using List = Awaited::List;

  void arm_locked();
  /// The next request that is late, or null.
  std::shared_ptr<Awaited> take_late_locked(Clock::time_point now) noexcept;
  HungRead describe(const Awaited& awaited) const;
  void say(const HungRead& what, std::string_view then) const;

  const WatchOptions options_;
  mutable std::mutex mutex_;
  std::optional<boost::asio::steady_timer> timer_;
  bool armed_ = false;
  List out_;   // in the order of asking
  List late_;  // likewise; with `gives_up`, those that have not returned yet
  std::uint64_t met_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace dovetail::detail
