// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace dovetail::test {

/// A fork of this process that does nothing but live as long as this: with all descriptors that
/// were open.
class ForkedChild {
 public:
  ForkedChild() : child_(::fork()) {
    EXPECT_GE(child_, 0);
    if (child_ != 0) return;
    ::alarm(60);
    for (;;) ::pause();
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

 private:
  pid_t child_;
};

}  // namespace dovetail::test
