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

/// A name, and what is known of it for each kind of list.
struct KnownFeature {
  explicit KnownFeature(std::string_view given) : name(given) {}

  std::string name;
  std::array<std::unique_ptr<FeatureState>, 4> kinds;
  // Which search for the features of a record has found it last, and at which place.
  std::uint64_t search = 0;
  std::size_t place = 0;
};

/// The features that were met. Of more names than are reported, or fit the budget, those are kept
/// that come first in bytewise order, and so the same in any order of records: a name that is kept
/// in the end was never left out.
///
/// Ownership: keeps copies of names. Pointers to features are valid until `removals()` changes.
class KnownFeatures {
 public:
  using ByName = std::map<std::string_view, std::unique_ptr<KnownFeature>>;

  /// Needs: `budget` is what the features may take, in bytes.
  explicit KnownFeatures(std::size_t budget) : budget_(budget) {}

  /// The feature of that name, or nullptr.
  KnownFeature* find(std::string_view name) const noexcept;
  /// The same, which becomes known where it is new; nullptr for one that is left out.
  KnownFeature* find_or_add(std::string_view name);
  /// What is known of a kind.
  FeatureState& state(KnownFeature& feature, ValueKind kind);

  SketchMemory& memory() noexcept { return memory_; }
  unsigned level() const noexcept { return memory_.level; }
  std::uint64_t removals() const noexcept { return removals_; }
  /// Whether they take more than the budget. Ask after each feature that is added; `shrink` or
  /// `clear` are the answers.
  bool full() const noexcept { return memory_.charged > budget_; }
  /// Halves the limits of all features until they fit the budget; then leaves out the last names.
  void shrink();
  /// Forgets all features; the limits are those of that level.
  void clear(unsigned level);
  void merge(const KnownFeatures& other);

  const ByName& by_name() const noexcept { return features_; }
  std::uint64_t names_left_out() const noexcept;

 private:
  void shrink_to(unsigned level);
  void leave_out(std::string_view name);
  void leave_out_last();

  std::size_t budget_;
  SketchMemory memory_;
  ByName features_;
  std::uint64_t removals_ = 0;
  std::optional<std::string> left_out_from_;  // all names from here on
  std::optional<HyperLogLog> left_out_;       // how many
};

}  // namespace dovetail::detail
