// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>

#include "format/guard_memory.h"
#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"
#include "reader/storage/watched_storage.h"

namespace dovetail::detail {

class TimedCall;

/// The calls that the storage has, and those that wait for a place. Outlives the storage while an
/// abandoned call has not returned.
///
/// Threads: all functions from any thread.
class CallQueue : public std::enable_shared_from_this<CallQueue> {
 public:
  CallQueue(std::unique_ptr<Storage> storage, WatchOptions options)
      : executor_(options.executor),
        inner_(std::move(storage)),
        watch_(std::make_shared<ReadWatch>(std::move(options))),
        reads_{.places = std::min(inner_->facts().depth, kMostCallsOut), .waiting = {}},
        calls_{.places = std::min(inner_->facts().call_depth, kMostCallsOut), .waiting = {}} {}

  Storage& inner() noexcept { return *inner_; }
  ReadWatch& watch() noexcept { return *watch_; }

  /// Makes the call as soon as it has a place. Returns false if the storage has stopped. If this
  /// throws, the handler is not called.
  bool add(const std::shared_ptr<TimedCall>& call);
  /// Call when the storage gets a call that has a place.
  void goes_out(TimedCall& call) noexcept;
  /// Call when a call that was given up returned from the storage.
  void came_back_late(TimedCall& call) noexcept;
  /// Frees the place of a call that is answered.
  void finish(const TimedCall& call) noexcept;
  /// Abandons a call that is given up, unless it has just returned.
  void abandon(TimedCall& call) noexcept;
  /// Whether the storage stops while a call hangs. Then no more pieces are requested, because each
  /// may take its whole time.
  bool stops_hanging() noexcept {
    const std::lock_guard lock(mutex_);
    return stopping_ && abandoned_ > 0;
  }
  void stop();

 private:
  /// The calls of one kind that the storage makes at a time: reads, or other calls unless they take
  /// the places of reads.
  struct Lane {
    unsigned places = 0;
    unsigned out = 0;
    std::list<std::shared_ptr<TimedCall>> waiting;
  };

  Lane& lane_of(const TimedCall& call) noexcept;
  unsigned out_locked() const noexcept { return reads_.out + calls_.out; }
  template <typename Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition is_met) {
    // The threads that run the timer may be busy, so this thread does the timer's work.
    while (!changed_.wait_for(lock, watch_->period(), is_met)) {
      lock.unlock();
      watch_->look();
      lock.lock();
    }
  }
  void free_place(const TimedCall& call) noexcept;
  /// Makes waiting calls as long as there are places. Calls that can never be made fail.
  void pump() noexcept;
  void pump(Lane& lane) noexcept;
  /// The reason why the call can never be made, or null.
  const char* refusal_locked(const TimedCall& call) noexcept;
  void refuse(const std::shared_ptr<TimedCall>& call, const char* why);

  const boost::asio::any_io_executor executor_;
  const std::unique_ptr<Storage> inner_;
  const std::shared_ptr<ReadWatch> watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Lane reads_;
  Lane calls_;
  unsigned abandoned_ = 0;
  std::map<std::string, unsigned> hung_files_;  // number of abandoned calls by file
  bool stopping_ = false;
};

/// A call to the inner storage that is answered exactly once: with its result, or with an error
/// when it is given up.
class TimedCall : public Awaited, public std::enable_shared_from_this<TimedCall> {
 public:
  TimedCall(std::shared_ptr<CallQueue> queue, HungRead what) : Awaited(std::move(what)), queue_(std::move(queue)) {}

  const std::string& path() const noexcept { return what().file; }
  /// Whether a thread blocks until the call is answered.
  virtual bool blocks() const noexcept { return false; }
  virtual Storage::RequestKind kind() const noexcept { return Storage::RequestKind::call; }
  /// Passes the call to the storage. Needs: a place. If this throws, the storage did not get it.
  void start() {
    queue_->goes_out(*this);
    queue_->watch().begin(shared_from_this());
    try {
      ask(queue_->inner());
    } catch (const std::exception&) {
      if (queue_->watch().end(*this)) throw;
      queue_->came_back_late(*this);  // it was given up before
    }
  }
  void give_up() noexcept override {
    queue_->abandon(*this);
    answer(error_of(ETIMEDOUT, why_given_up()));
    queue_->finish(*this);
  }
  /// Calls the handler. Must be called exactly once.
  virtual void answer(Result<void> outcome) noexcept = 0;
  Error error_of(int error, const char* why) const noexcept {
    try {
      return Error::from_errno(error, why).at(path(), what().offset);
    } catch (const std::exception&) {  // out of memory
      return Error::from_errno(error);
    }
  }

 protected:
  virtual void ask(Storage& storage) = 0;
  virtual const char* why_given_up() const noexcept = 0;
  /// Takes over the bytes that arrived. Returns false if another piece must be requested.
  virtual bool take() { return true; }

  /// Handles the answer of the storage.
  void on_answer(Result<void> outcome) noexcept {
    if (!queue_->watch().end(*this)) return queue_->came_back_late(*this);
    try {
      if (outcome.has_value() && !take()) {
        if (!queue_->stops_hanging()) return start();
        outcome = error_of(ECANCELED, "the reader was stopped");
      }
    } catch (const std::exception& failure) {
      outcome = error_from(failure);
    }
    answer(std::move(outcome));
    queue_->finish(*this);
  }

 private:
  friend class CallQueue;

  const std::shared_ptr<CallQueue> queue_;
  // Guarded by the queue's mutex.
  enum class Stage : std::uint8_t { waiting, out, abandoned, back };
  Stage stage_ = Stage::waiting;
  bool replaced_ = false;  ///< Abandoned, and the storage has added a place for it.
  bool counted_ = false;   ///< Abandoned, and counted in `hung_files_`.
};

}  // namespace dovetail::detail
