// SPDX-License-Identifier: Apache-2.0
// The rounds of a soak.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <dovetail/batch_reader.h>

#include "tests/soak/soak_data.h"

namespace dovetail::test {

/// What a soak loses on purpose, to show that it would be found.
enum class Leak : std::uint8_t {
  none,
  bytes,    ///< 64 bytes with each batch.
  handles,  ///< In each round a descriptor, a mapping, a locked page and a thread.
};

/// Readers that are opened, stopped, resumed, dropped and read to their ends, and readers that live
/// as long as the soak.
///
/// Threads: none; starts and joins its own.
/// Errors:  `std::runtime_error` for anything that is not as it should be; the state of the draws
///          is as at the beginning of the round, so that the seed and the number of the round
///          repeat it.
class SoakWork {
 public:
  SoakWork(std::vector<SoakData> data, std::uint64_t seed, Leak leak);

  /// An epoch of every dataset by a world of readers that come and go, and one by the reader that
  /// stays.
  void round();

  const Delivered& delivered() const noexcept { return delivered_; }
  std::uint64_t readers() const noexcept { return readers_; }
  std::uint64_t epochs() const noexcept { return epochs_; }
  /// Bytes that were locked, and lost on purpose.
  std::int64_t locked() const noexcept { return locked_; }
  /// Kinds of storage that this machine has.
  const std::vector<StorageKind>& kinds() const noexcept { return kinds_; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  StorageKind kind() { return kinds_[below(kinds_.size())]; }
  ReaderOptions draw_options(const SoakData& data);
  /// All ranks of a world, after each other or at the same time; the digests must add up.
  void read_world(const SoakData& data);
  void drop_somewhere(const SoakData& data);
  void read_staying(std::size_t i);
  void leak_once();

  const std::vector<SoakData> data_;
  const std::uint64_t seed_;
  const Leak leak_;
  std::mt19937_64 random_;
  std::vector<StorageKind> kinds_;
  struct Staying {
    BatchReader reader;
    Hash128 digest;
    std::uint32_t epoch = 0;
  };
  std::vector<Staying> staying_;
  Delivered delivered_;
  std::uint64_t readers_ = 0;
  std::uint64_t epochs_ = 0;
  std::uint64_t rounds_ = 0;
  std::int64_t locked_ = 0;
};

}  // namespace dovetail::test
