// SPDX-License-Identifier: Apache-2.0
#include <dovetail/device_batch.h>

#include <utility>

#include "reader/memory/batch_columns.h"
#include "reader/memory/device_ring.h"

namespace dovetail {

DeviceBatch::DeviceBatch() = default;
DeviceBatch::~DeviceBatch() {
  detail::DeviceLease::hand_back(std::move(lease_));
}

DeviceBatch::DeviceBatch(DeviceBatch&& other) noexcept {
  *this = std::move(other);
}

DeviceBatch& DeviceBatch::operator=(DeviceBatch&& other) noexcept {
  if (this != &other) {
    detail::DeviceLease::hand_back(std::exchange(lease_, std::move(other.lease_)));
    state_ = std::move(other.state_);
    columns_ = std::move(other.columns_);
    slab_ = std::exchange(other.slab_, nullptr);
    value_bytes_ = std::exchange(other.value_bytes_, 0);
    row_bytes_ = std::exchange(other.row_bytes_, 0);
    step_ = other.step_;
    epoch_ = other.epoch_;
    rows_ = std::exchange(other.rows_, 0);
    valid_ = std::exchange(other.valid_, 0);
  }
  return *this;
}

int DeviceBatch::device() const noexcept {
  return lease_ == nullptr ? -1 : lease_->device();
}

State DeviceBatch::state() const {
  return *state_;
}

const std::int64_t* DeviceBatch::offsets() const noexcept {
  return slab_ == nullptr ? nullptr : reinterpret_cast<const std::int64_t*>(slab_ + layout().offsets);
}

const std::uint64_t* DeviceBatch::ids() const noexcept {
  return slab_ == nullptr ? nullptr : reinterpret_cast<const std::uint64_t*>(slab_ + layout().ids);
}

const RowStatus* DeviceBatch::status() const noexcept {
  return slab_ == nullptr ? nullptr : reinterpret_cast<const RowStatus*>(slab_ + layout().status);
}

const std::byte* DeviceBatch::values() const noexcept {
  return slab_ == nullptr ? nullptr : slab_ + layout().values;
}

const std::byte* DeviceBatch::slab() const noexcept {
  return slab_;
}

const Schema* DeviceBatch::schema() const noexcept {
  return columns_ == nullptr ? nullptr : columns_->schema.get();
}

const ColumnLayout* DeviceBatch::column_layout() const noexcept {
  return columns_ == nullptr ? nullptr : &columns_->layout;
}

DeviceColumn DeviceBatch::column(std::size_t i) const noexcept {
  const ColumnPlace& place = columns_->layout.columns[i];
  const auto offsets_at = [this](const ColumnPlace::Part& part) {
    return part.bytes == 0 ? nullptr : reinterpret_cast<const std::int64_t*>(values() + part.at);
  };
  return {.column = &columns_->schema->columns[i],
          .values = values() + place.values.at,
          .value_bytes = place.values.bytes,
          .offsets = offsets_at(place.offsets),
          .text_offsets = offsets_at(place.text_offsets),
          .texts = place.text_offsets.bytes == 0 ? 0 : place.text_offsets.bytes / sizeof(std::int64_t) - 1};
}

std::optional<DeviceColumn> DeviceBatch::column(std::string_view name) const noexcept {
  if (columns_ == nullptr) return std::nullopt;
  const std::optional<std::size_t> i = columns_->schema->find(name);
  return i.has_value() ? std::optional(column(*i)) : std::nullopt;
}

Result<void> DeviceBatch::wait_on(DeviceStream stream) {
  if (lease_ == nullptr) return Error(Errc::closed, "the batch was released");
  if (lease_->process().forked()) return lease_->process().error();
  return lease_->wait_on(stream);
}

bool DeviceBatch::ready() const noexcept {
  return lease_ != nullptr && !lease_->process().forked() && lease_->ready();
}

void DeviceBatch::release() noexcept {
  detail::DeviceLease::hand_back(std::move(lease_));
  columns_.reset();
  slab_ = nullptr;
  value_bytes_ = 0;
  row_bytes_ = 0;
  rows_ = 0;
  valid_ = 0;
}

}  // namespace dovetail
