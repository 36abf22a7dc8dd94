// SPDX-License-Identifier: Apache-2.0
#include "bench/workloads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "bench/random.h"
#include "format/endian.h"

namespace dovetail::bench {

namespace {

constexpr std::uint64_t kSeed = 20'260'717;
constexpr double kZipf = 1.05;

constexpr std::uint32_t kTokenBytes = 1024;
constexpr std::uint32_t kVocabulary = 50'257;
// The number of phrases decides what Snappy finds again inside a block.
constexpr std::uint32_t kPhrases = 80'000;
constexpr std::uint32_t kMinPhrase = 3;
constexpr std::uint32_t kMaxPhrase = 12;
constexpr double kPhraseChoice = 0.6;  // how often a phrase comes next, not a single token

constexpr std::uint32_t kMinImage = 16 << 10;
constexpr std::uint32_t kMaxImage = 400 << 10;
constexpr double kMeanImage = 110 << 10;
constexpr int kGammaShape = 4;

constexpr std::uint32_t kTinyBytes = 64;
constexpr std::uint32_t kTinyNumbers = 4;
constexpr std::uint32_t kTinyBelow = 1000;
constexpr std::uint32_t kTinyFloats = 10;

constexpr std::uint32_t kMinLine = 60;
constexpr std::uint32_t kMaxLine = 2000;
constexpr double kMeanLine = 400;
constexpr std::uint32_t kWords = 20'000;
constexpr std::uint32_t kMinWord = 2;
constexpr std::uint32_t kMaxWord = 11;

/// Independent numbers for each record of each workload.
Random random_of(WorkloadKind kind, std::uint64_t record, std::uint64_t purpose) {
  return Random(scrambled(kSeed + 3 * purpose + static_cast<std::uint64_t>(kind)) + record);
}

std::uint64_t full_records(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::tokens:
      return 1'000'000;
    case WorkloadKind::images:
      return 20'000;
    case WorkloadKind::lines:
      return 2'500'000;
    case WorkloadKind::tiny:
      break;
  }
  return 5'000'000;
}

/// Gamma-distributed around a mean, drawn again until it is within bounds.
std::uint32_t gamma_bytes(Random random, double mean, std::uint32_t least, std::uint32_t most) {
  for (;;) {
    // A gamma variate of a whole shape is a sum of exponential ones.
    double product = 1;
    for (int i = 0; i < kGammaShape; ++i) product *= 1 - random.unit();
    const double bytes = -std::log(product) * (mean / kGammaShape);
    if (bytes >= least && bytes <= most) return static_cast<std::uint32_t>(bytes);
  }
}

}  // namespace

struct Workload::Tables {
  struct Phrase {
    std::array<std::uint16_t, kMaxPhrase> tokens{};
    std::uint16_t size = 0;
  };

  AliasTable tokens = AliasTable::zipf(kVocabulary, kZipf);
  AliasTable phrase_of = AliasTable::zipf(kPhrases, kZipf);
  AliasTable tiny_numbers = AliasTable::zipf(kTinyBelow, kZipf);
  std::vector<Phrase> phrases;
  AliasTable word_of = AliasTable::zipf(kWords, kZipf);
  std::vector<std::string> words;

  Tables() : phrases(kPhrases), words(kWords) {
    Random random(scrambled(kSeed));
    for (Phrase& phrase : phrases) {
      phrase.size = static_cast<std::uint16_t>(kMinPhrase + random.below(kMaxPhrase - kMinPhrase + 1));
      for (std::uint16_t& token : phrase.tokens) token = static_cast<std::uint16_t>(tokens.draw(random));
    }
    for (std::string& word : words) {
      word.resize(kMinWord + random.below(kMaxWord - kMinWord + 1));
      for (char& letter : word) letter = static_cast<char>('a' + random.below(26));
      word += ' ';
    }
  }

