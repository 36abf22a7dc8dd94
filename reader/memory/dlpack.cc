// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dlpack.h>

#include <dlpack/dlpack.h>

#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "format/try.h"
#include "reader/memory/batch_access.h"
#include "reader/memory/batch_columns.h"

namespace dovetail {

namespace {

/// The rows, and the dimensions of a column.
constexpr std::size_t kMostDimensions = 1 + kMaxColumnDimensions;
using Shape = std::array<std::int64_t, kMostDimensions>;

/// The tensor, and the owners of its bytes.
struct Export {
  DLManagedTensor tensor{};
  Shape shape{};
  Shape strides{};
  std::shared_ptr<const void> batch;  // counts as held by the trainer
  std::shared_ptr<const void> lease;  // keeps the bytes, should the batch be released
};

struct View {
  const void* data = nullptr;
  DLDataType type{};
  int dimensions = 1;
  Shape shape{};
};

constexpr DLDataType kBytes{.code = kDLUInt, .bits = 8, .lanes = 1};
constexpr DLDataType kInt64{.code = kDLInt, .bits = 64, .lanes = 1};

DLDataType type_of(Dtype dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * dtype_bytes(dtype));
  switch (dtype) {
    case Dtype::u8:
    case Dtype::u16:
    case Dtype::u32:
    case Dtype::u64:
    case Dtype::bytes:
      return {.code = kDLUInt, .bits = bits, .lanes = 1};
    case Dtype::i8:
    case Dtype::i16:
    case Dtype::i32:
    case Dtype::i64:
      return {.code = kDLInt, .bits = bits, .lanes = 1};
    case Dtype::f16:
    case Dtype::f32:
    case Dtype::f64:
      break;
  }
  return {.code = kDLFloat, .bits = bits, .lanes = 1};
}

/// The view of a column of a batch whose values begin at `values`.
Result<View> view_of(std::string_view name, ColumnPart part, const std::byte* values,
                     const detail::BatchColumns* columns) {
  const std::optional<std::size_t> i = columns == nullptr ? std::nullopt : columns->schema->find(name);
  if (!i.has_value()) {
    return Error(Errc::invalid_option, columns == nullptr
                                           ? "the batch was read without columns; set ReaderOptions::columns"
                                           : "the batch has no column \"" + std::string(name) + "\"");
  }
  const Column& column = columns->schema->columns[*i];
  const ColumnPlace& place = columns->layout.columns[*i];
  if (part != ColumnPart::values) {
    const ColumnPlace::Part& offsets = part == ColumnPart::offsets ? place.offsets : place.text_offsets;
    if (offsets.bytes == 0) {
      return Error(Errc::invalid_option, "the column \"" + column.name + "\" has no such offsets");
    }
    return View{.data = values + offsets.at,
                .type = kInt64,
                .shape = {static_cast<std::int64_t>(offsets.bytes / sizeof(std::int64_t))}};
  }
  View view{.data = values + place.values.at, .type = type_of(column.dtype)};
  const std::uint64_t item = column.values() * dtype_bytes(column.dtype);
  view.shape[0] = static_cast<std::int64_t>(place.values.bytes / item);
  if (column.dtype == Dtype::bytes) return view;
  for (const std::uint32_t size : column.shape) view.shape[static_cast<std::size_t>(view.dimensions++)] = size;
  return view;
}

Result<View> view_of(BatchPart part, const std::byte* slab, const SlabLayout& layout, std::uint32_t row_count,
                     std::size_t value_bytes, std::size_t row_bytes) {
  const auto count = static_cast<std::int64_t>(row_count);
  const auto bytes = static_cast<std::int64_t>(value_bytes);
  switch (part) {
    case BatchPart::values:
      return View{.data = slab + layout.values, .type = kBytes, .shape = {bytes}};
    case BatchPart::rows:
      if (row_bytes == 0 && value_bytes > 0) {
        return Error(Errc::invalid_option,
                     "the rows of this batch differ in size, or are columns; take values and offsets, or columns");
      }
      return View{.data = slab + layout.values,
                  .type = kBytes,
                  .dimensions = 2,
                  .shape = {count, static_cast<std::int64_t>(row_bytes)}};
    case BatchPart::offsets:
      return View{.data = slab + layout.offsets, .type = kInt64, .shape = {count + 1}};
    case BatchPart::ids:
      return View{.data = slab + layout.ids, .type = kInt64, .shape = {count}};
    case BatchPart::status:
      return View{.data = slab + layout.status, .type = kBytes, .shape = {count}};
  }
  return Error(Errc::invalid_option, "unknown part of a batch");
}

Result<DLManagedTensor*> export_view(std::shared_ptr<const void> batch, std::shared_ptr<const void> lease,
                                     const View& view, DLDevice device) try {
  auto made = std::make_unique<Export>();
  made->batch = std::move(batch);
  made->lease = std::move(lease);
  made->shape = view.shape;
  // The strides of compact memory. Some importers do not accept null instead.
  std::int64_t stride = 1;
  for (auto i = static_cast<std::size_t>(view.dimensions); i-- > 0; stride *= view.shape[i]) made->strides[i] = stride;
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

Result<DLManagedTensor*> export_host(std::shared_ptr<const Batch> batch, const View& view) {
  std::shared_ptr<const void> lease = detail::BatchAccess::lease(*batch);
  return export_view(std::move(batch), std::move(lease), view, DLDevice{.device_type = kDLCPU, .device_id = 0});
}

Result<DLManagedTensor*> export_device(std::shared_ptr<DeviceBatch> batch, const View& view, DeviceStream stream) {
  DOVETAIL_TRY(batch->wait_on(stream));
  const DLDevice device{.device_type = kDLCUDA, .device_id = batch->device()};
  std::shared_ptr<const void> lease = detail::BatchAccess::lease(*batch);
  return export_view(std::move(batch), std::move(lease), view, device);
}

Error released() {
  return Error(Errc::invalid_option, "there is no batch, or it was released");
}

}  // namespace

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, BatchPart part) {
  if (batch == nullptr || batch->rows() == 0) return released();
  DOVETAIL_ASSIGN(const View view, view_of(part, batch->slab().data(), batch->layout(), batch->rows(),
                                           batch->values().size(), detail::row_bytes(*batch)));
  return export_host(std::move(batch), view);
}

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, BatchPart part, DeviceStream stream) {
  if (batch == nullptr || batch->rows() == 0) return released();
  DOVETAIL_ASSIGN(const auto view, view_of(part, batch->slab(), batch->layout(), batch->rows(), batch->value_bytes(),
                                           batch->row_bytes()));
  return export_device(std::move(batch), view, stream);
}

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<const Batch> batch, std::string_view column, ColumnPart part) {
  if (batch == nullptr || batch->rows() == 0) return released();
  DOVETAIL_ASSIGN(const View view, view_of(column, part, batch->values().data(), detail::BatchAccess::columns(*batch)));
  return export_host(std::move(batch), view);
}

Result<DLManagedTensor*> to_dlpack(std::shared_ptr<DeviceBatch> batch, std::string_view column, ColumnPart part,
                                   DeviceStream stream) {
  if (batch == nullptr || batch->rows() == 0) return released();
  DOVETAIL_ASSIGN(const View view, view_of(column, part, batch->values(), detail::BatchAccess::columns(*batch)));
  return export_device(std::move(batch), view, stream);
}

}  // namespace dovetail
