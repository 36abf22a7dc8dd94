// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/circular_buffer.hpp>

#include <dovetail/batch_reader.h>

#include "reader/handover/brief_mutex.h"
#include "reader/handover/requests.h"
#include "reader/memory/slot_ring.h"
#include "reader/trace/stall_clock.h"

namespace dovetail::detail {

/// The next item for the trainer: filled batches of one slot that it has not taken yet, or the end
/// of an epoch.
struct ReadyItem {
  /// Its origin is the base of the states of these batches. Null at the end of an epoch.
  std::shared_ptr<SlotLease> lease;
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;  ///< Step of the first batch of the slot; the others follow.
  std::uint32_t next = 0;  ///< Batches [next, end) of the slot.
  std::uint32_t end = 1;
  std::uint32_t rows = 0;      ///< Rows of each batch.
  std::size_t slab_bytes = 0;  ///< Distance of consecutive batches in the slot.
};

/// What the trainer got.
struct Delivered {
  /// The last item: a batch, by its state, or the end of an epoch. Both members are empty before
  /// the first item.
  struct Last {
    std::shared_ptr<const State> origin;  ///< Origin of the batch; null after an end.
    std::optional<Position> position;     ///< Position after the batch; after an end, the beginning of the next epoch.
  };
  Last last;
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint64_t, kRowStatuses> rows{};  ///< By status.
};

/// Connects the reader to the trainer: finished batches in order on one side, one request at a time
/// on the other. A request that finds a batch ready does not take the reader's lock.
///
/// Threads: all functions may be called from any thread. The reader calls its side under the
///          reader's lock, except `complete` and `stop`.
/// Errors:  those of `Requests`. Only `make_room` and a new request allocate.
class ReadyQueue : public Requests<ReadyQueue, Batch, Delivered, BriefMutex> {
  friend Requests;

 public:
  using Clock = StallClock::Clock;
  using Deadline = std::optional<Clock::time_point>;

  /// Uses `max_held`, `replay`, `timeline` and the rank of the options. With `replay`, the first so
  /// many items, of one batch each, stay in the queue and come again for ever.
  ReadyQueue(std::shared_ptr<SlotRing> ring, const ReaderOptions& options);

  /// Sets a function that is called for each batch and end of an epoch before it goes to the
  /// executor of its request. No lock is held then. Set it before the first request.
  void on_asynchronous(std::function<void(bool end_of_epoch)> hand_over) { on_asynchronous_ = std::move(hand_over); }

  // The reader's side.

  /// Makes room for one more item. Errors: `std::bad_alloc`.
  void make_room();
  /// Adds an item. Needs: room for it.
  void push(ReadyItem item) noexcept;
  /// Ends all requests with a failure, after the items pushed so far. Only the first failure
  /// counts.
  void fail(Error error) noexcept;
  /// Declares that no item follows those pushed so far: every further request gets the end of an
  /// epoch.
  void finish() noexcept;
  /// Sets the reason why requests wait: storage, decode, transform or slot.
  void set_cause(Stall cause);

  /// Whether a request waits for its batch without helping.
  bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  /// Whether the trainer requests batches with hardly a pause and does jobs meanwhile, so that its
  /// core is busy with reading. The trainer then counts as one of the reader's threads.
  bool busy_trainer() const noexcept { return pace_.busy.load(std::memory_order_relaxed); }

  // The trainer's side. A synchronous request calls `begin`. While its thread helps, it calls
  // `take` after each job. When there is no job, it calls `stand_still` and `wait`.

  /// Begins a request. If an outcome is available now, sets it and returns true. Else the trainer
  /// may do jobs from `now` on.
  bool begin(Outcome& outcome, Clock::time_point& now);
  /// After a job that ended at `now`: if an outcome is available, sets it and returns true.
  bool take(Outcome& outcome, Clock::time_point now);
  /// Declares that the trainer has no job, so its core is free. Call `wait` next.
  void stand_still(Stall cause);
  /// Waits for the outcome, until `until` if that is set. The outcome is `not_yet` then.
  void wait(Outcome& outcome, Deadline until);

  /// Completes an outstanding request, and all later ones, with `operation_canceled`. Drops ready
  /// items. Call `complete` next.
  void stop();

  Delivered::Last handed_over() const;
  /// Adds the counts of delivered items and the times of waiting to `stats`.
  void add_to(ReaderStats& stats) const;

 private:
  /// The pace at which the trainer requests batches.
  struct TrainerPace {
    std::atomic<bool> busy = false;    ///< The trainer does little but request batches.
    bool was_busy = false;             ///< `busy` before the trainer had to wait.
    std::uint32_t requests = 0;        ///< Requests since the last check of the pace.
    std::uint32_t look_after = 1;      ///< Requests until the next check.
    std::chrono::nanoseconds kept{0};  ///< Time that the trainer kept its batches.
  };
  /// Times of waiting, by cause.
  struct Waits {
    StallClock clock;
    Stall cause = Stall::storage;  ///< The reason why an outstanding request waits.
    std::optional<Clock::time_point> first_request;
  };
  /// If an outcome is available now, sets it and returns true: a ready item, a lasting state, or
  /// `slots_held`. A batch is constructed in place, because moves are part of the cost of tiny
  /// batches.
  bool take_locked(Outcome& outcome) noexcept;
  void asked_locked() { note_request_locked(false); }
  void changed_locked() noexcept;
  void handing_over(const Outcome& outcome);
  bool has_item_locked() const { return next_ < items_.size(); }
  /// Takes the first ready item. Needs: there is one.
  void take_front_locked(std::optional<Batch>& taken);
  /// Makes batch number `batch` of a slot, and counts it as delivered.
  Batch deliver_locked(const ReadyItem& from, std::uint32_t batch, std::shared_ptr<SlotLease> lease);
  /// The state of the clock now.
  Stall stall_locked() const;
  void update_clock_locked();
  /// The same, if the time now is known.
  void update_clock_locked(Clock::time_point at);
  /// Spins briefly for an item.
  void spin() const noexcept;
  /// Counts a request; `helps` if its thread may do jobs.
  void note_request_locked(bool helps);

  const std::shared_ptr<SlotRing> ring_;
  const std::uint32_t max_held_;
  const std::uint32_t replay_;
  const std::shared_ptr<Timeline> timeline_;
  const std::uint32_t rank_;
  std::function<void(bool)> on_asynchronous_;
  // Created early, because memory may be short when they are needed.
  const Error not_yet_{Errc::not_yet, "no batch arrived in the given time; ask again"};
  const Error slots_held_;
  boost::circular_buffer<ReadyItem> items_;
  std::size_t next_ = 0;  // the first ready one of `items_`; above 0 only with `replay_`
  // As `Requests::has_completion_`, a hint for threads that do not hold the lock.
  std::atomic<std::uint32_t> ready_ = 0;  // not 0 if a spinning thread must look at `items_` and `error_`
  std::atomic<bool> waiting_ = false;
  TrainerPace pace_;
  std::optional<Error> failure_;  // delivered after all items
  bool finished_ = false;
  Waits waits_;
};

}  // namespace dovetail::detail
