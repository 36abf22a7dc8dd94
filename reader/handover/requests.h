// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>

#include <dovetail/error.h>

#include "format/guard_memory.h"

namespace dovetail::detail {

/// An outstanding `async_next`: its handler, the executor of the handler, and the outcome.
///
/// Always on the heap, because assigning to an any_completion_handler recurses without end in Asio
/// 1.26. Needs: a handler from `never_inside`.
/// Ownership: the side that completes the request, and the executor until the handler has run.
template <class Piece>
struct AsyncRequest {
  using Handler = boost::asio::any_completion_handler<void(boost::system::error_code, std::optional<Piece>)>;

  explicit AsyncRequest(Handler from)
      : handler(std::move(from)),
        executor(boost::asio::prefer(boost::asio::get_associated_executor(
                                         handler, boost::asio::any_completion_executor(boost::asio::system_executor())),
                                     boost::asio::execution::outstanding_work.tracked)) {}

  /// Calls the handler with the outcome later, on the executor of the request. Errors: throws what
  /// the executor throws, such as `std::bad_alloc`. The outcome is released then.
  static void complete(const std::shared_ptr<AsyncRequest>& request, Result<std::optional<Piece>> given) {
    request->outcome = std::move(given);
    // Released as soon as the call is submitted: the handler may end the context of the executor.
    const boost::asio::any_completion_executor submitting = std::move(request->executor);
    submitting.execute([request] {
      boost::system::error_code code;
      std::optional<Piece> piece;
      if (request->outcome.has_value()) {
        piece = std::move(*request->outcome);
      } else {
        code = request->outcome.error().code();
      }
      std::move(request->handler)(code, std::move(piece));
    });
  }

  Handler handler;
  Result<std::optional<Piece>> outcome = std::optional<Piece>();
  boost::asio::any_completion_executor executor;  // keeps the executor working until it gets the handler
};

/// One request at a time for the next piece of a stream, of a thread that waits or of an executor.
///
/// `Owner` inherits it and has the pieces. It provides
///
///     bool take_locked(Outcome&) noexcept;  sets an outcome that is available now, counts it in
///                                           `delivered_` and returns true
///     void asked_locked();                  an asynchronous request begins
///     void changed_locked() noexcept;       a request may have begun or ended
///     void handing_over(const Outcome&);    an outcome goes to an executor now; no lock is held
///
/// `Delivered` are facts about the pieces given so far. Copying them must not throw.
/// Threads: all public functions may be called from any thread.
/// Errors:  if memory is short, no piece is lost. A piece comes twice only if its request began
///          while an executor that throws had the piece before it. Only a new request allocates.
template <class Owner, class Piece, class Delivered, class Mutex>
class Requests : public std::enable_shared_from_this<Owner> {
 protected:
  using AsyncRequest = detail::AsyncRequest<Piece>;

 public:
  using Handler = typename detail::AsyncRequest<Piece>::Handler;
  using Outcome = Result<std::optional<Piece>>;

  void async_next(Handler handler) {
    auto request = std::make_shared<AsyncRequest>(std::move(handler));
    std::unique_lock lock(mutex_);
    if (outstanding_locked()) {
      lock.unlock();
      return AsyncRequest::complete(request, busy_);
    }
    owner().asked_locked();
    Delivered before = delivered_;
    if (Outcome outcome; owner().take_locked(outcome)) {
      Completion completion{std::move(request), std::move(outcome), std::move(before), ended_++};
      lock.unlock();
      // Not by `completion_`: another thread might take it and run the executor's code.
      return hand_over(std::move(completion));
    }
    cancel_with(request);
    request_ = std::move(request);
    owner().changed_locked();
  }

  /// Hands an outcome to the executor of its request, if `match_locked` found both. The executor
  /// may run any code, so no lock may be held. If the executor has no memory, the piece counts as
  /// not handed over, the handler is never called, and later requests fail.
  void complete() noexcept {
    if (!has_completion_.load(std::memory_order_relaxed)) return;
    std::unique_lock lock(mutex_);
    std::optional<Completion> completion = std::exchange(completion_, std::nullopt);
    has_completion_ = false;
    lock.unlock();
    if (completion.has_value()) hand_over(std::move(*completion));
  }

  std::optional<Error> error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 protected:
  explicit Requests(Delivered before_the_first = {}) : delivered_(std::move(before_the_first)) {}

