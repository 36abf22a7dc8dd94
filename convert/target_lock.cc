// SPDX-License-Identifier: Apache-2.0
#include "convert/target_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "format/try.h"

namespace dovetail::detail {

Result<TargetLock> TargetLock::take(const std::string& target, std::chrono::milliseconds patience) {
  DOVETAIL_ASSIGN(auto folder, OutputFolder::open(target));
  return take(std::move(folder), patience);
}

Result<TargetLock> TargetLock::take(std::shared_ptr<OutputFolder> folder, std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLongestPause{200};
  const Clock::time_point end = Clock::now() + patience;
  std::chrono::milliseconds pause{10};
  while (::flock(folder->descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;
    if (Clock::now() >= end) {
      return Error(Errc::busy, "another process holds a lock on the folder; run this again when it has ended")
          .in_file(folder->path());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return TargetLock(std::move(folder));
}

TargetLock::~TargetLock() {
  // A process that was forked meanwhile has the same lock: it would keep it for as long as it lives, and must not let it go.
  if (folder_ && !process_.forked()) (void)::flock(folder_->descriptor(), LOCK_UN);
}

bool is_held(const OutputFolder& folder, const std::string& file) noexcept {
  const int descriptor = ::openat(folder.descriptor(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

}  // namespace dovetail::detail
