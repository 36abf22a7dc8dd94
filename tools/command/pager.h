// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace dovetail::tools {

/// While this object lives, standard output goes to the user's pager: `$DOVETAIL_PAGER`, else
/// `$PAGER`, else less, as in git. Does nothing if standard output is not a terminal, or if the
/// pager is empty, `cat` or not installed.
///
/// Threads: the main thread, while no other thread runs.
/// Errors:  none; without a pager everything goes to the terminal. If the user quits the pager
///          early, the output is a closed pipe.
class Pager {
 public:
  explicit Pager(bool wanted);
  /// Waits until the user has closed the pager. Needs: all buffers are flushed.
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  /// Whether the output may have colours: it goes to a terminal, `NO_COLOR` is not set, and both
  /// terminal and pager support colours.
  bool colours() const noexcept { return colours_; }

 private:
  void start(const char* command);

  bool colours_ = false;
  int terminal_ = -1;  // the original standard output
  ::pid_t pager_ = -1;
};

}  // namespace dovetail::tools
