// SPDX-License-Identifier: Apache-2.0
#include "tools/command/messages.h"

#include <cstdio>

#include "format/text/visible.h"

namespace dovetail::tools {

namespace {

bool is_closed_pipe(const Error& error) noexcept {
  return error.code() == boost::system::errc::broken_pipe;
}

}  // namespace

int exit_code(const Error& error) noexcept {
  if (is_closed_pipe(error)) return kExitGood;
  switch (error.kind()) {
    case ErrorKind::damaged:
      return kExitDamaged;
    case ErrorKind::usage:
      return kExitUsage;
    case ErrorKind::io:
      return kExitIo;
    case ErrorKind::cancelled:
      return kExitInterrupted;
  }
  return kExitIo;
}

int report(const Error& error) {
  if (!is_closed_pipe(error)) std::fprintf(stderr, "dovetail: error: %s\n", error.to_string().c_str());
  return exit_code(error);
}

void warn(std::string_view text) {
  std::fprintf(stderr, "dovetail: warning: %s\n", format::visible(text).c_str());
}

}  // namespace dovetail::tools
