// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

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

namespace dovetail::detail {

/// The error of a cancelled request, or of one whose reader was stopped.
inline Error cancelled(const char* detail) {
  return Error(boost::system::error_code(boost::asio::error::operation_aborted), detail);
}

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

  /// Has `owner->cancel(request)` called when the caller cancels the request.
  template <class Owner>
  static void on_cancel(const std::shared_ptr<AsyncRequest>& request, std::weak_ptr<Owner> owner) {
    auto slot = boost::asio::get_associated_cancellation_slot(request->handler);
    if (!slot.is_connected()) return;
    slot.assign([owner = std::move(owner), weak = std::weak_ptr(request)](boost::asio::cancellation_type) {
      const std::shared_ptr<Owner> alive = owner.lock();
      if (const std::shared_ptr<AsyncRequest> asked = weak.lock(); alive != nullptr) alive->cancel(asked);
    });
  }

  Handler handler;
  Result<std::optional<Piece>> outcome = std::optional<Piece>();
  boost::asio::any_completion_executor executor;  // keeps the executor working until it gets the handler
};

}  // namespace dovetail::detail
