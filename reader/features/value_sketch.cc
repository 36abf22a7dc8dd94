// SPDX-License-Identifier: Apache-2.0
#include "reader/features/value_sketch.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <unordered_set>
#include <utility>

#include <dovetail/bytes.h>

#include "format/crc32c/crc32c.h"
#include "reader/plan/wide_vectors.h"

namespace dovetail::detail {
namespace {

using Sampled = ValueSketch::Sampled;

/// Cuts a sample to the lists of lowest priority with up to `most` values in all. Returns the
/// priority of the first list that is cut off.
std::uint64_t cut(std::vector<Sampled>& sample, std::size_t most) {
  if (sample.size() <= most) return ~std::uint64_t{0};
  const auto first_cut = sample.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(sample.begin(), first_cut, sample.end(),
                   [](const Sampled& a, const Sampled& b) { return a.priority < b.priority; });
  const std::uint64_t below = first_cut->priority;
  std::erase_if(sample, [below](const Sampled& each) { return each.priority >= below; });
  return below;
}

DOVETAIL_WIDE_VECTORS
void write_keys(const float* values, std::size_t count, std::uint64_t* keys) noexcept {
  for (std::size_t i = 0; i < count; ++i) keys[i] = key_of(static_cast<double>(values[i]));
}

void write_keys(const double* values, std::size_t count, std::uint64_t* keys) noexcept {
  for (std::size_t i = 0; i < count; ++i) keys[i] = key_of(values[i]);
}

DOVETAIL_WIDE_VECTORS
void write_hashes(const std::uint64_t* keys, std::size_t count, std::uint64_t* hashes) noexcept {
  for (std::size_t i = 0; i < count; ++i) hashes[i] = mix_bits(keys[i]);
}

/// Where to look for a key first. Numbers below 2^10, the size of a full table, do not collide.
std::size_t first_place(std::uint64_t key, std::size_t mask) noexcept {
  return (key + ((key >> 10) * 0x9E3779B97F4A7C15 >> 54)) & mask;
}

constexpr std::size_t kKeysAtOnce = 128;

}  // namespace

bool SeenNumbers::add(std::span<const std::uint64_t> keys) noexcept {
  std::uint64_t any = 0;
  std::uint8_t all = 1;
  // The loop itself is a third of the instructions otherwise.
#pragma GCC unroll 4
  for (const std::uint64_t key : keys) {
    const std::uint64_t place = key + kNegative;
    any |= place;
    all &= seen_[place % kNumbers];
  }
  if (any < kNumbers && all != 0) return true;
  for (const std::uint64_t key : keys) {
    if (has_place(key)) seen_[key + kNegative] = 1;
  }
  return false;
}

std::uint64_t hash_bytes(std::string_view text) noexcept {
  constexpr std::size_t kLong = 512;
  if (text.size() < kLong) return XXH3_64bits(text.data(), text.size());
  // Long texts are mostly images. The processor's CRC instructions hash them several times as fast.
  // A CRC has 32 bits, so hash both halves. Texts that differ in one half only collide with a
  // probability of 2^-32.
  const ByteView bytes = as_bytes(text);
  const std::uint64_t first = format::crc32c(bytes.first(bytes.size() / 2));
  const std::uint64_t second = format::crc32c(bytes.subspan(bytes.size() / 2));
  return mix_bits((first << 32 | second) + mix_bits(text.size()));
}

void ValueSketch::add(std::span<const std::int64_t> values, SketchMemory& memory) {
  // Signed and unsigned integers of the same size may alias.
  std::span keys(reinterpret_cast<const std::uint64_t*>(values.data()), values.size());
  if (!estimate_) keys = keys.subspan(count_all(keys, memory));
  std::array<std::uint64_t, kKeysAtOnce> hashes;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kKeysAtOnce));
    keys = keys.subspan(some.size());
    if (seen_ && seen_->add(some)) continue;
    write_hashes(some.data(), some.size(), hashes.data());
    estimate_->add(std::span(hashes).first(some.size()));
  }
}

void ValueSketch::add(std::span<const float> values, SketchMemory& memory) {
  if (!estimate_) values = values.subspan(count_all(values, memory));
  if (!values.empty()) estimate_->add(values);
}

void ValueSketch::add(std::span<const double> values, SketchMemory& memory) {
  if (!estimate_) values = values.subspan(count_all(values, memory));
  for (const double value : values) estimate_->add(hash_of(value));
}

