// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <dovetail/reader_stats.h>

#include "reader/storage/storage.h"

namespace dovetail::detail {

/// How a storage is looked after.
struct WatchOptions {
  /// What has not come back for so long hangs; more than 0.
  std::chrono::nanoseconds after{};
  /// Whether what hangs is asked for once more, and given up after twice as long.
  bool gives_up = false;
  /// Gets a line for each read that hangs, on the thread of the watch or on one of the storage; may be null.
  std::function<void(std::string_view)> log;
};

/// Something that was asked of a storage and is not answered yet.
class Awaited {
 public:
  virtual ~Awaited() = default;

  /// What it is; its age is left alone.
  virtual HungRead what() const = 0;
  /// It hangs. Asks for it once more, where that can be done; whether it is. Called once, on the thread of the watch.
  virtual bool retry() { return false; }
  /// It hangs for twice as long: whoever waits gets an error, unless it has just been answered. Whether it was given up, and
  /// counted.
  virtual bool give_up() { return false; }
  /// It is not even asked for: whoever waits gets an error. Called on the thread of the watch, again where it throws.
  virtual void refuse() {}

 private:
  friend class ReadWatch;
  using Clock = std::chrono::steady_clock;
  using List = std::list<std::shared_ptr<Awaited>>;
  Clock::time_point asked_{};
  Clock::duration late_at_{};  // the age at which to look again
  List node_ = List(1);        // made here, so that beginning to look at it needs no memory
  List::iterator place_{};
  bool watched_ = false;
  bool hung_ = false;
};

/// Looks at how long reads have been out, on a thread of its own, which sleeps while nothing is.
///
/// Threads: all functions may be called from any thread, `stop` not from that of the watch.
/// Cost:    a lock for each read; the thread wakes at most once in `after` while nothing hangs.
class ReadWatch {
 public:
  /// Throws `std::system_error` where no thread can be started.
  explicit ReadWatch(WatchOptions options);
  ReadWatch(const ReadWatch&) = delete;
  ReadWatch& operator=(const ReadWatch&) = delete;
  ~ReadWatch();

  void begin(const std::shared_ptr<Awaited>& awaited) noexcept;
  /// It is answered, or given up: what it refers to may go when this has returned. Idempotent.
  void end(Awaited& awaited);

  /// Has something refused that was not begun, soon.
  void refuse(const std::shared_ptr<Awaited>& awaited) noexcept;

  /// Something is given up; to be called before whoever waits for it is told, and may ask for `hung_reads`.
  void count_given_up() noexcept;
  HungReads hung_reads() const;
  /// Looks no more.
  void stop();

 private:
  using Clock = Awaited::Clock;
  using List = Awaited::List;
  enum class Step : std::uint8_t { tell, retry, give_up };
  struct Late {
    std::shared_ptr<Awaited> awaited;
    Step step = Step::tell;
    HungRead what;
  };

  void run();
  std::optional<Clock::time_point> next_look_locked() const;
  /// The one to be told of, or none.
  Late take_late_locked();
  void handle(const Late& late);
  /// Whether it could be.
  bool refuse_first(std::unique_lock<std::mutex>& lock);
  bool forget(Awaited& awaited);
  void say(const HungRead& what, std::string_view then);

  const WatchOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  List out_;   // in the order of asking
  List hung_;  // the same
  List refused_;
  std::uint64_t met_ = 0;
  std::uint64_t given_up_ = 0;
  bool idle_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dovetail::detail
