// SPDX-License-Identifier: Apache-2.0
#include "reader/features/feature_state.h"

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace dovetail::detail {
namespace {

/// Chooses the values of a list for the sample: all values of a short list, else some at equal
/// distances.
class ListSample {
 public:
  /// `priority` chooses the offset of the first value, within one distance.
  ListSample(std::uint64_t values, std::uint64_t taken, std::uint64_t priority) noexcept
      : values_(values), taken_(taken), phase_(mix_bits(~priority) >> 32) {
    advance();
  }

  /// The number in the list of the next chosen value; past the end of the list after the last one.
  std::uint64_t next() const noexcept { return next_; }
  void advance() noexcept {
    next_ =
        number_ == taken_ ? ~std::uint64_t{0} : low_half((Uint128{number_ << 32 | phase_} * values_ / taken_) >> 32);
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

}  // namespace

template <class NextPiece>
void FeatureState::add_numbers(std::uint64_t count, std::uint64_t priority, SketchMemory& memory, NextPiece next) {
  ListSample chosen(count, sketch_.begin_lists(1, count, priority, memory), priority);
  std::uint64_t begin = 0;
  for (auto piece = next(); !piece.empty(); piece = next()) {
    if constexpr (std::is_same_v<decltype(piece), std::span<const std::int64_t>>) {
      ints_.add(piece);
    } else {
      floats_.add(piece);
    }
    sketch_.add(piece, memory);
    for (; chosen.next() < begin + piece.size(); chosen.advance()) {
      sketch_.add_sample({priority, key_of(piece[chosen.next() - begin]), chosen.weight(), 0}, std::nullopt);
    }
    begin += piece.size();
  }
}

template <class NextText>
void FeatureState::add_texts(std::uint64_t count, std::uint64_t priority, SketchMemory& memory, NextText next) {
  ListSample chosen(count, sketch_.begin_lists(1, count, priority, memory), priority);
  ByteView value;
  for (std::uint64_t i = 0; next(value); ++i) {
    ints_.add(static_cast<std::int64_t>(value.size()));
    const std::uint64_t hash = hash_bytes(as_chars(value));
    sketch_.add(hash, as_chars(value), memory);
    if (chosen.next() != i) continue;
    sketch_.add_sample({priority, hash, chosen.weight(), static_cast<std::uint32_t>(value.size())}, as_chars(value));
    chosen.advance();
  }
}

/// `id` is the least id of the records.
void FeatureState::add_lists(std::uint64_t lists, std::uint64_t values_each, std::uint64_t id) noexcept {
  records_ += lists;
  if (values_each == 0) {
    empty_lists_ += lists;
    return;
  }
  first_record_ = std::min(first_record_, id);
  values_ += lists * values_each;
  least_values_ = std::min(least_values_, values_each);
  most_values_ = std::max(most_values_, values_each);
}

void FeatureState::add_list(const format::FeatureView& feature, std::uint64_t id, std::uint64_t priority,
                            SketchMemory& memory) {
  add_lists(1, feature.count, id);
  if (feature.count == 0) return;
  if (kind_ == ValueKind::bytes) {
    if (feature.only.data() != nullptr) {
      return add_texts(1, priority, memory, [text = feature.only, more = true](ByteView& value) mutable {
        value = text;
        return std::exchange(more, false);
      });
    }
    format::FeatureValues values(feature);
    return add_texts(feature.count, priority, memory, [&](ByteView& value) { return values.next(value); });
  }
  NumberPieces pieces(feature);
  if (kind_ == ValueKind::ints) {
    add_numbers(feature.count, priority, memory, [&] { return pieces.next_ints(); });
  } else {
    add_numbers(feature.count, priority, memory, [&] { return pieces.next_floats(); });
  }
}

void FeatureState::add_batch(const Batch& batch, SketchMemory& memory) {
  if (batch.size == 0) return;
  add_lists(batch.size, 1, batch.first_record);
  sketch_.begin_lists(batch.size, 1, ValueSketch::kNotSampled, memory);
  if (kind_ == ValueKind::ints) {
    const auto values = std::span<const std::int64_t>(batch.ints).first(batch.size);
    ints_.add(values);
    sketch_.add(values, memory);
  } else {
    const auto values = std::span<const float>(batch.floats).first(batch.size);
    floats_.add_singles(values);
    sketch_.add(values, memory);
  }
}

void FeatureState::add(const format::JsonValues& values, std::uint64_t id, std::uint64_t priority,
                       SketchMemory& memory) {
  std::visit(
      [&]<class Value>(const std::vector<Value>& list) {
        add_lists(1, list.size(), id);
        std::span<const Value> rest = list;
        if constexpr (std::is_same_v<Value, ByteView>) {
          add_texts(list.size(), priority, memory, [&](ByteView& value) {
            if (rest.empty()) return false;
            value = rest.front();
            rest = rest.subspan(1);
            return true;
          });
        } else {
          add_numbers(list.size(), priority, memory, [&] { return std::exchange(rest, {}); });
        }
      },
      values);
}

void FeatureState::merge(const FeatureState& other, SketchMemory& memory) {
  first_record_ = std::min(first_record_, other.first_record_);
  records_ += other.records_;
  empty_lists_ += other.empty_lists_;
  values_ += other.values_;
  least_values_ = std::min(least_values_, other.least_values_);
  most_values_ = std::max(most_values_, other.most_values_);
  ints_.add(other.ints_);
  floats_.add(other.floats_);
  sketch_.merge(other.sketch_, memory);
  if (other.batch_) add_batch(*other.batch_, memory);
}

void FeatureState::shrink(SketchMemory& memory) {
  sketch_.shrink(memory);
  if (!batch_) return;
  add_batch(*batch_, memory);
  batch_->size = 0;
}

FeatureStats FeatureState::report(const std::string& name) const {
  FeatureStats stats;
  stats.name = name;
  stats.kind = kind_;
  stats.records = records_;
  stats.empty_lists = empty_lists_;
  if (values_ == 0) return stats;
  stats.first_record = first_record_;
  stats.values = values_;
  stats.least_values = least_values_;
  stats.most_values = most_values_;
  report_numbers(stats);
  stats.distinct = std::min(sketch_.distinct(), values_);  // an estimate may exceed what is possible
  stats.distinct_error = sketch_.distinct_error();
  add_distribution(sketch_, stats);
  return stats;
}

void FeatureState::report_numbers(FeatureStats& stats) const {
  if (kind_ == ValueKind::floats) {
    stats.nans = floats_.nans();
    stats.infinities = floats_.infinities();
    if (floats_.finite() == 0) return;
    // Drop the sign of a zero: whether -0 or 0 is the minimum depends on the order.
    stats.least = floats_.least() + 0.0;
    stats.most = floats_.most() + 0.0;
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
