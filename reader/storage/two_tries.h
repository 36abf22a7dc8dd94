// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <dovetail/error.h>

#include "reader/storage/read_watch.h"
#include "reader/storage/storage.h"

namespace dovetail::detail {

/// Something that is answered once, by whichever of two tries comes back first with what is wanted; with a failure where all
/// that were begun have failed, or none comes back in time.
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

 protected:
  /// The answer, exactly once; no try has a part in it any more.
  virtual void answer(Answer answer) = 0;
  /// It is given up for good; the answer follows.
  virtual void note_given_up() noexcept {}

 private:
  bool take_turn() { return !answered_.exchange(true); }

  ReadWatch& watch_;
  std::atomic<bool> answered_ = false;
  std::mutex mutex_;
  unsigned tries_out_ = 0;
  std::optional<Error> failure_;  // of the first try that failed
};

}  // namespace dovetail::detail
