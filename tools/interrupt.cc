// SPDX-License-Identifier: Apache-2.0
#include "tools/interrupt.h"

#include <csignal>

namespace dovetail::tools {

namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void note_signal(int /*number*/) {
  caught = 1;
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
  return caught != 0;
}

}  // namespace dovetail::tools
