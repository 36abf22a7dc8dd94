// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <dovetail/record_reader.h>

namespace dovetail::detail {

/// Places that a report lists. Of the others only the number is told, so that it is small whatever the damage.
inline constexpr std::size_t kMostDamagedListed = 65'536;

/// Takes a place into a report, or only counts it.
void tell_damage(LostRange damage, VerifyReport& report);

/// What is damaged in shards that are verified at the same time: the first places in the order of the shards, whichever is found
/// first, and how many there are.
///
/// Threads: `add` may run concurrently.
class DamageList {
 public:
  /// Needs: the places of one shard come in their order.
  void add(std::size_t shard, LostRange damage);
  void move_to(VerifyReport& report);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::uint64_t>, LostRange> first_;  // by shard, and how many were found before
  std::uint64_t all_ = 0;
};

}  // namespace dovetail::detail
