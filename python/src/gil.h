// SPDX-License-Identifier: Apache-2.0
// The interpreter lock, safe at the end of the interpreter. Once it ends, CPython ends whatever other thread asks for the
// lock by pthread_exit, which unwinds its stack without the lock and aborts the process at the first destructor that may
// not throw. Such threads, which are daemons, stay where they are instead until the process has ended.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <optional>

#include <pybind11/pybind11.h>

namespace dovetail::python {

[[noreturn]] inline void park_thread() {
  for (;;) ::pause();
}

/// Makes a call that may run Python's own code, which gives the lock up now and then.
template <class Call>
auto call_python(Call call) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    park_thread();
  }
}

/// Gives the interpreter lock up for its scope.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      park_thread();
    }
  }

 private:
  PyThreadState* state_;
};

/// Takes the interpreter lock for its scope, on any thread.
class Locked {
 public:
  Locked() {
    try {
      acquired_.emplace();
    } catch (const abi::__forced_unwind&) {
      park_thread();
    }
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() = default;

 private:
  std::optional<pybind11::gil_scoped_acquire> acquired_;
};

}  // namespace dovetail::python
