// SPDX-License-Identifier: Apache-2.0
#include "reader/features/known_features.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dovetail::detail {
namespace {

// What a name takes beside its bytes: nodes of the map, and pointers.
constexpr std::uint64_t kNameCharge = sizeof(KnownFeature) + 96;

}  // namespace

KnownFeature* KnownFeatures::find(std::string_view name) const noexcept {
  const auto found = features_.find(name);
  return found == features_.end() ? nullptr : found->second.get();
}

KnownFeature* KnownFeatures::find_or_add(std::string_view name) {
  if (KnownFeature* const known = find(name)) return known;
  if (name.size() > kMaxColumnNameBytes) {
    leave_out(name);
    return nullptr;
  }
  if (features_.size() == kMaxReportedFeatures) {
    if (last_first_.empty()) {
      for (const auto& entry : features_) last_first_.push_back(entry.first);
      std::make_heap(last_first_.begin(), last_first_.end());
    }
    if (name > last_first_.front()) {
      leave_out(name);
      return nullptr;
    }
    leave_out_last();
  }
  auto feature = std::make_unique<KnownFeature>(name);
  KnownFeature* const added = feature.get();
  features_.emplace(added->name, std::move(feature));
  if (!last_first_.empty()) {
    last_first_.push_back(added->name);
    std::push_heap(last_first_.begin(), last_first_.end());
  }
  memory_.charged += kNameCharge + name.size();
  return added;
}

FeatureState& KnownFeatures::state(KnownFeature& feature, ValueKind kind) {
  std::unique_ptr<FeatureState>& state = feature.kinds[static_cast<std::size_t>(kind)];
  if (!state) [[unlikely]] {
    state = std::make_unique<FeatureState>(kind, memory_);
    memory_.charged += sizeof(FeatureState);
  }
  return *state;
}

void KnownFeatures::leave_out(std::string_view name) {
  left_out_.add(hash_bytes(name));
  any_left_out_ = true;
}

void KnownFeatures::leave_out_last() {
  std::pop_heap(last_first_.begin(), last_first_.end());
  const auto last = features_.find(last_first_.back());
  last_first_.pop_back();
  leave_out(last->first);
  memory_.charged -= kNameCharge + last->first.size();
  for (const auto& state : last->second->kinds) {
    if (state) memory_.charged -= sizeof(FeatureState) + state->charge();
  }
  features_.erase(last);
}

void KnownFeatures::shrink() {
  while (memory_.charged > budget_ && memory_.level < ValueSketch::kMostLevel) shrink_to(memory_.level + 1);
}

void KnownFeatures::shrink_to(unsigned level) {
  memory_.level = level;
  for (const auto& entry : features_) {
    for (const auto& state : entry.second->kinds) {
      if (state) state->shrink(memory_);
    }
  }
}

void KnownFeatures::merge(const KnownFeatures& other) {
  if (memory_.level < other.memory_.level) shrink_to(other.memory_.level);
  for (const KnownFeature* const feature : other.sorted()) {
    KnownFeature* const known = find_or_add(feature->name);
    if (known == nullptr) continue;
    for (const auto& state : feature->kinds) {
      if (state) this->state(*known, state->kind()).merge(*state, memory_);
    }
    fit();
  }
  left_out_.merge(other.left_out_);
  any_left_out_ = any_left_out_ || other.any_left_out_;
}

std::vector<const KnownFeature*> KnownFeatures::sorted() const {
  std::vector<const KnownFeature*> all;
  all.reserve(features_.size());
  for (const auto& entry : features_) all.push_back(entry.second.get());
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return all;
}

std::uint64_t KnownFeatures::names_left_out() const noexcept {
  return any_left_out_ ? static_cast<std::uint64_t>(std::llround(left_out_.estimate())) : 0;
}

}  // namespace dovetail::detail
