// SPDX-License-Identifier: Apache-2.0
#include "tools/command/interrupt.h"

#include <atomic>
#include <csignal>

namespace dovetail::tools {

namespace {

// Noted on whichever thread the signal comes to, and asked for by those that work; nothing else is told by it.
std::atomic<bool> caught = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

extern "C" void note_signal(int /*number*/) {
  caught.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // Restarted calls keep a signal from looking like a failed read; the reset lets a second one through.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() noexcept {
  return caught.load(std::memory_order_relaxed);
}

}  // namespace dovetail::tools
