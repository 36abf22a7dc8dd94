// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <dovetail/batch.h>
#include <dovetail/bytes.h>
#include <pybind11/pybind11.h>

#include "format/process_mark.h"
#include "python/src/gil.h"

namespace dovetail::python {

/// A batch in Python. Arrays and tensors share it: the slot is refilled after the last of them is
/// gone. Tensors can be written to, also that of the offsets. So offsets are trusted only as far as
/// no byte outside the batch is read.
class PyBatch {
 public:
  /// Without a batch, as after `release`, but with the memory that `take` needs.
  PyBatch() : room_(std::make_shared<std::optional<Batch>>()) {}
  /// Call this once.
  void take(Batch batch) noexcept {
    room_->emplace(std::move(batch));
    Batch& taken = **room_;
    batch_ = {std::move(room_), &taken};
    value_bytes_ = batch_->values().size();
  }

  /// Errors: `closed` after `release`, and in a forked child, which may not have the bytes.
  const std::shared_ptr<Batch>& get() const;
  Batch* operator->() const { return get().get(); }
  /// Whether `get` succeeds.
  bool readable() const noexcept { return batch_ != nullptr && !process_.forked(); }
  /// The owner of the batch's arrays. Errors: those of `get`.
  const pybind11::object& owner() const;

  /// Errors: those of `get`.
  ByteView values() const { return {get()->values().data(), value_bytes_}; }
  /// Needs: `i < rows()`. Errors: those of `get`; `invalid_option` if the offsets were overwritten.
  ByteView row(std::uint32_t i) const;
  std::size_t value_bytes() const noexcept { return value_bytes_; }

  /// The list of what the function of the reader returned for each row; null unless it was asked
  /// for. Not in the slot, so it outlives `release`.
  UserObject objects;
  // For the cyclic garbage collector.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(objects.ptr());
    return 0;
  }
  void clear() { objects.reset(); }

  /// Releases Python's own share of the slot.
  void release() noexcept {
    batch_.reset();
    owner_ = {};
  }
  /// Releases the slot once all work in a stream of the device has run. Errors: `busy` while arrays
  /// or tensors of the batch exist.
  void release(DeviceStream stream);

 private:
  std::shared_ptr<std::optional<Batch>> room_;  // until a batch is taken
  std::shared_ptr<Batch> batch_;
  mutable pybind11::object owner_;  // see `owner_of`; set with the first array
  std::size_t value_bytes_ = 0;     // before any write by the trainer
  detail::ProcessMark process_;
};

}  // namespace dovetail::python
