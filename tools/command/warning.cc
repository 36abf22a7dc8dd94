// SPDX-License-Identifier: Apache-2.0
#include "tools/command/warning.h"

#include <cstdio>

#include "format/text/visible.h"

namespace dovetail::tools {

void warn(std::string_view text) {
  std::fprintf(stderr, "dovetail: warning: %s\n", format::visible(text).c_str());
}

}  // namespace dovetail::tools
