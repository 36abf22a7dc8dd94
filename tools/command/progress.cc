// SPDX-License-Identifier: Apache-2.0
#include "tools/command/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "format/text/count_of.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

constexpr std::chrono::milliseconds kBetweenLines{200};

}  // namespace

std::string progress_text(const std::string& verb, std::uint64_t records, std::uint64_t bytes, double share_done,
                          double seconds) {
  std::string text = verb + ": " + format::count_of(records, "record") + ", " + format::human_bytes(bytes);
  if (seconds > 0) {
    text += ", " + human_rate(static_cast<double>(bytes) / seconds);
  }
  if (share_done < 0) return text;
  const double share = std::min(share_done, 1.0);
  text += ", " + percent(share, 0);
  // With less progress, the estimate would be too inaccurate.
  constexpr double kEnough = 0.005;
  if (share < kEnough) return text;
  return text + ", " + duration(std::ceil(seconds * (1 - share) / share)) + " left";
}

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
  std::fprintf(stderr, "\r\033[K%s", progress_text(verb_, records, bytes, share_done, seconds).c_str());
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace dovetail::tools
