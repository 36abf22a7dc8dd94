// SPDX-License-Identifier: Apache-2.0
#include "tools/command/exit_code.h"

#include <cstdio>

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

}  // namespace dovetail::tools
