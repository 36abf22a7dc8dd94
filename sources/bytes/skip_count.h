// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <dovetail/source_options.h>

namespace dovetail::detail {

/// Number of records left out, and the first distinct errors.
///
/// Cost: at most `kShown` errors.
class SkipTally {
 public:
  static constexpr std::size_t kShown = 20;

  /// `place` is the position on the line of all sources. Unless `named`, the record is only
  /// counted.
  void add(std::uint64_t place, const SkippedRecord& record, bool named = true);
  void add(const SkipTally& other);
  std::uint64_t count() const noexcept { return count_; }
  std::size_t named() const noexcept { return named_.size(); }
  /// Ordered by place.
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

/// Records left out by one reader of a line, by shares of the line.
///
/// A reader continues beyond its share until it finds a record, and may begin the next share there.
/// Records skipped on the way belong to that share, if the same reader reads it. So each share is
/// counted exactly by its reader.
/// Cost: some errors, and a number for each share between its own and the next record.
class ShareSkips {
 public:
  void add(std::uint64_t share, std::uint64_t place, const SkippedRecord& record);
  /// Skips of a share that was read to its end; forgets earlier shares.
  SkipTally take(std::uint64_t share);

 private:
  std::map<std::uint64_t, SkipTally> shares_;
  std::size_t named_ = 0;
};

/// Adds up the skips of all readers. Threads: any.
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
