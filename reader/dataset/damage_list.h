// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <dovetail/record_reader.h>

namespace dovetail::detail {

/// The most damaged places that a report lists. Further places are only counted, so that the report
/// stays small.
inline constexpr std::size_t kMostDamagedListed = 65'536;

/// Adds a damaged place to a report, or only counts it.
void tell_damage(LostRange damage, VerifyReport& report);

/// Collects damage of shards that are verified at the same time: the number of damaged places, and
/// the first places in the order of shards, whichever is found first.
///
/// Threads: `add` may run concurrently.
class DamageList {
 public:
  /// Needs: the places of one shard are added in their order.
  void add(std::size_t shard, LostRange damage);
  void move_to(VerifyReport& report);

 private:
  std::mutex mutex_;
  // Key: shard, and number of its earlier places.
  std::map<std::pair<std::size_t, std::uint64_t>, LostRange> first_;
  std::uint64_t all_ = 0;
};

}  // namespace dovetail::detail
