// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reader/features/feature_state.h"
#include "reader/features/hyper_log_log.h"
#include "reader/features/value_sketch.h"

namespace dovetail::detail {

/// A name, and what is known of it for each kind of list.
struct KnownFeature {
  explicit KnownFeature(std::string_view given) : name(given) {}

  std::string name;
  std::array<std::unique_ptr<FeatureState>, 4> kinds;
  // Which search for the features of a record has found it last, and at which place.
  std::uint64_t search = 0;
  std::size_t place = 0;
};

/// The features that were met. Of more than `kMaxReportedFeatures` names, those are kept that come first in bytewise order,
/// and so the same in any order of records: a name that is kept in the end was never left out.
///
/// Ownership: keeps copies of names.
class KnownFeatures {
 public:
  /// Needs: `budget` is what the features may take, in bytes.
  explicit KnownFeatures(std::size_t budget) : budget_(budget) {}

  /// The feature of that name, or nullptr.
  KnownFeature* find(std::string_view name) const noexcept;
  /// The same, which becomes known where it is new; nullptr for one that is left out. Pointers to others may become void.
  KnownFeature* find_or_add(std::string_view name);
  /// What is known of a kind.
  FeatureState& state(KnownFeature& feature, ValueKind kind);

  SketchMemory& memory() noexcept { return memory_; }
  /// Halves the limits of all features until they fit the budget. Call it after each feature that is added.
  void fit() {
    if (memory_.charged > budget_) [[unlikely]]
      shrink();
  }
  void merge(const KnownFeatures& other);

  /// By name.
  std::vector<const KnownFeature*> sorted() const;
  std::uint64_t names_left_out() const noexcept;

 private:
  void shrink();
  void shrink_to(unsigned level);
  void leave_out_last();
  void leave_out(std::string_view name);

  std::size_t budget_;
  SketchMemory memory_;
  std::unordered_map<std::string_view, std::unique_ptr<KnownFeature>> features_;
  std::vector<std::string_view> last_first_;  // a heap of all names, once there are as many as are kept
  HyperLogLog left_out_;
  bool any_left_out_ = false;
};

}  // namespace dovetail::detail
