// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "convert/input_line.h"

namespace dovetail::detail {

/// Counts the records with a number that a float changes, and names the first. Threads: any.
class ChangedNumbers {
 public:
  void add(const LineCursor& cursor);
  /// Empty if there are none. Needs: all threads have ended.
  std::string note() const;

 private:
  std::mutex mutex_;
  std::uint64_t records_ = 0;
  std::pair<std::uint64_t, std::uint64_t> first_at_;  // its place, and its number among those there
  std::string first_;
};

}  // namespace dovetail::detail
