// SPDX-License-Identifier: Apache-2.0
#include "reader/memory/slot_ring.h"

#include <utility>

namespace dovetail::detail {

Result<std::shared_ptr<SlotRing>> SlotRing::make(std::uint32_t slots, std::size_t slot_bytes, Registration mode,
                                                 bool huge_pages) {
  if (slots == 0 || slot_bytes > SIZE_MAX / slots) return Error(Errc::invalid_option, "slots beyond the address space");
  Result<HostMemory> memory = HostMemory::make(slots * slot_bytes, mode, huge_pages);
  if (!memory.has_value()) return memory.error();
  return std::shared_ptr<SlotRing>(new SlotRing(std::move(*memory), slots, slot_bytes));
}

SlotRing::SlotRing(HostMemory memory, std::uint32_t slots, std::size_t slot_bytes)
    : memory_(std::move(memory)), slots_(slots), slot_bytes_(slot_bytes) {
  for (std::uint32_t slot = slots; slot > 0; --slot) free_.push_back(slot - 1);
  slot_notes_.resize(slots);
  free_slots_ = slots;
}

std::shared_ptr<SlotLease> SlotRing::acquire() {
  if (!has_free()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  const std::uint32_t slot = free_.back();
  auto lease =
      std::make_shared<SlotLease>(shared_from_this(), slot, memory_.bytes().subspan(slot * slot_bytes_, slot_bytes_));
  free_.pop_back();
  --free_slots_;
  return lease;
}

Result<std::shared_ptr<SlotLease>> SlotRing::spill(const std::shared_ptr<SlotLease>& slot, std::size_t bytes) {
  Result<HostMemory> memory = HostMemory::make(bytes, Registration::off);
  if (!memory.has_value()) return memory.error();
  return std::make_shared<SlotLease>(shared_from_this(), std::move(*memory), slot->spilled() ? slot->replaced_ : slot);
}

void SlotRing::on_release(std::function<void()> callback) {
  const std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void SlotRing::release(std::int64_t slot) {
  if (slot >= 0) {
    const std::lock_guard lock(mutex_);
    free_.push_back(static_cast<std::uint32_t>(slot));
    ++free_slots_;
  }
  const std::lock_guard lock(callback_mutex_);
  if (callback_) callback_();
}

SlotLease::SlotLease(std::shared_ptr<SlotRing> ring, std::uint32_t slot, std::span<std::byte> bytes)
    : ring_(std::move(ring)), slot_(slot), bytes_(bytes) {}

SlotLease::SlotLease(std::shared_ptr<SlotRing> ring, HostMemory spilled, std::shared_ptr<SlotLease> slot)
    : ring_(std::move(ring)),
      slot_(-1),
      spilled_(std::move(spilled)),
      replaced_(std::move(slot)),
      bytes_(spilled_.bytes()) {}

SlotLease::~SlotLease() {
  ring_->release(slot_);
}

void SlotLease::hand_back(std::shared_ptr<SlotLease> lease) noexcept {
  if (lease != nullptr) --lease->ring_->held_;
}

Batch SlotLease::to_batch(std::shared_ptr<SlotLease> lease, std::size_t slab_at, std::shared_ptr<const State> origin,
                          std::uint64_t step, std::uint32_t rows, std::uint32_t valid) {
  ++lease->ring_->held_;
  Batch batch;
  batch.slab_ = lease->bytes_.data() + slab_at;
  batch.epoch_ = origin->epoch;
  batch.origin_ = std::move(origin);
  batch.step_ = step;
  batch.rows_ = rows;
  batch.valid_ = valid;
  batch.lease_ = std::move(lease);
  return batch;
}

}  // namespace dovetail::detail
