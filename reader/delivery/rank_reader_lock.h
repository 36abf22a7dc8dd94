// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "reader/delivery/rank_reader.h"

namespace dovetail::detail {

class RankReader::Lock {
 public:
  explicit Lock(RankReader& reader) : reader_(reader), lock_(reader.mutex_) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { unlock(); }
  void unlock() noexcept {
    if (!lock_.owns_lock()) return;
    lock_.unlock();
    reader_.queue_->complete();
  }

 private:
  RankReader& reader_;
  std::unique_lock<BriefMutex> lock_;
};

}  // namespace dovetail::detail
