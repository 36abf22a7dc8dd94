// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <dovetail/error.h>

#include "reader/storage/apart_threads.h"
#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Something that is answered once, by whichever of two tries comes back first with what is wanted; with a failure where all
/// that were begun have failed, none comes back in time, or none can be begun. The watch looks at it from its first try on:
/// what waits for room or for a thread does not hang.
///
/// Threads: all functions may be called from any thread.
class TwoTries : public Awaited, public std::enable_shared_from_this<TwoTries> {
 public:
  using Answer = Storage::Answer;

  explicit TwoTries(ReadWatch& watch) : watch_(watch) {}

  /// A try begins. Whether it is still wanted; only then `come_back` is to be called, once.
  bool begin_try();
  bool answered() const noexcept { return answered_; }
  void come_back(Answer answer);

  bool give_up() override;
  void refuse() override;

 protected:
  enum class Turn : std::uint8_t { first, second };
  using Work = Answer (*)(const TwoTries&);  // of no memory, which may be short
  /// Tries it on a thread of its own. Where none is to be had, it is refused if this was to be its first try. Whether there is
  /// one, as far as can be told now.
  bool try_apart(const std::shared_ptr<ApartThreads>& threads, Turn turn, Work work) noexcept;
  /// Has it answered with an error, soon, and not inside this call. Needs: no try has begun, and none will.
  void refuse_for(int error, const char* why) noexcept;
  /// The first try begins.
  void watch() noexcept { watch_.begin(shared_from_this()); }

  /// The answer, exactly once; no try has a part in it any more.
  virtual void answer(Answer answer) = 0;
  /// It is given up for good; the answer follows.
  virtual void note_given_up() noexcept {}
  /// The answer follows; nobody waits for the tries that are still out.
  virtual void lose_tries() noexcept;
  /// A try apart is to come, has ended, and has been answered.
  virtual void count_try_apart() {}
  virtual void end_try_apart() noexcept {}
  virtual void after_try_apart() noexcept {}

 private:
  struct Apart {
    std::shared_ptr<ApartThreads> threads;
    ApartThreads::JobPtr job;
  };
  bool take_turn() { return !answered_.exchange(true); }
  /// Its error: file and offset, if there is memory to name them.
  Error refusal() const noexcept;
  ApartThreads::JobPtr job_apart(Turn turn, Work work);
  void end_job_apart(Turn turn, ApartThreads::Fate fate, std::optional<Answer> given) noexcept;

  ReadWatch& watch_;
  std::atomic<bool> answered_ = false;
  int refused_error_ = 0;
  const char* why_refused_ = "";
  std::mutex mutex_;
  unsigned tries_out_ = 0;
  std::optional<Error> failure_;  // of the first try that failed
  std::array<Apart, 2> apart_;
};

}  // namespace dovetail::detail
