// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <dovetail/batch.h>
#include <dovetail/bytes.h>
#include <pybind11/pybind11.h>

#include "format/process_mark.h"

namespace dovetail::python {

/// A batch as Python holds it. Arrays and tensors share it: the slot is refilled when the last of them is gone. Tensors can be
/// written to, those of offsets among them, so these are believed only as far as no byte is read beyond the batch.
class PyBatch {
 public:
  explicit PyBatch(Batch batch)
      : batch_(std::make_shared<Batch>(std::move(batch))), value_bytes_(batch_->values().size()) {}

  /// Errors: `closed` after `release`, and in a forked child, where its bytes need not be.
  const std::shared_ptr<Batch>& get() const;
  Batch* operator->() const { return get().get(); }
  /// Whether that gives no error.
  bool readable() const noexcept { return batch_ != nullptr && !process_.forked(); }
  /// For its arrays. Errors: as above.
  const pybind11::object& owner() const;

  /// Errors: as above.
  ByteView values() const { return {get()->values().data(), value_bytes_}; }
  /// Needs: `i < rows()`. Errors: as above, and `invalid_option` where its offsets are not those of the batch any more.
  ByteView row(std::uint32_t i) const;
  std::size_t value_bytes() const noexcept { return value_bytes_; }

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
  std::size_t value_bytes_;         // as it was read
  detail::ProcessMark process_;
};

}  // namespace dovetail::python
