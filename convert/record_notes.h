// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "convert/input_line.h"

namespace dovetail::detail {

/// What a conversion notes about the records that it writes: numbers that a float changes, and keys
/// of tars that come back. Threads: any.
class RecordNotes {
 public:
  void add(const LineCursor& cursor);
  /// One for each that is there, with the number of its records and the first. `kept_shards` says
  /// whether there are shards of an earlier call, which it does not count. Needs: all threads have
  /// ended.
  std::vector<std::string> texts(bool kept_shards) const;

 private:
  /// Counts records of one kind.
  struct Noted {
    std::uint64_t records = 0;
    std::pair<std::uint64_t, std::uint64_t> first_at;  // its place, and its number among those there
    std::string first;
  };
  void count(Noted& noted, const LineCursor& cursor, std::string first);

  std::mutex mutex_;
  Noted changed_numbers_;
  Noted repeated_keys_;
};

}  // namespace dovetail::detail