template <class Float>
std::size_t ValueSketch::count_all(std::span<const Float> values, SketchMemory& memory) {
  std::array<std::uint64_t, kKeysAtOnce> keys;
  std::size_t counted = 0;
  while (!estimate_ && counted < values.size()) {
    const auto some = values.subspan(counted, std::min(values.size() - counted, kKeysAtOnce));
    write_keys(some.data(), some.size(), keys.data());
    counted += count_all(std::span<const std::uint64_t>(keys).first(some.size()), memory);
  }
  return counted;
}

std::size_t ValueSketch::count_all(std::span<const std::uint64_t> keys, SketchMemory& memory) {
  // Lists of few values often repeat a value many times in a row.
  constexpr std::size_t kRow = 16;
  std::span<Counted> table = table_;
  for (std::size_t i = 0; i < keys.size();) {
    const std::size_t end = std::min(i + kRow, keys.size());
    const std::uint64_t key = keys[i];
    if (keys[end - 1] == key && std::all_of(&keys[i], &keys[end - 1], [key](auto each) { return each == key; })) {
      if (!count(key, end - i, memory)) return i;
      table = table_;  // it may have grown
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      Counted& place = table[first_place(keys[i], table.size() - 1)];
      if (place.key == keys[i] && place.count != 0) [[likely]] {
        ++place.count;
      } else {
        if (!count(keys[i], 1, memory)) return i;
        table = table_;
      }
    }
  }
  return keys.size();
}

void ValueSketch::add(std::uint64_t hash, std::string_view text, SketchMemory& memory) {
  if (!short_texts_ && text.size() <= kMostTextBytes) {
    short_texts_ = true;
    settle(memory);
  }
  if (!estimate_) {
    const std::size_t before = counted_;
    if (count(hash, 1, memory)) {
      if (counted_ > before) keep_text(hash, text);
      return;
    }
  }
  estimate_->add(hash);
}

inline bool ValueSketch::count(std::uint64_t key, std::uint64_t times, SketchMemory& memory) {
  Counted& place = place_of(key);
  if (place.count == 0) [[unlikely]]
    return count_new(key, times, memory);
  place.count += times;
  return true;
}

bool ValueSketch::count_new(std::uint64_t key, std::uint64_t times, SketchMemory& memory) {
  if (counted_ == most_exact()) {
    begin_estimate(memory);
    settle(memory);
    return false;
  }
  if (places_for(counted_ + 1) > table_.size()) grow_table();
  place_of(key) = {key, times};
  ++counted_;
  settle(memory);
  return true;
}

std::uint64_t ValueSketch::hash_of_key(std::uint64_t key) const noexcept {
  if (texts()) return key;
  return kind_ == ValueKind::ints ? mix_bits(key) : hash_of(std::bit_cast<double>(key));
}

std::size_t ValueSketch::places_for(std::size_t values) noexcept {
  return std::max(kLeastPlaces, std::bit_ceil(2 * values));
}

inline ValueSketch::Counted& ValueSketch::place_of(std::uint64_t key) noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = first_place(key, mask);
  while (table_[i].count != 0 && table_[i].key != key) i = (i + 1) & mask;
  return table_[i];
}

void ValueSketch::grow_table() {
  const std::vector<Counted> before = std::exchange(table_, std::vector<Counted>(2 * table_.size()));
  for (const Counted& counted : before) {
    if (counted.count > 0) place_of(counted.key) = counted;
  }
}

void ValueSketch::begin_estimate(SketchMemory& memory) {
  estimate_.emplace(HyperLogLog::kMostPrecision - level_);
  for (const Counted& counted : table_) {
    if (counted.count > 0) estimate_->add(hash_of_key(counted.key));
  }
  const bool small = kind_ == ValueKind::ints && std::all_of(table_.begin(), table_.end(), [](const Counted& counted) {
                       return counted.count == 0 || SeenNumbers::has_place(counted.key);
                     });
  if (small && memory.seen_numbers > 0) {
    --memory.seen_numbers;
    seen_ = std::make_unique<SeenNumbers>();
  }
  table_ = std::vector<Counted>();  // `= {}` would keep its memory
  counted_ = 0;
  forget_texts();
}

std::size_t ValueSketch::begin_lists(std::uint64_t lists, std::uint64_t values, std::uint64_t priority,
                                     SketchMemory& memory) {
  const std::size_t samples = std::min<std::uint64_t>(values, list_samples());
  const bool more = offered_ < sample_room() || samples > longest_;
  offered_ += lists * samples;
  longest_ = std::max(longest_, samples);
  if (more) settle(memory);
  if (may_sample(priority) && sample_.size() + samples > sample_room()) cut_sample();
  return may_sample(priority) ? samples : 0;
}

