// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dovetail::tools {

/// Colours for a terminal; without them all text stays as it is.
struct Colours {
  bool on = false;

  std::string heading(std::string_view text) const { return wrap("1", text); }  ///< Bold.
  std::string name(std::string_view text) const { return wrap("36", text); }    ///< Cyan.
  std::string bar(std::string_view text) const { return wrap("34", text); }     ///< Blue.

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    if (!on || text.empty()) return std::string(text);
    return "\x1B[" + std::string(code) + 'm' + std::string(text) + "\x1B[0m";
  }
};

}  // namespace dovetail::tools
