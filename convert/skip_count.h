// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include <dovetail/source_options.h>

#include "convert/keyed_hash.h"

namespace dovetail::detail {

/// Counts what was left out of the sources of a conversion, each once, whoever met it: threads read a little beyond their
/// shares, and the first records twice.
///
/// Threads: any.
/// Cost:    some 40 bytes for each; the first ones whole.
class SkipCount {
 public:
  /// Of how many more than the count is kept.
  static constexpr std::size_t kShown = 20;

  void add(const SkippedRecord& record) {
    // In a compressed file many records have the same place; what is wrong with them names their numbers.
    const Place place{record.error.path(), record.consumed_bytes, record.error.offset().value_or(0),
                      record.error.detail()};
    const auto& [path, consumed, offset, detail] = place;
    const std::string text = path + '\0' + std::to_string(consumed) + ' ' + std::to_string(offset) + ' ' + detail;
    const std::lock_guard lock(mutex_);
    if (!seen_.insert(keyed_hash(as_bytes(text), 0)).second) return;
    first_.emplace(place, record);
    if (first_.size() > kShown) first_.erase(std::prev(first_.end()));
  }
  std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return seen_.size();
  }
  /// By file and place.
  std::vector<SkippedRecord> first() const {
    const std::lock_guard lock(mutex_);
    std::vector<SkippedRecord> records;
    for (const auto& [place, record] : first_) records.push_back(record);
    return records;
  }

 private:
  using Place = std::tuple<std::string, std::uint64_t, std::uint64_t, std::string>;

  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> seen_;  // hashes of places, which at these numbers are as good as the places
  std::map<Place, SkippedRecord> first_;
};

}  // namespace dovetail::detail
