// SPDX-License-Identifier: Apache-2.0
#include "tools/command/interrupt.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace dovetail::tools {

namespace {

// Set on the thread that receives the signal, and polled by the threads that work. It orders no
// other memory.
std::atomic<bool> caught = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

extern "C" void note_signal(int /*number*/) {
  caught.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // SA_RESTART keeps a signal from looking like a failed read. SA_RESETHAND lets a second signal
  // end the process.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    // A shell without job control starts `command &` with SIGINT ignored.
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

bool interrupted() noexcept {
  return caught.load(std::memory_order_relaxed);
}

}  // namespace dovetail::tools
