// SPDX-License-Identifier: Apache-2.0
// Errors for calls that fit no signature. pybind11 reports such calls with signatures in its own
// notation, which cannot be changed. So all bound functions are called through `call` below, which
// costs a jump. Also rejects objects whose constructor was not called, for which pybind11 would end
// the process.
#include <cstddef>
#include <unordered_map>

#include "python/src/bindings.h"
#include "python/src/gil.h"

namespace dovetail::python {

namespace {

struct Bound {
  py::handle function;
  py::handle owner;  // the function's class, or None
};

struct Calls {
  PyCFunctionWithKeywords entry = nullptr;  // of pybind11, for all its functions
  // By the `self` that the entry gets. The functions are never freed.
  std::unordered_map<PyObject*, Bound> functions;

  static Calls& get() {
    static auto* const calls = new Calls();
    return *calls;
  }
};

PyCFunctionWithKeywords with_keywords(PyCFunction entry) {
  return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(entry));
}

PyMethodDef& definition(py::handle function) {
  return *reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
}

/// Replaces the raised exception by one that explains what is wrong with the arguments, if that is
/// known.
void explain(const Bound& bound, py::handle given, PyObject* named) {
  py::error_already_set raised;
  try {
    const py::object names = named == nullptr ? py::dict() : py::reinterpret_borrow<py::object>(named);
    const py::object misfit = import_module("dovetail._names").attr("misfit");
    const py::object why = call_object(misfit, bound.function, bound.owner, given, names);
    if (why.is_none()) {
      raised.restore();
    } else {
      PyErr_SetObject(PyExc_TypeError, why.ptr());
    }
  } catch (py::error_already_set&) {
    raised.restore();  // the signature has the notation of another version of pybind11
  }
}

PyObject* call(PyObject* self, PyObject* given, PyObject* named) {
  const Calls& calls = Calls::get();
  PyObject* const result = calls.entry(self, given, named);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    explain(calls.functions.at(self), given, named);
  }
  return result;
}

void enter(py::handle scope, py::handle owner) {
  Calls& calls = Calls::get();
  for (const auto& [name, value] : py::dict(scope.attr("__dict__"))) {
    // For a method, the function.
    const py::object function = py::getattr(value, "__func__", value);
    if (PyCFunction_Check(function.ptr()) == 0 || with_keywords(definition(function).ml_meth) != calls.entry) continue;
    definition(function).ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
    calls.functions[PyCFunction_GET_SELF(function.ptr())] = {function.inc_ref(), owner};
  }
}

/// pybind11 allocates memory for an object that has none, because only `__new__` was called, and
/// would not initialise it.
void* refuse_empty(std::size_t) {
  throw py::type_error("this object of dovetail was never initialised; call its class, not only __new__");
}

}  // namespace

void explain_misfits(const py::module_& module) {
  Calls::get().entry = with_keywords(definition(py::cpp_function([] {})).ml_meth);
  enter(module, py::none().release());
  const py::object names = import_module("dovetail._names");
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) == 0) continue;
    enter(value, value.inc_ref());
    py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()))->operator_new = refuse_empty;
    call_object(names.attr("refuse_by_hand"), value);
  }
}

}  // namespace dovetail::python
