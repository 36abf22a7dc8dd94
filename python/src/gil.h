// SPDX-License-Identifier: Apache-2.0
// The interpreter lock, safe at the end of the interpreter. Once it ends, CPython ends whatever other thread asks for the
// lock by pthread_exit, which unwinds its stack without the lock: destructors on the way give up objects that are not
// theirs to touch any more, and the process is aborted at the first one that may not throw. Such threads, which are daemons,
// stay where they are instead until the process has ended. So whatever may wait for the lock is called with nothing to
// destroy in between: by `call_python` what may run Python's own code, by `Unlocked` and `Locked` the rest.
#pragma once

#include <unistd.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <pybind11/pybind11.h>

namespace dovetail::python {

inline bool interpreter_ends() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

[[noreturn]] inline void park_thread() {
  for (;;) ::pause();
}

/// Parks a thread that CPython unwinds through its scope. A handler of its own for that would end the process where another
/// exception is being handled, as it is while it is translated into Python's: unwinding cannot be caught on top of that.
class ParkingPlace {
 public:
  ParkingPlace() = default;
  ParkingPlace(const ParkingPlace&) = delete;
  ParkingPlace& operator=(const ParkingPlace&) = delete;
  ~ParkingPlace() {
    if (!passed_ && std::uncaught_exceptions() == exceptions_) park_thread();
  }
  void pass() noexcept { passed_ = true; }

 private:
  int exceptions_ = std::uncaught_exceptions();  // those that are thrown pass as well
  bool passed_ = false;
};

/// Calls a function of CPython that may run Python's own code, which gives the lock up now and then.
template <class Result, class... Parameters>
Result call_python(Result (*function)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  ParkingPlace place;
  if constexpr (std::is_void_v<Result>) {
    function(arguments...);
    place.pass();
  } else {
    const Result result = function(arguments...);
    place.pass();
    return result;
  }
}

/// What Python's `callable(arguments...)` returns. Throws what it raises.
template <class... Arguments>
pybind11::object call_object(pybind11::handle callable, Arguments&&... arguments) {
  const pybind11::tuple given = pybind11::make_tuple(std::forward<Arguments>(arguments)...);
  auto result =
      pybind11::reinterpret_steal<pybind11::object>(call_python(PyObject_CallObject, callable.ptr(), given.ptr()));
  if (!result) throw pybind11::error_already_set();
  return result;
}

inline pybind11::object import_module(const char* name) {
  auto module = pybind11::reinterpret_steal<pybind11::object>(call_python(PyImport_ImportModule, name));
  if (!module) throw pybind11::error_already_set();
  return module;
}

/// Gives the interpreter lock up for its scope.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { call_python(PyEval_RestoreThread, state_); }

 private:
  PyThreadState* state_;
};

/// Takes the interpreter lock for its scope, on any thread.
class Locked {
 public:
  Locked() {
    ParkingPlace place;
    acquired_.emplace();
    place.pass();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() = default;

 private:
  std::optional<pybind11::gil_scoped_acquire> acquired_;
};

}  // namespace dovetail::python