  void fill_tokens(Random random, std::span<std::byte> out) const {
    constexpr auto choice = static_cast<std::uint32_t>(kPhraseChoice * 0x1.0p32);
    std::array<std::uint16_t, kTokenBytes / 2 + kMaxPhrase> drawn;
    std::size_t count = 0;
    while (count < kTokenBytes / 2) {
      if (static_cast<std::uint32_t>(random.next()) < choice) {
        const Phrase& phrase = phrases[phrase_of.draw(random)];
        std::copy(phrase.tokens.begin(), phrase.tokens.end(), drawn.begin() + count);  // past its size: overwritten
        count += phrase.size;
      } else {
        drawn[count++] = static_cast<std::uint16_t>(tokens.draw(random));
      }
    }
    for (std::size_t i = 0; i < kTokenBytes / 2; ++i) format::store_le(out.data() + 2 * i, drawn[i]);
  }

  void fill_line(Random random, std::span<std::byte> out) const {
    while (!out.empty()) {
      const std::string& word = words[word_of.draw(random)];
      const std::size_t bytes = std::min(word.size(), out.size());
      std::memcpy(out.data(), word.data(), bytes);
      out = out.subspan(bytes);
    }
  }

  void fill_tiny(Random random, std::uint64_t record, std::span<std::byte> out) const {
    std::byte* to = out.data();
    format::store_le(to, record);
    to += sizeof(std::uint64_t);
    for (std::uint32_t i = 0; i < kTinyNumbers; ++i, to += sizeof(std::uint32_t)) {
      format::store_le(to, tiny_numbers.draw(random));
    }
    for (std::uint32_t i = 0; i < kTinyFloats; ++i, to += sizeof(float)) {
      const auto value = static_cast<float>(random.unit());
      std::memcpy(to, &value, sizeof(value));
    }
  }
};

Workload::Workload(WorkloadKind kind, double scale)
    : kind_(kind),
      records_(std::max<std::uint64_t>(
          static_cast<std::uint64_t>(std::llround(static_cast<double>(full_records(kind)) * scale)), kShards)),
      tables_(std::make_shared<const Tables>()) {}

std::string_view Workload::name() const noexcept {
  constexpr std::string_view names[] = {"w1", "w2", "w3", "w4"};
  return names[static_cast<std::size_t>(kind_)];
}

std::vector<std::uint64_t> Workload::shard_records() const {
  // Evenly spread over 0.8 to 1.2 times the mean, in no order: 7 and 16 have no common divisor.
  std::vector<double> ends;
  double total = 0;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    ends.push_back(total += 0.8 + 0.4 * (shard * 7 % kShards) / (kShards - 1));
  }
  std::vector<std::uint64_t> counts;
  std::uint64_t before = 0;
  for (const double end : ends) {
    const auto now = static_cast<std::uint64_t>(std::llround(static_cast<double>(records_) * (end / total)));
    counts.push_back(now - before);
    before = now;
  }
  return counts;
}

std::uint32_t Workload::max_record_bytes() const noexcept {
  constexpr std::uint32_t most[] = {kTokenBytes, kMaxImage, kTinyBytes, kMaxLine};
  return most[static_cast<std::size_t>(kind_)];
}

std::uint32_t Workload::record_bytes(std::uint64_t record) const {
  switch (kind_) {
    case WorkloadKind::images:
      return gamma_bytes(random_of(kind_, record, 1), kMeanImage, kMinImage, kMaxImage);
    case WorkloadKind::lines:
      return gamma_bytes(random_of(kind_, record, 1), kMeanLine, kMinLine, kMaxLine);
    case WorkloadKind::tokens:
    case WorkloadKind::tiny:
      break;
  }
  return max_record_bytes();
}

void Workload::fill(std::uint64_t record, std::span<std::byte> out) const {
  Random random = random_of(kind_, record, 0);
  switch (kind_) {
    case WorkloadKind::tokens:
      return tables_->fill_tokens(random, out);
    case WorkloadKind::images:
      return random.fill(out);
    case WorkloadKind::tiny:
      return tables_->fill_tiny(random, record, out);
    case WorkloadKind::lines:
      return tables_->fill_line(random, out);
  }
}

std::vector<std::byte> Workload::block(std::uint64_t first, std::size_t bytes) const {
  std::vector<std::byte> all;
  for (std::uint64_t record = first; record < records_; ++record) {
    const std::size_t before = all.size();
    const std::size_t more = record_bytes(record);
    if (before != 0 && before + more > bytes) break;
    all.resize(before + more);
    fill(record, std::span(all).subspan(before));
  }
  return all;
}

}  // namespace dovetail::bench
