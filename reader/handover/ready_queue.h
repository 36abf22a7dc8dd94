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

/// Gathered batches of one slot that the trainer has not asked for yet.
struct ReadyBatches {
  std::shared_ptr<SlotLease> lease;  ///< With the origin of their states.
  std::uint64_t step = 0;            ///< Of the first batch of the slot; those behind it are of the steps that follow.
  std::uint32_t next = 0;            ///< Batches [next, end) of the slot.
  std::uint32_t end = 1;
  std::uint32_t rows = 0;      ///< Of each.
  std::size_t slab_bytes = 0;  ///< From one to the next, in the slot.
};

struct EndOfEpoch {
  std::uint32_t epoch = 0;
};

/// What the trainer gets next.
using ReadyItem = std::variant<ReadyBatches, EndOfEpoch>;

/// The seam between the reader and the trainer: finished batches in order on one side, one request at a time
/// on the other. A request that finds a batch ready does not touch the reader's lock.
///
/// Threads: all functions may be called from any thread; the reader's side is called under the reader's lock, but for
///          `complete` and `stop`.
/// Errors:  where memory is short a batch is neither lost nor given twice: only `make_room` and a new request need any.
class ReadyQueue : public std::enable_shared_from_this<ReadyQueue> {
 public:
  using Handler = boost::asio::any_completion_handler<BatchReader::NextSignature>;
  using Outcome = Result<std::optional<Batch>>;
  using Clock = StallClock::Clock;
  using Deadline = std::optional<Clock::time_point>;

  /// `timeline` gets what is waited for and what is handed over, as that of `rank`; it may be null.
  ReadyQueue(std::shared_ptr<SlotRing> ring, std::uint32_t max_held, std::shared_ptr<Timeline> timeline = nullptr,
             std::uint32_t rank = 0);

  /// Calls this for each batch and end of an epoch before it goes to the executor of its request, with no lock held. To be
  /// set before the first request.
  void on_asynchronous(std::function<void(bool end_of_epoch)> hand_over) { on_asynchronous_ = std::move(hand_over); }

  // The reader's side.

  /// Makes room for so many more items. Errors: `std::bad_alloc`.
  void make_room(std::size_t items);
  /// Adds an item. Needs: room for it.
  void push(ReadyItem item) noexcept;
  /// The failure that ends everything comes behind what was pushed. The first one counts.
  void fail(Error error) noexcept;
  /// Nothing comes after what was pushed: every further request gets the end of an epoch.
  void finish() noexcept;
  /// Hands what was pushed to the executor of the request that it is for, if one was outstanding. The executor is the
  /// trainer's, and may do as it likes: no lock may be held. Where it has no memory for that the batch counts as not handed
  /// over and later requests fail; then the handler is destroyed.
  void complete() noexcept;
  /// Says what a request would be waiting for now: storage, decode or slot.
  void set_cause(Stall cause);
  /// Items that are ready.
  std::size_t size() const;

  /// Whether a request is waiting for its batch, other than by helping.
  bool waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  /// Whether the trainer asks for batch after batch with hardly a pause and without waiting, so that its core is busy
  /// with reading: it then counts as one of the reader's threads.
  bool busy_trainer() const noexcept { return pace_.busy.load(std::memory_order_relaxed); }

  // The trainer's side. A synchronous request begins; while its thread works on the batch itself it asks after each piece of
  // work; where there is no more work, it stands still and waits.

  /// Begins a request. True with an outcome that needs no waiting; else the trainer may work from `now` on.
  bool begin(Outcome& outcome, Clock::time_point& now);
  /// True with an outcome, after a piece of work that has ended at `now`.
  bool take(Outcome& outcome, Clock::time_point now);
  /// There is no work for the trainer, whose core is free then. To be followed by `wait`.
  void stand_still(Stall cause);
  /// Waits for the outcome: `not_yet` where nothing has come at `until`, if there is one.
  void wait(Outcome& outcome, Deadline until);

  void async_next(Handler handler);

  /// Completes an outstanding request, and all later ones, with `operation_canceled`. Drops what is ready. `complete` has to be
  /// called next.
  void stop();

