// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>

#include <boost/asio/execution.hpp>

namespace dovetail::test {

/// An executor that has no memory for what it is given.
struct StarvedExecutor {
  template <class Function>
  void execute(Function /*function*/) const {
    throw std::bad_alloc();
  }
  StarvedExecutor require(boost::asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }
  bool operator==(const StarvedExecutor&) const noexcept { return true; }
  bool operator!=(const StarvedExecutor&) const noexcept { return false; }
};

}  // namespace dovetail::test