void ValueSketch::add_sample(const Sampled& sample, std::optional<std::string_view> text) {
  if (sample_.size() == sample_.capacity()) {
    sample_.reserve(std::min(std::bit_ceil(sample_.size() + 1), sample_room()));
  }
  sample_.push_back(sample);
  if (text) keep_text(sample.key, *text);
}

void ValueSketch::cut_sample() {
  sampled_below_ = std::min(sampled_below_, cut(sample_, most_sampled()));
  if (sample_.capacity() > sample_room()) sample_.shrink_to_fit();
  forget_texts();
}

void ValueSketch::merge(const ValueSketch& other, SketchMemory& memory) {
  short_texts_ = short_texts_ || other.short_texts_;
  for (const Counted& counted : other.table_) {
    if (counted.count == 0) continue;
    if (estimate_ || !count(counted.key, counted.count, memory)) {
      estimate_->add(hash_of_key(counted.key));
    } else if (const auto text = other.text(counted.key)) {
      keep_text(counted.key, *text);
    }
  }
  if (other.estimate_) {
    if (!estimate_) begin_estimate(memory);
    estimate_->merge(*other.estimate_);
  }
  offered_ += other.offered_;
  longest_ = std::max(longest_, other.longest_);
  if (other.sampled_below_ < sampled_below_) {
    sampled_below_ = other.sampled_below_;
    std::erase_if(sample_, [this](const Sampled& sample) { return sample.priority >= sampled_below_; });
    forget_texts();
  }
  for (const Sampled& sample : other.sample_) {
    if (sample.priority < sampled_below_) add_sample(sample, other.text(sample.key));
  }
  if (sample_.size() > sample_room()) cut_sample();
  settle(memory);
}

void ValueSketch::shrink(SketchMemory& memory) {
  level_ = memory.level;
  if (estimate_) {
    estimate_->make_coarser(HyperLogLog::kMostPrecision - level_);
  } else if (counted_ > most_exact()) {
    begin_estimate(memory);
  }
  cut_sample();
  settle(memory);
}

std::uint64_t ValueSketch::charge() const noexcept {
  // An estimate is charged as a full table, which is not smaller.
  const std::size_t exact = estimate_ ? most_exact() : counted_;
  const std::uint64_t sampled = std::min<std::uint64_t>(offered_, sample_room());
  std::uint64_t bytes = places_for(exact) * sizeof(Counted) +
                        std::min<std::uint64_t>(std::bit_ceil(sampled), sample_room()) * sizeof(Sampled);
  // While counts are exact, the texts kept are the counted ones; later, those of the sample.
  if (short_texts_) bytes += (estimate_ ? std::max<std::uint64_t>(exact, sampled) : exact) * kTextCharge;
  return bytes;
}

void ValueSketch::settle(SketchMemory& memory) {
  const std::uint64_t charge_now = charge();
  memory.charged += charge_now - charged_;
  charged_ = charge_now;
}

void ValueSketch::keep_text(std::uint64_t key, std::string_view text) {
  if (text.size() > kMostTextBytes) return;
  const auto [place, added] = kept_texts_.try_emplace(key);
  if (!added) return;
  place->second.size = static_cast<std::uint8_t>(text.size());
  std::copy(text.begin(), text.end(), place->second.bytes.begin());
}

void ValueSketch::forget_texts() {
  // While counts are exact, all texts are needed.
  if (exact() || kept_texts_.empty()) return;
  std::unordered_set<std::uint64_t> needed;
  for (const Sampled& sample : sample_) needed.insert(sample.key);
  std::erase_if(kept_texts_, [&](const auto& entry) { return !needed.contains(entry.first); });
}

std::uint64_t ValueSketch::distinct() const noexcept {
  return exact() ? counted_ : static_cast<std::uint64_t>(std::llround(estimate_->estimate()));
}

std::vector<ValueSketch::Counted> ValueSketch::counts() const {
  std::vector<Counted> counts;
  std::copy_if(table_.begin(), table_.end(), std::back_inserter(counts),
               [](const Counted& counted) { return counted.count > 0; });
  return counts;
}

std::vector<Sampled> ValueSketch::sample() const {
  std::vector<Sampled> sample = sample_;
  cut(sample, most_sampled());
  return sample;
}

std::optional<std::string_view> ValueSketch::text(std::uint64_t key) const noexcept {
  const auto found = kept_texts_.find(key);
  if (found == kept_texts_.end()) return std::nullopt;
  return std::string_view(found->second.bytes.data(), found->second.size);
}

}  // namespace dovetail::detail
