// SPDX-License-Identifier: Apache-2.0
#include <dovetail/batch.h>

#include <utility>

#include "reader/memory/slot_ring.h"

namespace dovetail {

Batch::Batch() = default;
Batch::~Batch() {
  detail::SlotLease::hand_back(std::move(lease_));
}

Batch::Batch(Batch&& other) noexcept
    : lease_(std::move(other.lease_)),
      origin_(std::move(other.origin_)),
      slab_(std::exchange(other.slab_, nullptr)),
      step_(other.step_),
      epoch_(other.epoch_),
      rows_(std::exchange(other.rows_, 0)),
      valid_(std::exchange(other.valid_, 0)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this != &other) {
    detail::SlotLease::hand_back(std::exchange(lease_, std::move(other.lease_)));
    origin_ = std::move(other.origin_);
    slab_ = std::exchange(other.slab_, nullptr);
    step_ = other.step_;
    epoch_ = other.epoch_;
    rows_ = std::exchange(other.rows_, 0);
    valid_ = std::exchange(other.valid_, 0);
  }
  return *this;
}

State Batch::state() const {
  State state = *origin_;
  state.phases.back().steps += step_ + 1 - state.position().step;
  return state;
}

std::span<const std::int64_t> Batch::offsets() const noexcept {
  if (slab_ == nullptr) return {};
  return {reinterpret_cast<const std::int64_t*>(slab_ + layout().offsets), std::size_t{rows_} + 1};
}

std::span<const std::uint64_t> Batch::ids() const noexcept {
  if (slab_ == nullptr) return {};
  return {reinterpret_cast<const std::uint64_t*>(slab_ + layout().ids), rows_};
}

std::span<const RowStatus> Batch::status() const noexcept {
  if (slab_ == nullptr) return {};
  return {reinterpret_cast<const RowStatus*>(slab_ + layout().status), rows_};
}

ByteView Batch::values() const noexcept {
  if (slab_ == nullptr) return {};
  return {slab_ + layout().values, static_cast<std::size_t>(offsets()[rows_])};
}

ByteView Batch::row(std::uint32_t i) const noexcept {
  const std::span<const std::int64_t> ends = offsets();
  return {slab_ + layout().values + ends[i], static_cast<std::size_t>(ends[i + 1] - ends[i])};
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
    if (Result<void> waits = lease_->wait_for(stream); !waits.has_value()) return waits;
  }
  release();
  return {};
}

void Batch::release() noexcept {
  detail::SlotLease::hand_back(std::move(lease_));
  slab_ = nullptr;
  rows_ = 0;
  valid_ = 0;
}

}  // namespace dovetail
