// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include <pybind11/pybind11.h>

#include "python/src/gil.h"

namespace dovetail::python {

/// Does long work on another thread, without the interpreter lock, and handles signals on this one.
/// If a signal handler raises, as that of Ctrl-C does, `cancel` becomes true. The exception is
/// raised again after the work has ended.
template <class Work>
auto run_interruptibly(Work work) {
  std::atomic<bool> cancel = false;
  auto done = std::async(std::launch::async, [&] { return work(std::as_const(cancel)); });
  std::optional<pybind11::error_already_set> raised;
  for (;;) {
    {
      const Unlocked unlocked;
      if (done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (raised.has_value() || call_python(PyErr_CheckSignals) == 0) continue;
    raised.emplace();
    cancel = true;
  }
  auto result = done.get();
  if (raised.has_value()) throw std::move(*raised);
  return std::move(result).value();
}

}  // namespace dovetail::python
