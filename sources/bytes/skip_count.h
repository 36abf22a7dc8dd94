// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// How many records were left out, and the first errors among them; equal ones are one.
///
/// Cost: that of `kShown` errors, however many there are.
class SkipTally {
 public:
  static constexpr std::size_t kShown = 20;

  /// `place` is that on the line of all sources. Without `named` the record is only counted.
  void add(std::uint64_t place, const SkippedRecord& record, bool named = true);
  void add(const SkipTally& other);
  std::uint64_t count() const noexcept { return count_; }
  std::size_t named() const noexcept { return named_.size(); }
  /// By place.
  std::vector<SkippedRecord> first() const;

 private:
  struct Named {
    std::uint64_t place = 0;
    SkippedRecord record;
  };
  void name(std::uint64_t place, const SkippedRecord& record);

  std::uint64_t count_ = 0;
  std::vector<Named> named_;  // by place
};

/// What one reader of a line has left out, by the shares that the line is cut into.
///
/// A reader goes on beyond its share until it finds a record, and begins the next one there; what it has met on the way
/// belongs to that share, if it is the one to read it. So each share is counted by who reads it, and by nobody else.
/// Cost: some errors, and a number for each share between its own and the next record.
class ShareSkips {
 public:
  void add(std::uint64_t share, std::uint64_t place, const SkippedRecord& record);
  /// Of a share that was read to its end; what lies before is forgotten.
  SkipTally take(std::uint64_t share);

 private:
  std::map<std::uint64_t, SkipTally> shares_;
  std::size_t named_ = 0;
};

/// Adds up what all readers have left out. Threads: any.
class SkipCount {
 public:
  void add(const SkipTally& tally) {
    const std::lock_guard lock(mutex_);
    all_.add(tally);
  }
  /// Needs: all threads have ended.
  const SkipTally& all() const noexcept { return all_; }

 private:
  std::mutex mutex_;
  SkipTally all_;
};

}  // namespace dovetail::detail
