// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "reader/features/feature_state.h"
#include "reader/features/hyper_log_log.h"
#include "reader/features/value_sketch.h"

namespace dovetail::detail {

/// A feature name, and the statistics for each kind of list.
struct KnownFeature {
  explicit KnownFeature(std::string_view given) : name(given) {}

  std::string name;
  std::array<std::unique_ptr<FeatureState>, 4> kinds;
  std::size_t place = 0;  // in the last record that has it
};

/// The features that were found. If there are more names than can be reported, or than fit the
/// budget, the first names in bytewise order are kept. This choice does not depend on the order of
/// records: a name that is kept in the end was never left out.
///
/// Ownership: keeps copies of names. Pointers to features are valid until `removals()` changes.
class KnownFeatures {
 public:
  using ByName = std::map<std::string_view, std::unique_ptr<KnownFeature>>;

  /// `budget` is the memory that the features may take, in bytes.
  explicit KnownFeatures(std::size_t budget) : budget_(budget) {}

  /// The feature of that name, or null.
  KnownFeature* find(std::string_view name) const noexcept;
  /// The same, but adds a new name. Null if the name is left out.
  KnownFeature* find_or_add(std::string_view name);
  /// The statistics of one kind of list; created on first use.
  FeatureState& state(KnownFeature& feature, ValueKind kind) {
    const auto& state = feature.kinds[static_cast<std::size_t>(kind)];
    return state ? *state : add_state(feature, kind);
  }

  SketchMemory& memory() noexcept { return memory_; }
  unsigned level() const noexcept { return memory_.level; }
  std::uint64_t removals() const noexcept { return removals_; }
  /// Whether the features take more than the budget. Check this after each feature that is added,
  /// then call `shrink` or `clear`.
  bool full() const noexcept { return memory_.charged > budget_; }
  /// Adds what waits in batches. Then halves the limits of all features until they fit the budget.
  /// If that is not enough, leaves out the last names.
  void shrink();
  /// Forgets all features. The limits become those of `level`.
  void clear(unsigned level);
  void merge(const KnownFeatures& other);

  const ByName& by_name() const noexcept { return features_; }
  std::uint64_t names_left_out() const noexcept;

 private:
  FeatureState& add_state(KnownFeature& feature, ValueKind kind);
  void shrink_to(unsigned level);
  void leave_out(std::string_view name);
  void leave_out_last();

  std::size_t budget_;
  SketchMemory memory_;
  ByName features_;
  std::uint64_t removals_ = 0;
  std::optional<std::string> left_out_from_;  // this name and all later names are left out
  std::optional<HyperLogLog> left_out_;       // estimates the number of names left out
};

}  // namespace dovetail::detail
