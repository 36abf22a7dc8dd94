// SPDX-License-Identifier: Apache-2.0
// Objects that the cyclic garbage collector sees through.
#pragma once

#include <pybind11/pybind11.h>

namespace dovetail::python {

/// The object of pybind11 as `T`. Null while it is being constructed.
template <class T>
T* made(PyObject* self) {
  auto* const instance = reinterpret_cast<pybind11::detail::instance*>(self);
  if (!instance->simple_layout) return nullptr;
  const auto held = instance->get_value_and_holder();
  return held.holder_constructed() ? held.value_ptr<T>() : nullptr;
}

/// For `custom_type_setup` of a class whose objects refer to others, which may refer to them. `T`
/// has `traverse` and `clear`. If it has `finalize`, this is called before the collector clears any
/// object that is garbage too.
template <class T>
void see_through(PyHeapTypeObject* heap_type) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    const T* const object = made<T>(self);
    return object == nullptr ? 0 : object->traverse(visit, arg);
  };
  // pybind11 2.10 leaves the object tracked by the garbage collector while its destructor runs.
  type.tp_dealloc = [](PyObject* self) {
    PyObject_GC_UnTrack(self);
    pybind11::detail::pybind11_object_dealloc(self);
  };
  if constexpr (requires(T & object) { object.finalize(); }) {
    type.tp_finalize = [](PyObject* self) {
      if (T* const object = made<T>(self)) object->finalize();
    };
  }
  type.tp_clear = [](PyObject* self) {
    if (T* const object = made<T>(self)) object->clear();
    return 0;
  };
}

}  // namespace dovetail::python