  static Error slots_held(std::uint32_t most, const char* what) {
    return Error(Errc::slots_held, "all " + std::to_string(most) + " " + what +
                                       " that the trainer may hold are held; release one, or copy what you keep "
                                       "(in Python array.copy(), tensor.clone()), or raise max_held; outputs of a "
                                       "PyTorch model keep its inputs, except under torch.no_grad()");
  }

  /// Call this when there is a new outcome, and `complete` after it. Wakes the thread that waits
  /// for one, or takes it for the outstanding request.
  void match_locked() noexcept {
    if (std::holds_alternative<Waiting>(request_)) arrived_.notify_one();
    if (std::holds_alternative<std::shared_ptr<AsyncRequest>>(request_)) {
      Delivered before = delivered_;
      if (Outcome outcome; owner().take_locked(outcome)) end_locked(std::move(outcome), std::move(before));
    }
    owner().changed_locked();
  }
  bool requested_locked() const { return !std::holds_alternative<std::monostate>(request_); }
  bool outstanding_locked() const { return requested_locked() || completion_.has_value(); }

  struct Helping {};  // its thread does jobs until there is an outcome
  struct Waiting {};
  // Created early, because memory may be short when they are needed.
  const Error busy_{Errc::busy, "a request for the next batch is already outstanding"};
  const Error stopped_{aborted(), "the reader was stopped"};
  const Error cancelled_{aborted(), "the request was cancelled"};
  mutable Mutex mutex_;
  std::variant<std::monostate, Helping, Waiting, std::shared_ptr<AsyncRequest>> request_;
  std::condition_variable_any arrived_;  // wakes a thread that waits
  std::optional<Error> error_;           // a failure once it was delivered, or the stop
  Delivered delivered_;

 private:
  /// A request, its outcome, and the facts about deliveries before it.
  struct Completion {
    std::shared_ptr<AsyncRequest> request;
    Outcome outcome;
    Delivered before;
    std::uint64_t number = 0;  ///< Asynchronous requests that ended before it.
  };

  static boost::system::error_code aborted() { return boost::asio::error::operation_aborted; }
  Owner& owner() noexcept { return static_cast<Owner&>(*this); }

  void cancel_with(const std::shared_ptr<AsyncRequest>& request) {
    auto slot = boost::asio::get_associated_cancellation_slot(request->handler);
    if (!slot.is_connected()) return;
    slot.assign([weak_owner = this->weak_from_this(), weak = std::weak_ptr(request)](boost::asio::cancellation_type) {
      const std::shared_ptr<Owner> alive = weak_owner.lock();
      if (const std::shared_ptr<AsyncRequest> asked = weak.lock(); alive != nullptr) alive->cancel(asked);
    });
  }
  /// Ends the request with `operation_canceled` if it is outstanding.
  void cancel(const std::shared_ptr<AsyncRequest>& request) {
    {
      const std::lock_guard lock(mutex_);
      auto* const outstanding = std::get_if<std::shared_ptr<AsyncRequest>>(&request_);
      if (outstanding == nullptr || *outstanding != request) return;
      end_locked(cancelled_, delivered_);
      owner().changed_locked();
    }
    complete();
  }
  /// Keeps the outcome of the asynchronous request for `complete`.
  void end_locked(Outcome outcome, Delivered before) noexcept {
    auto& request = std::get<std::shared_ptr<AsyncRequest>>(request_);
    completion_.emplace(Completion{std::move(request), std::move(outcome), std::move(before), ended_++});
    has_completion_ = true;
    request_ = std::monostate();
  }
  void hand_over(Completion completion) noexcept {
    const bool has_piece = completion.outcome.has_value();
    try {
      owner().handing_over(completion.outcome);
      AsyncRequest::complete(completion.request, std::move(completion.outcome));
    } catch (const std::exception& thrown) {
      const Error failure = error_from(thrown);
      {
        const std::lock_guard lock(mutex_);
        if (has_piece && completion.number < first_lost_) {  // executors may throw in any order
          first_lost_ = completion.number;
          delivered_ = std::move(completion.before);
        }
        if (!error_.has_value()) error_ = failure;
        match_locked();  // a request may have been made meanwhile
      }
      complete();
    }
  }

  std::optional<Completion> completion_;   // waits for `complete`
  std::uint64_t ended_ = 0;                // asynchronous requests
  std::uint64_t first_lost_ = UINT64_MAX;  // the first of them whose piece was not handed over
  // A relaxed load outside of the lock sees at least the stores of its own thread. `complete` and
  // `RankReader::kick` need no more. Stores of other threads are hints: the lock is taken after
  // them.
  std::atomic<bool> has_completion_ = false;
};

}  // namespace dovetail::detail
