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

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <dovetail/reader_stats.h>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// How a storage is looked after.
struct WatchOptions {
  /// A call that takes longer is late; more than 0.
  std::chrono::nanoseconds after{};
  /// Whether a late call fails with `ETIMEDOUT`; else it is waited for, and logged again after twice as long, and so on.
  bool gives_up = false;
  /// Gets a line for each late call, from any thread of the reader; may be null.
  std::function<void(std::string_view)> log;
  /// Where the timer runs. Has to outlive the watch until `stop`.
  boost::asio::any_io_executor executor;
};

/// Something that was asked of a storage and is not answered yet.
class Awaited {
 public:
  virtual ~Awaited() = default;

  /// What it is; its age is left alone.
  virtual HungRead what() const = 0;
  /// It is late, and whoever asked gets an error now. Called once, after which `ReadWatch::end` says no.
  virtual void give_up() noexcept {}

 private:
  friend class ReadWatch;
  using Clock = std::chrono::steady_clock;
  using List = std::list<std::shared_ptr<Awaited>>;
  Clock::time_point asked_{};
  Clock::duration late_at_{};  // the age at which to look again
  List node_ = List(1);        // made here, so that beginning to look at it needs no memory
  List::iterator place_{};
  bool watched_ = false;
  bool late_ = false;
};

/// Looks at how long calls have been out, by a timer that runs only while some are.
///
/// Threads: all functions may be called from any thread.
/// Cost:    a lock for each call; the timer fires at most once in `after` while nothing is late.
class ReadWatch : public std::enable_shared_from_this<ReadWatch> {
 public:
  explicit ReadWatch(WatchOptions options);

  void begin(const std::shared_ptr<Awaited>& awaited) noexcept;
  /// It is answered: what it refers to may go when this has returned, and it may begin again. Whether it has not been
  /// given up; where it has, the answer comes too late. Idempotent.
  bool end(Awaited& awaited) noexcept;
  /// Logs or gives up what is late now. For threads that wait, and may keep the timer from running.
  void look() noexcept;
  /// How long a waiting thread may wait until it should look.
  std::chrono::nanoseconds period() const noexcept { return options_.after; }

  HungReads hung_reads() const;
  /// Ends the timer and looks at nothing any more.
  void stop() noexcept;

 private:
  using Clock = Awaited::Clock;
  using List = Awaited::List;

  void arm_locked();
  /// The next one that is late, or null.
  std::shared_ptr<Awaited> take_late_locked(Clock::time_point now) noexcept;
  HungRead describe(const Awaited& awaited) const;
  void say(const HungRead& what, std::string_view then) const;

  const WatchOptions options_;
  mutable std::mutex mutex_;
  std::optional<boost::asio::steady_timer> timer_;
  bool armed_ = false;
  List out_;   // in the order of asking
  List late_;  // the same; where late calls are given up, those that have not come back yet
  std::uint64_t met_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace dovetail::detail
