// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace dovetail::tools {

/// Stands between standard output and the terminal while it lives: what is written goes to the user's pager, which is
/// `$DOVETAIL_PAGER`, else `$PAGER`, else less, as git does it. Nothing happens where standard output is no terminal, the
/// pager is empty or `cat`, or its program is not there.
///
/// Threads: main, while no other thread runs.
/// Errors:  none: without a pager everything goes to the terminal. A pager that is quit early is a closed pipe.
class Pager {
 public:
  explicit Pager(bool wanted);
  /// Waits until the user has read. Whatever is buffered has to be written before.
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  /// Whether what is written may be coloured: it is for a terminal, and neither `NO_COLOR` nor a terminal or a pager that
  /// would show the codes speak against it.
  bool colours() const noexcept { return colours_; }

 private:
  void start(const char* command);

  bool colours_ = false;
  int terminal_ = -1;  // standard output as it was
  ::pid_t pager_ = -1;
};

}  // namespace dovetail::tools
