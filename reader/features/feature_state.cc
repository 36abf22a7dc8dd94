// SPDX-License-Identifier: Apache-2.0
#include "reader/features/feature_state.h"

#include <algorithm>
#include <optional>
#include <span>

namespace dovetail::detail {
namespace {

/// Which values of a list are in the sample: all of a few, otherwise some at equal distances.
class ListSample {
 public:
  /// `priority` says where between two of them the first one is.
  ListSample(std::uint64_t values, std::uint64_t priority) noexcept
      : values_(values),
        taken_(std::min<std::uint64_t>(values, ValueSketch::kListSamples)),
        phase_(mix_bits(~priority) >> 32) {
    advance();
  }

  /// Number in the list of the value that is taken next; past the end after the last one.
  std::uint64_t next() const noexcept { return next_; }
  void advance() noexcept {
    next_ = number_ == taken_
                ? ~std::uint64_t{0}
                : low_half((Uint128{number_ << 32 | phase_} * values_ / std::max<std::uint64_t>(taken_, 1)) >> 32);
    ++number_;
  }
  float weight() const noexcept { return static_cast<float>(values_) / static_cast<float>(taken_); }

 private:
  std::uint64_t values_;
  std::uint64_t taken_;
  std::uint64_t phase_;
  std::uint64_t number_ = 0;
  std::uint64_t next_ = 0;
};

/// Adds those values of a piece that belong to the sample; `begin` is the number in the list of its first one.
void sample_piece(std::span<const std::uint64_t> keys, std::uint64_t begin, std::uint64_t priority, ListSample& chosen,
                  ValueSketch& sketch, SketchMemory& memory) {
  for (; chosen.next() < begin + keys.size(); chosen.advance()) {
    sketch.add_sample({priority, keys[chosen.next() - begin], chosen.weight(), 0}, {}, memory);
  }
}

}  // namespace

void FeatureState::add(const format::FeatureView& feature, std::uint64_t priority, NumberPieces::Room& room,
                       SketchMemory& memory) {
  ++records_;
  if (feature.count == 0) {
    ++empty_lists_;
    return;
  }
  values_ += feature.count;
  least_values_ = std::min(least_values_, feature.count);
  most_values_ = std::max(most_values_, feature.count);
  switch (kind_) {
    case ValueKind::none:
      break;
    case ValueKind::bytes:
      return add_texts(feature, priority, memory);
    case ValueKind::floats:
      return add_floats(feature, priority, room, memory);
    case ValueKind::ints:
      return add_ints(feature, priority, room, memory);
  }
}

void FeatureState::add_ints(const format::FeatureView& feature, std::uint64_t priority, NumberPieces::Room& room,
                            SketchMemory& memory) {
  NumberPieces pieces(feature, room);
  const bool wanted = sketch_.wants(priority);
  if (feature.count == 1 && !wanted) {
    const auto value = pieces.next_ints()[0];
    ints_.add(value);
    return sketch_.add(static_cast<std::uint64_t>(value), memory);
  }
  std::optional<ListSample> chosen;
  if (wanted) chosen.emplace(feature.count, priority);
  std::uint64_t begin = 0;
  for (auto piece = pieces.next_ints(); !piece.empty(); piece = pieces.next_ints()) {
    ints_.add(piece);
    // Signed and unsigned numbers of one size may share memory.
    const std::span keys(reinterpret_cast<const std::uint64_t*>(piece.data()), piece.size());
    sketch_.add(keys, memory);
    if (wanted) sample_piece(keys, begin, priority, *chosen, sketch_, memory);
    begin += piece.size();
  }
  if (wanted) sketch_.end_list(memory);
}

void FeatureState::add_floats(const format::FeatureView& feature, std::uint64_t priority, NumberPieces::Room& room,
                              SketchMemory& memory) {
  NumberPieces pieces(feature, room);
  const bool wanted = sketch_.wants(priority);
  if (feature.count == 1 && !wanted) {
    const auto value = pieces.next_floats()[0];
    floats_.add(value);
    return sketch_.add(key_of(value), memory);
  }
  std::optional<ListSample> chosen;
  if (wanted) chosen.emplace(feature.count, priority);
  std::uint64_t begin = 0;
  for (auto piece = pieces.next_floats(); !piece.empty(); piece = pieces.next_floats()) {
    floats_.add(piece);
    for (std::size_t i = 0; i < piece.size(); ++i) room.keys[i] = key_of(piece[i]);
    const std::span keys = std::span(room.keys).first(piece.size());
    sketch_.add(keys, memory);
    if (wanted) sample_piece(keys, begin, priority, *chosen, sketch_, memory);
    begin += piece.size();
  }
  if (wanted) sketch_.end_list(memory);
}

void FeatureState::add_texts(const format::FeatureView& feature, std::uint64_t priority, SketchMemory& memory) {
  const bool wanted = sketch_.wants(priority);
  std::optional<ListSample> chosen;
  if (wanted) chosen.emplace(feature.count, priority);
  format::FeatureValues values(feature);
  ByteView value;
  for (std::uint64_t i = 0; values.next(value); ++i) {
    ints_.add(static_cast<std::int64_t>(value.size()));
    const std::uint64_t hash = hash_bytes(as_chars(value));
    sketch_.add(hash, as_chars(value), memory);
    if (!wanted || chosen->next() != i) continue;
    sketch_.add_sample({priority, hash, chosen->weight(), static_cast<std::uint32_t>(value.size())}, as_chars(value),
                       memory);
    chosen->advance();
  }
  if (wanted) sketch_.end_list(memory);
}

void FeatureState::merge(const FeatureState& other, SketchMemory& memory) {
  records_ += other.records_;
  empty_lists_ += other.empty_lists_;
  values_ += other.values_;
  least_values_ = std::min(least_values_, other.least_values_);
  most_values_ = std::max(most_values_, other.most_values_);
  ints_.add(other.ints_);
  floats_.add(other.floats_);
  sketch_.merge(other.sketch_, memory);
}

FeatureStats FeatureState::report(const std::string& name) const {
  FeatureStats stats;
  stats.name = name;
  stats.kind = kind_;
  stats.records = records_;
  stats.empty_lists = empty_lists_;
  if (values_ == 0) return stats;
  stats.values = values_;
  stats.least_values = least_values_;
  stats.most_values = most_values_;
  report_numbers(stats);
  stats.distinct = sketch_.distinct();
  stats.distinct_error = sketch_.distinct_error();
  add_distribution(sketch_, stats);
  return stats;
}

void FeatureState::report_numbers(FeatureStats& stats) const {
  if (kind_ == ValueKind::floats) {
    stats.nans = floats_.nans();
    stats.infinities = floats_.infinities();
    if (floats_.finite() == 0) return;
    // A zero without its sign: which of both is the least depends on the order.
    stats.least = static_cast<double>(floats_.least()) + 0.0;
    stats.most = static_cast<double>(floats_.most()) + 0.0;
    stats.mean = floats_.sum() / static_cast<double>(floats_.finite());
    return;
  }
  stats.least_int = ints_.least();
  stats.most_int = ints_.most();
  stats.least = static_cast<double>(stats.least_int);
  stats.most = static_cast<double>(stats.most_int);
  stats.mean = ints_.sum() / static_cast<double>(values_);
}

}  // namespace dovetail::detail
