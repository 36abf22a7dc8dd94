// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <utility>

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

/// Calls a function first.
struct StarvedAfterACall : StarvedExecutor {
  template <class Function>
  void execute(Function function) const {
    (*call)();
    StarvedExecutor::execute(std::move(function));
  }
  StarvedAfterACall require(boost::asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }

  const std::function<void()>* call;
};

/// Calls a function when the text of its exception is asked for.
struct StarvedWithQuestion : StarvedExecutor {
  struct OutOfMemory : std::bad_alloc {
    explicit OutOfMemory(const std::function<void()>* called) : call(called) {}
    const char* what() const noexcept override {
      (*call)();
      return "no memory";
    }
    const std::function<void()>* call;
  };
  template <class Function>
  void execute(Function /*function*/) const {
    throw OutOfMemory(call);
  }
  StarvedWithQuestion require(boost::asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }

  const std::function<void()>* call;
};

/// Takes what it is given all the same, for the test to call.
struct StarvedTooLate : StarvedExecutor {
  template <class Function>
  void execute(Function function) const {
    *taken = [owned = std::make_shared<Function>(std::move(function))] { std::move (*owned)(); };
    throw std::bad_alloc();
  }
  StarvedTooLate require(boost::asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking.never;
  }

  std::function<void()>* taken;
};

}  // namespace dovetail::test
