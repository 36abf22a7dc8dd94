// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <dovetail/batch.h>
#include <pybind11/pybind11.h>

#include "format/process_mark.h"

namespace dovetail::python {

/// A batch as Python holds it. Arrays and tensors share it: the slot is refilled when the last of them is gone.
class PyBatch {
 public:
  explicit PyBatch(Batch batch) : batch_(std::make_shared<Batch>(std::move(batch))) {}

  /// Errors: `closed` after `release`, and in a forked child, where its bytes need not be.
  const std::shared_ptr<Batch>& get() const;
  Batch* operator->() const { return get().get(); }
  /// For its arrays. Errors: as above.
  const pybind11::object& owner() const;

  /// Gives up Python's own share of the slot.
  void release() noexcept {
    batch_.reset();
    owner_ = {};
  }
  /// The same once the work in a stream of the device has run. Errors: `busy` while arrays or tensors of it live.
  void release(DeviceStream stream);

 private:
  std::shared_ptr<Batch> batch_;
  mutable pybind11::object owner_;  // of `arrays.h`, once there was an array
  detail::ProcessMark process_;
};

}  // namespace dovetail::python
