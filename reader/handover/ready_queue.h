// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include <boost/circular_buffer.hpp>

#include <dovetail/batch_reader.h>

#include "reader/handover/async_request.h"
#include "reader/handover/brief_mutex.h"
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

/// Connects the reader to the trainer: finished batches in order on one side, one request at a time
/// on the other. A request that finds a batch ready does not take the reader's lock.
///
/// Threads: all functions may be called from any thread. The reader calls its side under the
///          reader's lock, except `complete` and `stop`.
/// Errors:  if memory is short, a batch is neither lost nor delivered twice. Only `make_room` and a
///          new request allocate.
class ReadyQueue : public std::enable_shared_from_this<ReadyQueue> {
  using AsyncRequest = detail::AsyncRequest<Batch>;

 public:
  using Handler = boost::asio::any_completion_handler<BatchReader::NextSignature>;
  using Outcome = Result<std::optional<Batch>>;
  using Clock = StallClock::Clock;
  using Deadline = std::optional<Clock::time_point>;

  /// Uses `max_held`, `replay`, `timeline` and the rank of the options. With `replay`, the first so
  /// many items, of one batch each, stay in the queue and come again for ever.
  ReadyQueue(std::shared_ptr<SlotRing> ring, const ReaderOptions& options);

  /// Sets a function that is called for each batch and end of an epoch before it goes to the
  /// executor of its request. No lock is held then. Set it before the first request.
  void on_asynchronous(std::function<void(bool end_of_epoch)> hand_over) { on_asynchronous_ = std::move(hand_over); }

  // The reader's side.

  /// Makes room for `items` more items. Errors: `std::bad_alloc`.
  void make_room(std::size_t items);
  /// Adds an item. Needs: room for it.
  void push(ReadyItem item) noexcept;
  /// Ends all requests with a failure, after the items pushed so far. Only the first failure
  /// counts.
  void fail(Error error) noexcept;
  /// Declares that no item follows those pushed so far: every further request gets the end of an
  /// epoch.
  void finish() noexcept;
  /// Hands a pushed item to the executor of the outstanding request, if there are both. The
  /// executor may run any code, so no lock may be held. If the executor has no memory, the batch
  /// counts as not handed over, the handler is never called, and later requests fail.
  void complete() noexcept;
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

  void async_next(Handler handler);
  /// Ends the request with `operation_canceled` if it is outstanding.
  void cancel(const std::shared_ptr<AsyncRequest>& request);

  /// Completes an outstanding request, and all later ones, with `operation_canceled`. Drops ready
  /// items. Call `complete` next.
  void stop();

  std::optional<Error> error() const;
  /// The last item given to the trainer: a batch, by its state, or the end of an epoch. Both
  /// members are empty before the first item.
  struct HandedOver {
    std::shared_ptr<const State> origin;  ///< Origin of the batch; null after an end.
    std::optional<Position> position;     ///< Position after the batch; after an end, the beginning of the next epoch.
  };
  HandedOver handed_over() const;
  /// Adds the counts of delivered items and the times of waiting to `stats`.
  void add_to(ReaderStats& stats) const;

 private:
  /// The same counts as in `ReaderStats`.
  struct Counts {
    std::uint64_t batches = 0;
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    std::uint64_t rows_first = 0;
    std::uint64_t rows_repeated = 0;
    std::uint64_t rows_empty = 0;
    std::uint64_t rows_substituted = 0;
    std::uint64_t rows_damaged_empty = 0;
  };
  /// Facts about the items that the trainer got.
  struct Delivered {
    HandedOver last;
    Counts counts;
  };
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
  /// A request, its outcome, and the facts about deliveries before it.
  struct Completion {
    std::shared_ptr<AsyncRequest> request;
    Outcome outcome;
    Delivered before;
  };

  /// If an outcome is available now, sets it and returns true: a ready item, a lasting state, or
  /// `slots_held`. A batch is constructed in place, because moves are part of the cost of tiny
  /// batches.
  bool take_locked(Outcome& outcome) noexcept;
  bool has_item_locked() const { return next_ < items_.size(); }
  /// Takes the first ready item. Needs: there is one.
  void take_front_locked(std::optional<Batch>& taken);
  /// Makes batch number `batch` of a slot, and counts it as delivered.
  Batch deliver_locked(const ReadyItem& from, std::uint32_t batch, std::shared_ptr<SlotLease> lease);
  /// Call this when there is a new outcome. Wakes the thread that waits for one, or takes it for
  /// the outstanding request, to be handed over by `complete`.
  void match_locked() noexcept;
  /// The state of the clock now.
  Stall stall_locked() const;
  void update_clock_locked();
  /// The same, if the time now is known.
  void update_clock_locked(Clock::time_point at);
  bool outstanding_locked() const { return requested_locked() || completion_.has_value(); }
  bool requested_locked() const { return !std::holds_alternative<std::monostate>(request_); }
  void keep_locked(Completion completion) noexcept;
  /// Hands a completion to its executor. Call it outside of the lock.
  void hand_over(Completion completion) noexcept;
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
  const Error busy_{Errc::busy, "a request for the next batch is already outstanding"};
  const Error not_yet_{Errc::not_yet, "no batch arrived in the given time; ask again"};
  const Error stopped_ = cancelled("the reader was stopped");
  const Error cancelled_ = cancelled("the request was cancelled");
  const Error slots_held_;
  mutable BriefMutex mutex_;
  boost::circular_buffer<ReadyItem> items_;
  std::size_t next_ = 0;  // the first ready one of `items_`; above 0 only with `replay_`
  struct Helping {};
  struct Waiting {};
  std::variant<std::monostate, Helping, Waiting, std::shared_ptr<AsyncRequest>> request_;
  std::condition_variable_any arrived_;   // wakes a thread that waits
  std::optional<Completion> completion_;  // waits for `complete`
  // A relaxed load outside of the lock sees at least the stores of its own thread. `complete` and
  // `RankReader::kick` need no more. Stores of other threads are hints: the lock is taken after
  // them.
  std::atomic<bool> has_completion_ = false;
  std::atomic<std::uint32_t> ready_ = 0;  // not 0 if a spinning thread must look at `items_` and `error_`
  std::atomic<bool> waiting_ = false;
  TrainerPace pace_;
  std::optional<Error> failure_;  // delivered after all items
  std::optional<Error> error_;    // the failure once it was delivered, or the stop
  bool finished_ = false;
  Delivered delivered_;
  Waits waits_;
};

}  // namespace dovetail::detail
