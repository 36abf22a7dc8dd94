// SPDX-License-Identifier: Apache-2.0
#include "reader/features/known_features.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace dovetail::detail {
namespace {

// Memory of a name and a state beside their bytes: nodes of the map, and the overhead of the
// allocator.
constexpr std::uint64_t kNameCharge = sizeof(KnownFeature) + 136;
constexpr std::uint64_t kStateCharge = sizeof(FeatureState) + 16;

}  // namespace

KnownFeature* KnownFeatures::find(std::string_view name) const noexcept {
  const auto found = features_.find(name);
  return found == features_.end() ? nullptr : found->second.get();
}

KnownFeature* KnownFeatures::find_or_add(std::string_view name) {
  if (KnownFeature* const known = find(name)) return known;
  if (name.size() > kMaxColumnNameBytes || (left_out_from_ && name >= *left_out_from_)) {
    leave_out(name);
    return nullptr;
  }
  auto feature = std::make_unique<KnownFeature>(name);
  KnownFeature* const added = feature.get();
  features_.emplace(added->name, std::move(feature));
  memory_.charged += kNameCharge + name.size();
  if (features_.size() <= kMaxReportedFeatures) return added;
  leave_out_last();
  return find(name);
}

FeatureState& KnownFeatures::add_state(KnownFeature& feature, ValueKind kind) {
  memory_.charged += kStateCharge;
  return *(feature.kinds[static_cast<std::size_t>(kind)] = std::make_unique<FeatureState>(kind, memory_));
}

void KnownFeatures::leave_out(std::string_view name) {
  if (!left_out_) left_out_.emplace();
  left_out_->add(hash_bytes(name));
}

void KnownFeatures::leave_out_last() {
  const auto last = std::prev(features_.end());
  leave_out(last->first);
  left_out_from_ = last->first;
  memory_.charged -= kNameCharge + last->first.size();
  for (const auto& state : last->second->kinds) {
    if (!state) continue;
    memory_.charged -= kStateCharge;
    state->give_back(memory_);
  }
  features_.erase(last);
  ++removals_;
}

void KnownFeatures::shrink() {
  shrink_to(memory_.level);
  while (full() && memory_.level < ValueSketch::kMostLevel) shrink_to(memory_.level + 1);
  while (full() && !features_.empty()) leave_out_last();
}

void KnownFeatures::shrink_to(unsigned level) {
  memory_.level = level;
  for (const auto& [name, feature] : features_) {
    for (const auto& state : feature->kinds) {
      if (state) state->shrink(memory_);
    }
  }
}

void KnownFeatures::clear(unsigned level) {
  features_.clear();
  memory_ = {0, level};
  ++removals_;
}

void KnownFeatures::merge(const KnownFeatures& other) {
  if (memory_.level < other.memory_.level) shrink_to(other.memory_.level);
  if (other.left_out_from_) {
    while (!features_.empty() && features_.rbegin()->first >= *other.left_out_from_) leave_out_last();
    if (!left_out_from_ || *other.left_out_from_ < *left_out_from_) left_out_from_ = other.left_out_from_;
  }
  if (other.left_out_) {
    if (!left_out_) left_out_.emplace();
    left_out_->merge(*other.left_out_);
  }
  for (const auto& [name, feature] : other.features_) {
    KnownFeature* const known = find_or_add(name);
    if (known == nullptr) continue;
    for (const auto& state : feature->kinds) {
      if (state) this->state(*known, state->kind()).merge(*state, memory_);
    }
    if (full()) shrink();
  }
}

std::uint64_t KnownFeatures::names_left_out() const noexcept {
  return left_out_ ? static_cast<std::uint64_t>(std::llround(left_out_->estimate())) : 0;
}

}  // namespace dovetail::detail
