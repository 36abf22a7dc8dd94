// SPDX-License-Identifier: Apache-2.0
#include "format/text/wildcard.h"

#include <cstddef>

namespace dovetail::format {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Returns the position behind the set that begins at `open`, or `kNone` if the set is never closed.
std::size_t end_of_set(std::string_view pattern, std::size_t open) noexcept {
  std::size_t first = open + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  // A bracket in the first place belongs to the set.
  const std::size_t close = pattern.find(']', first + 1);
  return close == kNone ? kNone : close + 1;
}

bool in_set(char c, std::string_view set) noexcept {
  const bool negated = set.front() == '!' || set.front() == '^';
  if (negated) set.remove_prefix(1);
  const auto byte = static_cast<unsigned char>(c);
  bool found = false;
  for (std::size_t i = 0; i < set.size();) {
    const auto low = static_cast<unsigned char>(set[i]);
    const bool range = i + 2 < set.size() && set[i + 1] == '-';
    const auto high = static_cast<unsigned char>(range ? set[i + 2] : set[i]);
    found = found || (low <= byte && byte <= high);
    i += range ? 3 : 1;
  }
  return found != negated;
}

// Matches one byte against the pattern at `at`. Returns the position behind the part of the pattern
// used, or `kNone`.
std::size_t match_one(char c, std::string_view pattern, std::size_t at) noexcept {
  if (at >= pattern.size()) return kNone;
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    const std::size_t end = end_of_set(pattern, at);
    if (end != kNone) return in_set(c, pattern.substr(at + 1, end - at - 2)) ? end : kNone;
  }
  return pattern[at] == c ? at + 1 : kNone;
}

}  // namespace

bool has_wildcard(std::string_view path) noexcept {
  return path.find_first_of("*?[") != kNone;
}

bool matches(std::string_view name, std::string_view pattern) noexcept {
  if (!name.empty() && name.front() == '.' && (pattern.empty() || pattern.front() != '.')) return false;
  std::size_t at = 0;
  std::size_t star = kNone;  // behind the last star met, which took `taken` bytes
  std::size_t taken = 0;
  for (std::size_t i = 0; i < name.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      taken = i;
      continue;
    }
    const std::size_t next = match_one(name[i], pattern, at);
    if (next != kNone) {
      at = next;
      ++i;
    } else if (star != kNone) {
      at = star;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == kNone;
}

}  // namespace dovetail::format
