// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dovetail/features.h>

#include "reader/features/hyper_log_log.h"
#include "reader/features/value_hash.h"

namespace dovetail::detail {

/// State that all sketches of a collector share. Each `level` halves their limits once more.
/// `charged` is the memory that all sketches may take.
struct SketchMemory {
  std::uint64_t charged = 0;
  unsigned level = 0;
  // How many more features may have what is not charged: a `SeenNumbers`, a batch of numbers.
  unsigned seen_numbers = 4;
  unsigned batches = 256;
};

/// A set of 2^18 small numbers, such as token ids. A sketch that estimates keeps the numbers that it
/// has added in this set, and need not hash them again.
class SeenNumbers {
 public:
  static bool has_place(std::uint64_t key) noexcept { return key + kNegative < kNumbers; }

  /// Adds the numbers that have a place. Returns whether all were there before.
  bool add(std::span<const std::uint64_t> keys) noexcept;

 private:
  static constexpr std::uint64_t kNegative = 256;  // from -256 on: labels of padding are -1 or -100
  static constexpr std::uint64_t kNumbers = std::uint64_t{1} << 18;

  // Bytes, because a processor looks up a bit at half the rate.
  std::array<std::uint8_t, kNumbers> seen_{};
};

/// The distinct values of one feature, and their frequencies.
///
/// Values are counted exactly while few are different. Beyond that, HyperLogLog estimates the
/// number of different values. In addition the sketch keeps a sample: all sampled values of the
/// lists with the lowest priorities. Both depend only on the values that were added, not on their
/// order.
///
/// A value is a key of 64 bits: that of a number, or the hash of a text. Short texts are kept with
/// their key.
class ValueSketch {
 public:
  static constexpr std::size_t kMostExact = 512;
  static constexpr std::size_t kMostSampled = 512;
  static constexpr std::size_t kMostTextBytes = 48;  // longer texts are not kept
  /// The priority of lists that do not enter the sample.
  static constexpr std::uint64_t kNotSampled = ~std::uint64_t{0};
  static constexpr unsigned kMostLevel = HyperLogLog::kMostPrecision - HyperLogLog::kLeastPrecision;

  struct Counted {
    std::uint64_t key = 0;
    std::uint64_t count = 0;
  };
  /// A value of a list with this priority. It stands for `weight` values.
  struct Sampled {
    std::uint64_t priority = 0;
    std::uint64_t key = 0;
    float weight = 1;
    std::uint32_t bytes = 0;  // size of a text
  };

  /// Needs, for all calls: `memory.level` is the level of the sketch.
  ValueSketch(ValueKind kind, SketchMemory& memory) : kind_(kind), level_(memory.level) { settle(memory); }

  /// Adds numbers. Needs: a sketch of their kind.
  void add(std::span<const std::int64_t> values, SketchMemory& memory);
  void add(std::span<const float> values, SketchMemory& memory);
  void add(std::span<const double> values, SketchMemory& memory);
  /// Adds a text with its hash. Needs: a sketch of texts.
  void add(std::uint64_t hash, std::string_view text, SketchMemory& memory);

  /// The most values of a list that enter the sample. Fewer for texts, which take five times as
  /// much memory.
  std::size_t list_samples() const noexcept { return texts() ? 8 : 32; }
  /// Whether values of lists with this priority may enter the sample, now or later.
  bool may_sample(std::uint64_t priority) const noexcept { return priority < sampled_below_; }
  /// Call this before lists of `values` values each. Returns for how many values of each list
  /// `add_sample` must be called: 0 if they cannot enter the sample.
  std::size_t begin_lists(std::uint64_t lists, std::uint64_t values, std::uint64_t priority, SketchMemory& memory);
  /// `text` is the value's text, for texts.
  void add_sample(const Sampled& sample, std::optional<std::string_view> text);

  void merge(const ValueSketch& other, SketchMemory& memory);
  /// Reduces the limits to those of `memory.level`.
  void shrink(SketchMemory& memory);
  /// The sketch's share of `memory.charged`, the memory that it may take. Depends on the values
  /// added and on the level. Adding values never lowers it.
  std::uint64_t charged() const noexcept { return charged_; }
  /// Returns its share of `memory`. Call this before the sketch is destroyed.
  void give_back(SketchMemory& memory) const noexcept {
    memory.charged -= charged_;
    if (seen_) ++memory.seen_numbers;
  }

  bool exact() const noexcept { return !estimate_; }
  std::uint64_t distinct() const noexcept;
  double distinct_error() const noexcept { return exact() ? 0 : estimate_->standard_error(); }
  /// Exact counts, in no particular order. Needs: `exact()`.
  std::vector<Counted> counts() const;
  /// The sampled values of the lists with the lowest priorities, up to the limit of the sample.
  std::vector<Sampled> sample() const;
  std::optional<std::string_view> text(std::uint64_t key) const noexcept;

 private:
  struct ShortText {
    std::uint8_t size;
    std::array<char, kMostTextBytes> bytes;
  };
  // The size of a node of the map of texts, with its bucket.
  static constexpr std::uint64_t kTextCharge = sizeof(std::uint64_t) + sizeof(ShortText) + 40;

  std::size_t most_exact() const noexcept { return kMostExact >> level_; }
  std::size_t most_sampled() const noexcept { return std::max(kMostSampled >> level_, list_samples()); }
  /// The size to which the sample may grow before it is cut. It is cut rarely, and has room for
  /// another list.
  std::size_t sample_room() const noexcept { return most_sampled() + std::max(most_sampled() / 4, longest_); }
  bool texts() const noexcept { return kind_ == ValueKind::bytes; }
  std::uint64_t hash_of_key(std::uint64_t key) const noexcept;

  static constexpr std::size_t kLeastPlaces = 16;
  /// The size of a table for `values` values, at most half full.
  static std::size_t places_for(std::size_t values) noexcept;

  /// Returns false if the value is new and the table is full; the sketch has then begun to
  /// estimate.
  bool count(std::uint64_t key, std::uint64_t times, SketchMemory& memory);
  bool count_new(std::uint64_t key, std::uint64_t times, SketchMemory& memory);
  /// Counts keys until the sketch begins to estimate. Returns how many it counted.
  std::size_t count_all(std::span<const std::uint64_t> keys, SketchMemory& memory);
  template <class Float>
  std::size_t count_all(std::span<const Float> values, SketchMemory& memory);
  Counted& place_of(std::uint64_t key) noexcept;
  void grow_table();
  void begin_estimate(SketchMemory& memory);
  void cut_sample();
  void keep_text(std::uint64_t key, std::string_view text);
  void forget_texts();
  std::uint64_t charge() const noexcept;
  void settle(SketchMemory& memory);

  ValueKind kind_;
  bool short_texts_ = false;  // whether any short text was added
  unsigned level_;
  // Open addressing; a count of 0 is an empty place.
  std::vector<Counted> table_ = std::vector<Counted>(kLeastPlaces);
  std::size_t counted_ = 0;  // places in use
  std::optional<HyperLogLog> estimate_;
  std::unique_ptr<SeenNumbers> seen_;
  std::vector<Sampled> sample_;
  std::uint64_t sampled_below_ = ~std::uint64_t{0};
  std::uint64_t offered_ = 0;  // values that the sample would have if it kept all lists
  std::size_t longest_ = 0;    // the most sampled values of one list
  std::unordered_map<std::uint64_t, ShortText> kept_texts_;
  std::uint64_t charged_ = 0;
};

}  // namespace dovetail::detail
