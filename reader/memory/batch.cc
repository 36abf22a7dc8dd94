// SPDX-License-Identifier: Apache-2.0
#include <dovetail/batch.h>

#include <utility>

#include "format/try.h"
#include "reader/memory/batch_columns.h"
#include "reader/memory/slot_ring.h"

namespace dovetail {

Batch::Batch() = default;
Batch::~Batch() {
  if (lease_ != nullptr) detail::SlotLease::hand_back(std::move(lease_));
}

Batch::Batch(Batch&& other) noexcept {
  *this = std::move(other);
}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this != &other) {
    detail::SlotLease::hand_back(std::exchange(lease_, std::move(other.lease_)));
    origin_ = std::move(other.origin_);
    columns_ = std::exchange(other.columns_, nullptr);
    slab_ = std::exchange(other.slab_, nullptr);
    step_ = other.step_;
    epoch_ = other.epoch_;
    rows_ = std::exchange(other.rows_, 0);
    valid_ = std::exchange(other.valid_, 0);
  }
  return *this;
}

State Batch::state() const {
  State state = lease_ != nullptr ? *lease_->origin() : *origin_;
  state.phases.back().steps += step_ + 1 - state.position().step;
  return state;
}

ByteView Batch::values() const noexcept {
  if (slab_ == nullptr) return {};
  return {slab_ + layout().values,
          columns_ != nullptr ? columns_->layout.bytes : static_cast<std::size_t>(offsets()[rows_])};
}

const Schema* Batch::schema() const noexcept {
  return columns_ == nullptr ? nullptr : columns_->schema.get();
}

const ColumnLayout* Batch::column_layout() const noexcept {
  return columns_ == nullptr ? nullptr : &columns_->layout;
}

ColumnView Batch::column(std::size_t i) const noexcept {
  return view_column(*columns_->schema, columns_->layout, values(), i);
}

std::optional<ColumnView> Batch::column(std::string_view name) const noexcept {
  if (columns_ == nullptr) return std::nullopt;
  const std::optional<std::size_t> i = columns_->schema->find(name);
  return i.has_value() ? std::optional(column(*i)) : std::nullopt;
}

ByteView Batch::slab() const noexcept {
  if (slab_ == nullptr) return {};
  return {slab_, layout().values + values().size()};
}

bool Batch::registered() const noexcept {
  return lease_ != nullptr && lease_->registered();
}

Result<void> Batch::release(DeviceStream stream) {
  if (lease_ != nullptr) {
    DOVETAIL_TRY(lease_->wait_for(stream));
  }
  release();
  return {};
}

void Batch::release() noexcept {
  if (lease_ != nullptr) origin_ = lease_->origin();  // the caller may still ask for the state
  detail::SlotLease::hand_back(std::move(lease_));
  columns_ = nullptr;
  slab_ = nullptr;
  rows_ = 0;
  valid_ = 0;
}

}  // namespace dovetail
