// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Counts what was left out of the sources of a conversion, each once, whoever met it: threads read a little beyond their
/// shares, and the first records twice.
///
/// Threads: any.
/// Cost:    some 100 bytes for each.
class SkipCount {
 public:
  void add(const SkippedRecord& record) {
    const std::lock_guard lock(mutex_);
    seen_.emplace(std::pair(record.error.path(), std::pair(record.consumed_bytes, record.error.offset().value_or(0))),
                  record);
  }
  std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return seen_.size();
  }
  /// By file and place.
  std::vector<SkippedRecord> first(std::size_t most) const {
    const std::lock_guard lock(mutex_);
    std::vector<SkippedRecord> records;
    for (const auto& [place, record] : seen_) {
      if (records.size() == most) break;
      records.push_back(record);
    }
    return records;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>, SkippedRecord> seen_;
};

}  // namespace dovetail::detail
