// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <dovetail/features.h>

#include "format/example/example_wire.h"
#include "format/text/json_members.h"
#include "reader/features/feature_numbers.h"
#include "reader/features/value_sketch.h"

namespace dovetail::detail {

/// The statistics of the lists of one feature that have one kind. All parts merge exactly, in any
/// order.
class FeatureState {
 public:
  FeatureState(ValueKind kind, const SketchMemory& memory) : kind_(kind), sketch_(kind, memory) {}

  /// Adds the feature of a record. Needs: the feature is checked and of this kind. `id` and
  /// `priority` are those of the record.
  void add(const format::FeatureView& feature, std::uint64_t id, std::uint64_t priority, SketchMemory& memory);
  /// Adds a member of a JSON object. Needs: at least one value, all of this kind.
  void add(const format::JsonValues& values, std::uint64_t id, std::uint64_t priority, SketchMemory& memory);
  void merge(const FeatureState& other, SketchMemory& memory);
  void shrink(SketchMemory& memory) { sketch_.shrink(memory); }

  ValueKind kind() const noexcept { return kind_; }
  /// The memory that its sketch is charged for.
  std::uint64_t charge() const noexcept { return sketch_.charged(); }
  FeatureStats report(const std::string& name) const;

 private:
  void add_length(std::uint64_t count, std::uint64_t id) noexcept;
  template <class NextPiece>
  void add_numbers(std::uint64_t count, std::uint64_t priority, SketchMemory& memory, NextPiece next);
  template <class NextText>
  void add_texts(std::uint64_t count, std::uint64_t priority, SketchMemory& memory, NextText next);
  void report_numbers(FeatureStats& stats) const;

  ValueKind kind_;
  std::uint64_t first_record_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t records_ = 0;
  std::uint64_t empty_lists_ = 0;
  std::uint64_t values_ = 0;
  std::uint64_t least_values_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_values_ = 0;
  IntRange ints_;  // for bytes: their lengths
  FloatRange floats_;
  ValueSketch sketch_;
};

/// Adds top values and a histogram to the statistics of a feature. Needs: the other statistics are
/// set.
void add_distribution(const ValueSketch& sketch, FeatureStats& stats);

}  // namespace dovetail::detail
