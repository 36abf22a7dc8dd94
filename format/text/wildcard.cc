// SPDX-License-Identifier: Apache-2.0
#include "format/text/wildcard.h"

#include <fnmatch.h>
#include <locale.h>

#include <string>

namespace dovetail::format {

bool has_wildcard(std::string_view path) noexcept {
  return path.find_first_of("*?[") != path.npos;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.find('\0') != pattern.npos) return false;  // fnmatch(3) would take only what is before it
  static const locale_t bytewise = ::newlocale(LC_ALL_MASK, "C", nullptr);
  const std::string name_text(name);
  const std::string pattern_text(pattern);
  const locale_t before = ::uselocale(bytewise);
  const bool match = ::fnmatch(pattern_text.c_str(), name_text.c_str(), FNM_NOESCAPE | FNM_PERIOD) == 0;
  ::uselocale(before);
  return match;
}

}  // namespace dovetail::format
