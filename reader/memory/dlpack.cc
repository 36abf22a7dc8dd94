// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dlpack.h>

#include <dlpack/dlpack.h>

#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "reader/memory/batch_access.h"

namespace dovetail {

namespace {

/// The tensor, and what keeps its bytes.
struct Export {
  DLManagedTensor tensor{};
  std::array<std::int64_t, 2> shape{};
  std::array<std::int64_t, 2> strides{};
  std::shared_ptr<const void> batch;  // counts as held,
  std::shared_ptr<const void> lease;  // and this keeps the bytes, should somebody release it
};

struct View {
  const void* data = nullptr;
  DLDataType type{};
  int dimensions = 1;
  std::array<std::int64_t, 2> shape{};
};

constexpr DLDataType kBytes{.code = kDLUInt, .bits = 8, .lanes = 1};
constexpr DLDataType kInt64{.code = kDLInt, .bits = 64, .lanes = 1};

Result<View> view_of(BatchPart part, const std::byte* slab, const SlabLayout& layout, std::uint32_t row_count,
                     std::size_t value_bytes, std::size_t row_bytes) {
  const auto count = static_cast<std::int64_t>(row_count);
  const auto bytes = static_cast<std::int64_t>(value_bytes);
  switch (part) {
    case BatchPart::values:
      return View{.data = slab + layout.values, .type = kBytes, .shape = {bytes, 0}};
    case BatchPart::rows:
      if (row_bytes == 0 && value_bytes > 0) {
        return Error(Errc::invalid_option, "the rows of this batch differ in size: take values and offsets");
      }
      return View{.data = slab + layout.values,
                  .type = kBytes,
                  .dimensions = 2,
                  .shape = {count, static_cast<std::int64_t>(row_bytes)}};
    case BatchPart::offsets:
      return View{.data = slab + layout.offsets, .type = kInt64, .shape = {count + 1, 0}};
    case BatchPart::ids:
      return View{.data = slab + layout.ids, .type = kInt64, .shape = {count, 0}};
    case BatchPart::status:
      return View{.data = slab + layout.status, .type = kBytes, .shape = {count, 0}};
  }
  return Error(Errc::invalid_option, "no such part of a batch");
}

Result<DLManagedTensor*> export_view(std::shared_ptr<const void> batch, std::shared_ptr<const void> lease,
                                     const View& view, DLDevice device) try {
  auto made = std::make_unique<Export>();
  made->batch = std::move(batch);
  made->lease = std::move(lease);
  made->shape = view.shape;
  // Compact; some importers take no null for that.
  made->strides = {view.dimensions == 2 ? view.shape[1] : 1, 1};
  made->tensor.dl_tensor = {.data = const_cast<void*>(view.data),
                            .device = device,
                            .ndim = view.dimensions,
                            .dtype = view.type,
                            .shape = made->shape.data(),
                            .strides = made->strides.data(),
                            .byte_offset = 0};
  made->tensor.manager_ctx = made.get();
  made->tensor.deleter = [](DLManagedTensor* tensor) { delete static_cast<Export*>(tensor->manager_ctx); };
  return &made.release()->tensor;
} catch (const std::exception& failure) {
  return Error::from_errno(ENOMEM, failure.what());
}

Error released() {
  return Error(Errc::invalid_option, "there is no batch, or it was released");
}

}  // namespace

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, BatchPart part) {
  if (batch == nullptr || batch->rows() == 0) return released();
  const Result<View> view = view_of(part, batch->slab().data(), batch->layout(), batch->rows(), batch->values().size(),
                                    detail::row_bytes(*batch));
  if (!view.has_value()) return view.error();
  std::shared_ptr<const void> lease = detail::BatchAccess::lease(*batch);
  return export_view(std::move(batch), std::move(lease), *view, DLDevice{.device_type = kDLCPU, .device_id = 0});
}

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, BatchPart part, DeviceStream stream) {
  if (batch == nullptr || batch->rows() == 0) return released();
  const Result<View> view =
      view_of(part, batch->slab(), batch->layout(), batch->rows(), batch->value_bytes(), batch->row_bytes());
  if (!view.has_value()) return view.error();
  if (Result<void> waits = batch->wait_on(stream); !waits.has_value()) return waits.error();
  const DLDevice device{.device_type = kDLCUDA, .device_id = batch->device()};
  std::shared_ptr<const void> lease = detail::BatchAccess::lease(*batch);
  return export_view(std::move(batch), std::move(lease), *view, device);
}

}  // namespace dovetail
