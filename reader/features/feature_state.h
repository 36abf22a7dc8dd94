// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
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
  FeatureState(ValueKind kind, SketchMemory& memory) : kind_(kind), sketch_(kind, memory) {}

  /// Adds the feature of a record. Needs: the feature is checked and of this kind. `id` and
  /// `priority` are those of the record.
  void add(const format::FeatureView& feature, std::uint64_t id, std::uint64_t priority, SketchMemory& memory) {
    if (feature.only.data() == nullptr || feature.count != 1 || !add_to_batch(feature.only, id, priority, memory)) {
      add_list(feature, id, priority, memory);
    }
  }
  /// Adds a member of a JSON object. Needs: at least one value, all of this kind.
  void add(const format::JsonValues& values, std::uint64_t id, std::uint64_t priority, SketchMemory& memory);
  void merge(const FeatureState& other, SketchMemory& memory);
  /// Reduces the limits to those of `memory.level`. Adds what waits in the batch.
  void shrink(SketchMemory& memory);

  ValueKind kind() const noexcept { return kind_; }
  /// Returns its share of `memory`. Call this before the state is destroyed.
  void give_back(SketchMemory& memory) const noexcept {
    sketch_.give_back(memory);
    if (batch_) ++memory.batches;
  }
  /// Needs: `shrink` was called after the last list.
  FeatureStats report(const std::string& name) const;

 private:
  /// Numbers of lists of one value that are not in the sample. They wait to be added together,
  /// because loops over many numbers are several times as fast.
  struct Batch {
    static constexpr std::size_t kMost = FloatRange::kMostSingles;

    std::uint64_t first_record = std::numeric_limits<std::uint64_t>::max();
    std::size_t size = 0;
    // One of these holds the numbers.
    std::array<std::int64_t, kMost> ints;
    std::array<float, kMost> floats;
  };

  void add_list(const format::FeatureView& feature, std::uint64_t id, std::uint64_t priority, SketchMemory& memory);
  /// Returns false if the number needs the general path.
  bool add_to_batch(ByteView packed, std::uint64_t id, std::uint64_t priority, SketchMemory& memory) {
    if (kind_ == ValueKind::bytes || sketch_.may_sample(priority)) return false;
    if (!batch_) {
      if (memory.batches == 0) return false;
      --memory.batches;
      batch_ = std::make_unique<Batch>();
    }
    Batch& batch = *batch_;
    batch.first_record = std::min(batch.first_record, id);
    if (kind_ == ValueKind::floats) {
      batch.floats[batch.size++] = std::bit_cast<float>(format::load_le<std::uint32_t>(packed.data()));
    } else {
      format::WireFault fault;
      std::uint64_t value = 0;
      format::WireCursor(packed).read_varint(value, fault);
      batch.ints[batch.size++] = static_cast<std::int64_t>(value);
    }
    if (batch.size == Batch::kMost) {
      add_batch(batch, memory);
      batch.size = 0;
    }
    return true;
  }
  void add_batch(const Batch& batch, SketchMemory& memory);
  void add_lists(std::uint64_t lists, std::uint64_t values_each, std::uint64_t id) noexcept;
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
  std::unique_ptr<Batch> batch_;
};

/// Adds top values and a histogram to the statistics of a feature. Needs: the other statistics are
/// set.
void add_distribution(const ValueSketch& sketch, FeatureStats& stats);

}  // namespace dovetail::detail
