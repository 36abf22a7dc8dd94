// SPDX-License-Identifier: Apache-2.0
#include "tools/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tools/render.h"

namespace dovetail::tools {

namespace {

constexpr std::chrono::milliseconds kBetweenLines{200};

}  // namespace

Progress::Progress(std::string verb)
    : verb_(std::move(verb)),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_(start_ + kBetweenLines) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t records, std::uint64_t bytes, double share_done) {
  if (!terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetweenLines;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string rate = human_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds));
  std::fprintf(stderr, "\r\033[K%s: %llu records, %s, %s/s", verb_.c_str(), static_cast<unsigned long long>(records),
               human_bytes(bytes).c_str(), rate.c_str());
  if (share_done >= 0) std::fprintf(stderr, ", %.0f %%", share_done * 100);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace dovetail::tools
