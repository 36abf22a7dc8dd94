// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reader/features/hyper_log_log.h"

namespace dovetail::detail {

/// A hash of 64 even bits: the finaliser of MurmurHash3. Different words have different hashes.
constexpr std::uint64_t mix_bits(std::uint64_t word) noexcept {
  word ^= word >> 33;
  word *= 0xFF51AFD7ED558CCD;
  word ^= word >> 33;
  word *= 0xC4CEB9FE1A85EC53;
  return word ^ word >> 33;
}

/// A hash of 64 even bits.
std::uint64_t hash_bytes(std::string_view text) noexcept;

/// What all sketches of a collector share: `level` halves their limits as often, `charged` is what
/// they may take.
struct SketchMemory {
  std::uint64_t charged = 0;
  unsigned level = 0;
};

/// Which values there are of one feature, and how often.
///
/// Counts them exactly as long as few are different; then estimates how many are, by HyperLogLog.
/// Beside that it keeps a sample of the values: all of the lists whose priority is lowest. Both
/// depend only on what was added, not on the order.
///
/// A value is a key of 64 bits: a number itself, or the hash of a text. Short texts are kept along
/// with their key.
class ValueSketch {
 public:
  static constexpr std::size_t kMostExact = 512;
  static constexpr std::size_t kMostSampled = 512;
  static constexpr std::size_t kMostTextBytes = 48;  // that are kept
  static constexpr unsigned kMostLevel = HyperLogLog::kMostPrecision - HyperLogLog::kLeastPrecision;

  struct Counted {
    std::uint64_t key = 0;
    std::uint64_t count = 0;
  };
  /// A value of a list of that priority; it stands for as many values as `weight` says.
  struct Sampled {
    std::uint64_t priority = 0;
    std::uint64_t key = 0;
    float weight = 1;
    std::uint32_t bytes = 0;  // of a text
  };

  /// Needs: `memory.level` is that of the sketch, as in all calls.
  ValueSketch(bool texts, const SketchMemory& memory) : texts_(texts), level_(memory.level) {}

  /// Adds numbers. Needs: a sketch of numbers.
  void add(std::span<const std::uint64_t> keys, SketchMemory& memory);
  /// Adds a text with its hash. Needs: a sketch of texts.
  void add(std::uint64_t hash, std::string_view text, SketchMemory& memory);

  /// How many values of a list come into the sample, if any: fewer texts, which take five times as
  /// much memory.
  std::size_t list_samples() const noexcept { return texts_ ? 8 : 32; }
  /// Before a list of so many values. Whether they may come into the sample; if so, all
  /// `list_samples()` have to be added.
  bool begin_list(std::uint64_t values, std::uint64_t priority, SketchMemory& memory);
  /// `text` is that of the value, where there is one.
  void add_sample(const Sampled& sample, std::optional<std::string_view> text);

  void merge(const ValueSketch& other, SketchMemory& memory);
  /// Brings the limits to those of `memory.level`.
  void shrink(SketchMemory& memory);
  /// Its part of `memory.charged`: what it may take. It depends on what was added and on the level,
  /// and never falls with what is added.
  std::uint64_t charged() const noexcept { return charged_; }

  bool exact() const noexcept { return !estimate_; }
  std::uint64_t distinct() const noexcept;
  double distinct_error() const noexcept { return exact() ? 0 : estimate_->standard_error(); }
  /// Exact counts, in no order. Needs: `exact()`.
  std::vector<Counted> counts() const;
  /// The lists of lowest priority that have up to as many values as are sampled.
  std::vector<Sampled> sample() const;
  std::optional<std::string_view> text(std::uint64_t key) const noexcept;

 private:
  struct ShortText {
    std::uint8_t size;
    std::array<char, kMostTextBytes> bytes;
  };
  // A node of the map of texts, with its bucket.
  static constexpr std::uint64_t kTextCharge = sizeof(std::uint64_t) + sizeof(ShortText) + 40;

  std::size_t most_exact() const noexcept { return kMostExact >> level_; }
  std::size_t most_sampled() const noexcept { return std::max(kMostSampled >> level_, list_samples()); }
  /// What the sample may have before it is cut: it is cut seldom, and fits another list.
  std::size_t sample_room() const noexcept { return most_sampled() + std::max(most_sampled() / 4, longest_); }
  std::uint64_t hash_of(std::uint64_t key) const noexcept { return texts_ ? key : mix_bits(key); }

  /// False where the value is new, and the table full.
  bool count(std::uint64_t key, std::uint64_t times, SketchMemory& memory);
  Counted& place_of(std::uint64_t key, std::uint64_t hash) noexcept;
  void grow_table();
  void begin_estimate();
  void cut_sample();
  void keep_text(std::uint64_t key, std::string_view text);
  void forget_texts();
  std::uint64_t charge() const noexcept;
  void settle(SketchMemory& memory);

  bool texts_;
  bool short_texts_ = false;  // whether there were any
  unsigned level_;
  std::vector<Counted> table_;  // open addressing; a count of 0 is an empty place
  std::size_t counted_ = 0;     // places in use
  std::optional<HyperLogLog> estimate_;
  std::vector<Sampled> sample_;
  std::uint64_t sampled_below_ = ~std::uint64_t{0};
  std::uint64_t offered_ = 0;  // values of the sample if it had all lists
  std::size_t longest_ = 0;    // of these the most of one list
  std::unordered_map<std::uint64_t, ShortText> kept_texts_;
  std::uint64_t charged_ = 0;
};

}  // namespace dovetail::detail
