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
#include "reader/storage/deadline_storage.h"
#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

class TimedCall;

/// Which calls are out, and which wait. Outlives the storage as long as an abandoned call is out.
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

  /// Makes the call as soon as there is a place for it. False: the storage has stopped. Where it throws, nobody is answered.
  bool add(const std::shared_ptr<TimedCall>& call);
  /// The storage gets a call that has a place.
  void goes_out(TimedCall& call) noexcept;
  /// A call that is given up came back from the storage.
  void came_back_late(TimedCall& call) noexcept;
  /// The call is answered: its place is free.
  void finish(const TimedCall& call) noexcept;
  /// The call is given up: it is abandoned, unless it has just come back.
  void abandon(TimedCall& call) noexcept;
  /// Whether it stops, and something hangs: then no more pieces are asked for, each of which might take its whole time.
  bool stops_hanging() noexcept {
    const std::lock_guard lock(mutex_);
    return stopping_ && abandoned_ > 0;
  }
  void stop();

 private:
  /// What the storage makes at a time of a kind: reads, and calls unless they take the places of reads.
  struct Lane {
    unsigned places = 0;
    unsigned out = 0;
    std::list<std::shared_ptr<TimedCall>> waiting;
  };

  Lane& lane_of(const TimedCall& call) noexcept;
  unsigned out_locked() const noexcept { return reads_.out + calls_.out; }
  template <typename Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, Condition is_met) {
    // The threads that the timer runs on may be busy.
    while (!changed_.wait_for(lock, watch_->period(), is_met)) {
      lock.unlock();
      watch_->look();
      lock.lock();
    }
  }
  void free_place(const TimedCall& call) noexcept;
  /// Makes calls that wait, as far as there are places; those that never will be made fail.
  void pump() noexcept;
  void pump(Lane& lane) noexcept;
  /// Why the call can never be made, or null.
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
  std::map<std::string, unsigned> hung_files_;  // by their abandoned calls
  bool stopping_ = false;
};

/// A call of the storage behind that is answered once: by what comes back, or because it is given up.
class TimedCall : public Awaited, public std::enable_shared_from_this<TimedCall> {
 public:
  TimedCall(std::shared_ptr<CallQueue> queue, std::string path) : queue_(std::move(queue)), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  /// Whether a thread stands still until it is answered.
  virtual bool blocks() const noexcept { return false; }
  virtual Storage::Hangs kind() const noexcept { return Storage::Hangs::call; }
  /// Asks the storage. Needs: a place. Where it throws, nothing was asked.
  void start() {
    queue_->goes_out(*this);
    queue_->watch().begin(shared_from_this());
    try {
      ask(queue_->inner());
    } catch (const std::exception&) {
      if (queue_->watch().end(*this)) throw;
      queue_->came_back_late(*this);  // it was late already
    }
  }
  void give_up() noexcept override {
    queue_->abandon(*this);
    answer_once(error_of(ETIMEDOUT, why_given_up()));
    queue_->finish(*this);
  }
  /// To be called once.
  void answer_once(Result<void> outcome) noexcept {
    try {
      answer(std::move(outcome));
    } catch (const std::exception&) {  // of whoever is called: there is nobody else to tell
    }
  }
  Error error_of(int error, const char* why) const noexcept {
    try {
      const HungRead named = what();
      return Error::from_errno(error, why).at(named.file, named.offset);
    } catch (const std::exception&) {  // short of memory
      return Error::from_errno(error);
    }
  }

 protected:
  virtual void ask(Storage& storage) = 0;
  virtual const char* why_given_up() const noexcept = 0;
  /// Takes over what has come back. Whether nothing is left to be asked for.
  virtual bool take() { return true; }
  /// Called once.
  virtual void answer(Result<void> outcome) = 0;

  /// The storage has answered.
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
    answer_once(std::move(outcome));
    queue_->finish(*this);
  }

 private:
  friend class CallQueue;

  const std::shared_ptr<CallQueue> queue_;
  const std::string path_;
  // Guarded by the queue's mutex.
  enum class Stage : std::uint8_t { waiting, out, abandoned, back };
  Stage stage_ = Stage::waiting;
  bool replaced_ = false;  ///< Abandoned, and the storage has a place more for it.
  bool counted_ = false;   ///< Abandoned, and its file counts as hung.
};

}  // namespace dovetail::detail
