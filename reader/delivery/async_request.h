// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

/// What a request gets that was cancelled, or whose reader was stopped.
inline Error cancelled(const char* detail) {
  return Error(boost::system::error_code(boost::asio::error::operation_aborted), detail);
}

/// An outstanding `async_next`: where its outcome goes, and on which executor. Lives on the heap: assigning to an
/// any_completion_handler recurses without end in Asio 1.26. Needs: a handler from `never_inside`.
template <class Piece>
struct AsyncRequest {
  using Handler = boost::asio::any_completion_handler<void(boost::system::error_code, std::optional<Piece>)>;

  explicit AsyncRequest(Handler from)
      : handler(std::move(from)),
        executor(boost::asio::prefer(boost::asio::get_associated_executor(
                                         handler, boost::asio::any_completion_executor(boost::asio::system_executor())),
                                     boost::asio::execution::outstanding_work.tracked)) {}

  /// Has the handler called with the outcome, on its executor, later.
  static void complete(std::unique_ptr<AsyncRequest> request, Result<std::optional<Piece>> outcome) {
    boost::system::error_code code;
    std::optional<Piece> piece;
    if (outcome.has_value()) {
      piece = std::move(*outcome);
    } else {
      code = outcome.error().code();
    }
    const boost::asio::any_completion_executor executor = std::move(request->executor);
    executor.execute([handler = std::move(request->handler), code, piece = std::move(piece)]() mutable {
      std::move(handler)(code, std::move(piece));
    });
  }

  Handler handler;
  boost::asio::any_completion_executor executor;  // keeps the executor working until the handler has run
  std::uint64_t ticket = 0;                       // by which it is cancelled
};

}  // namespace dovetail::detail
