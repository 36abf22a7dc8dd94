// SPDX-License-Identifier: Apache-2.0
// The interpreter lock, safe at the end of the interpreter.
//
// While the interpreter ends, CPython ends every other thread that asks for the lock, by
// pthread_exit. This unwinds the thread's stack without the lock. Destructors on the way would
// release Python objects without the lock, and unwinding through a noexcept function aborts the
// process. So such threads, which are daemons, are parked until the process ends.
//
// Therefore no object with a destructor may exist between a call that may wait for the lock and its
// `ParkingPlace`. Use `call_python` for functions that may run Python code, and `Unlocked` and
// `Locked` otherwise.
//
// pybind11's `gil_scoped_release` takes the lock in its destructor, which is noexcept. The unwinding
// begins there and aborts the process before it reaches any `ParkingPlace`. So use nothing of
// pybind11 that releases the lock. The first call of its table of NumPy's functions does; see
// `need_numpy`.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
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

/// Parks a thread that CPython unwinds through this scope. A catch clause for the unwinding would
/// abort the process if another exception is being handled at the same time, as in the translation
/// to Python's exceptions.
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
  int exceptions_ = std::uncaught_exceptions();  // so that thrown exceptions may pass
  bool passed_ = false;
};

/// Calls a function of CPython that may run Python code, which may release and retake the lock.
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

/// The result of Python's `callable(arguments...)`. Throws the exception that the call raises.
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

/// Clears an exception of these types, which objects of another kind than expected raise and which a
/// clearer one replaces. Throws any other exception unchanged. Needs: an exception is set.
inline void forget_error(std::initializer_list<PyObject*> types) {
  const auto matches = [](PyObject* type) { return PyErr_ExceptionMatches(type) != 0; };
  if (std::none_of(types.begin(), types.end(), matches)) throw pybind11::error_already_set();
  call_python(PyErr_Clear);
}

/// The attribute of an object, or null if it has none. Throws what its code raises, which
/// `pybind11::hasattr` hides.
inline pybind11::object find_attribute(pybind11::handle object, const char* name) {
  auto found = pybind11::reinterpret_steal<pybind11::object>(call_python(PyObject_GetAttrString, object.ptr(), name));
  if (!found) forget_error({PyExc_AttributeError});
  return found;
}

/// An object of the user, whose destruction may run Python code.
class UserObject : public pybind11::object {
 public:
  UserObject() = default;
  UserObject(pybind11::object from) : pybind11::object(std::move(from)) {}  // NOLINT(google-explicit-constructor)
  UserObject(const UserObject&) = default;
  UserObject(UserObject&&) noexcept = default;
  UserObject& operator=(UserObject other) noexcept {
    std::swap(m_ptr, other.m_ptr);
    return *this;
  }
  ~UserObject() { reset(); }
  void reset() { call_python(Py_DecRef, release().ptr()); }
};

/// Makes an object of a class of the package from its fields by name.
inline pybind11::object make_object(const char* module, const char* type, const pybind11::dict& fields) {
  const pybind11::object made_by = import_module(module).attr(type);
  auto object = pybind11::reinterpret_steal<pybind11::object>(
      call_python(PyObject_Call, made_by.ptr(), pybind11::tuple().ptr(), fields.ptr()));
  if (!object) throw pybind11::error_already_set();
  return object;
}

/// Releases the interpreter lock for its scope.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { call_python(PyEval_RestoreThread, state_); }

 private:
  PyThreadState* state_;
};

/// A use of Python's state of this thread, with the interpreter lock. Creates the state if Python
/// has none.
class ThreadUse {
 public:
  ThreadUse() : created_(PyGILState_GetThisThreadState() == nullptr), before_(take_lock(created_)) {}
  /// Needs: the lock is held.
  void end() noexcept {
#if PY_VERSION_HEX < 0x030D0000
    // The release clears the state, with the values of `threading.local` and of context variables.
    // Python 3.11 crashes if the destructor of one takes the lock meanwhile, so clear it before.
    if (created_) call_python(PyThreadState_Clear, PyThreadState_Get());
#endif
    call_python(PyGILState_Release, before_);
  }

 private:
  /// Since 3.14 CPython stops only threads whose state is older than the end of the interpreter. A
  /// thread with a new state would go on with objects that are gone.
  static PyGILState_STATE take_lock(bool creates) {
    if (creates && interpreter_ends()) park_thread();
    const PyGILState_STATE before = call_python(PyGILState_Ensure);
    if (creates && interpreter_ends()) {
      PyEval_SaveThread();  // the ending thread may wait for the lock
      park_thread();
    }
    return before;
  }

  bool created_;
  PyGILState_STATE before_;
};

/// Takes the interpreter lock for its scope, on any thread.
class Locked {
 public:
  Locked() = default;
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { thread_.end(); }

 private:
  ThreadUse thread_;
};

}  // namespace dovetail::python
