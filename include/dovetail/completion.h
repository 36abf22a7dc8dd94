// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/system_executor.hpp>

namespace dovetail::detail {

/// Binds the handler to its executor in the form that never runs a function inside the call that
/// submits it.
///
/// This must be requested before the handler's type is erased, because `any_completion_executor`
/// has no such form. Asio's system executor and that of an io_context would run a handler at once,
/// on a thread of the reader or inside `async_next`.
template <class Handler>
auto never_inside(Handler handler) {
  namespace asio = boost::asio;
  const auto executor = asio::get_associated_executor(handler);
  using Executor = std::remove_const_t<decltype(executor)>;
  if constexpr (asio::can_require_v<Executor, asio::execution::blocking_t::never_t>) {
    return asio::bind_executor(asio::require(executor, asio::execution::blocking.never), std::move(handler));
  } else {
    // Already erased: goes through a thread of Asio's system executor, which submits to the
    // handler's own executor.
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto detour = [handler = std::move(handler),
                   working =
                       asio::prefer(executor, asio::execution::outstanding_work.tracked)](auto... results) mutable {
      working.execute([handler = std::move(handler), ... results = std::move(results)]() mutable {
        std::move(handler)(std::move(results)...);
      });
    };
    return asio::bind_cancellation_slot(
        std::move(slot), asio::bind_executor(asio::require(asio::system_executor(), asio::execution::blocking.never),
                                             std::move(detour)));
  }
}

}  // namespace dovetail::detail