  std::optional<Error> error() const;
  /// What was handed to the trainer last: a batch, as its state, or the end of an epoch. Neither before the first.
  struct HandedOver {
    std::shared_ptr<const State> origin;  ///< Of the batch; null after an end.
    std::optional<Position> position;     ///< Behind the batch; after an end, the beginning of the next epoch.
  };
  HandedOver handed_over() const;
  /// Fills in what was delivered and where time went.
  void add_to(ReaderStats& stats) const;

 private:
  struct SyncRequest {
    std::optional<Outcome> outcome;
  };
  using AsyncRequest = detail::AsyncRequest<Batch>;
  /// As in `ReaderStats`.
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
  /// What the trainer has had.
  struct Delivered {
    HandedOver last;
    Counts counts;
  };
  /// How fast the trainer comes back for the next batch.
  struct TrainerPace {
    std::atomic<bool> busy = false;    ///< With nothing but reading.
    bool was_busy = false;             ///< Before it stood still.
    std::uint32_t requests = 0;        ///< Since that was looked at the last time,
    std::uint32_t look_after = 1;      ///< which is done again after so many.
    std::chrono::nanoseconds kept{0};  ///< That the trainer was at its batches until then.
  };
  /// Where time goes.
  struct Waits {
    StallClock clock;
    Stall cause = Stall::storage;  ///< Of a request that is outstanding.
    std::optional<Clock::time_point> first_request;
  };
  /// A request, what it gets, and what was delivered before it.
  struct Completion {
    std::shared_ptr<AsyncRequest> request;
    Outcome outcome;
    Delivered before;
  };

  /// Fills in an outcome that needs no waiting, if there is one: a ready item, a state that lasts, or a misuse. A batch is
  /// made where it is returned from: where batches are tiny, moves are a part of what one costs.
  bool take_locked(Outcome& outcome) noexcept;
  /// What the first ready item gives. Needs one.
  void take_front_locked(std::optional<Batch>& taken);
  /// Hands over one of them.
  Batch deliver_locked(const ReadyBatches& batches, std::uint32_t batch, std::shared_ptr<SlotLease> lease);
  /// Hands the front item to the outstanding request, if there are both.
  void match_locked() noexcept;
  void cancel(std::uint64_t ticket);
  /// What time is spent on now.
  Stall stall_locked() const;
  void update_clock_locked();
  /// The same at a time that is known to be now.
  void update_clock_locked(Clock::time_point at);
  /// Whether a request has no answer yet, or one that waits for `complete`.
  bool outstanding_locked() const;
  bool requested_locked() const { return !std::holds_alternative<std::monostate>(request_); }
  void keep_locked(Completion completion) noexcept;
  /// Gives it to its executor, with no lock held.
  void hand_over(Completion completion) noexcept;
  /// Waits for a moment whether an item comes.
  void spin() const noexcept;
  /// A request has begun; `helps` says whether on a thread that may help.
  void note_request_locked(bool helps);

  const std::shared_ptr<SlotRing> ring_;
  const std::uint32_t max_held_;
  const std::shared_ptr<Timeline> timeline_;
  const std::uint32_t rank_;
  std::function<void(bool)> on_asynchronous_;
  // Made before memory is short.
  const Error busy_{Errc::busy, "a request for the next batch is outstanding already"};
  const Error not_yet_{Errc::not_yet, "no batch has come in the time given; ask again"};
  const Error stopped_ = cancelled("the reader was stopped");
  const Error cancelled_ = cancelled("the request was cancelled");
  const Error slots_held_;
  mutable BriefMutex mutex_;
  boost::circular_buffer<ReadyItem> items_;
  struct Helping {};
  std::variant<std::monostate, Helping, SyncRequest*, std::shared_ptr<AsyncRequest>> request_;
  std::condition_variable_any arrived_;   // for who waits
  std::optional<Completion> completion_;  // to be handed over
  // Relaxed loads without the lock see at least what the same thread stored before, which is all that `complete` and
  // `RankReader::kick` need; of what others stored they are hints, behind which the lock is taken.
  std::atomic<bool> has_completion_ = false;
  std::atomic<std::uint32_t> ready_ = 0;  // as many as `items_` has
  std::atomic<bool> waiting_ = false;
  TrainerPace pace_;
  std::uint64_t tickets_ = 0;
  std::optional<Error> failure_;  // behind all items
  std::optional<Error> error_;    // the failure once it was delivered, or the stop
  bool finished_ = false;
  Delivered delivered_;
  Waits waits_;
};

}  // namespace dovetail::detail
