// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/glob.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "reader/dataset/paths.h"

namespace dovetail::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNone = std::string_view::npos;

// The position behind the set that begins at `open`, or nothing where it is never closed.
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

// Matches one byte against the pattern at `at`; the position behind what it used, or nothing.
std::size_t match_one(char c, std::string_view pattern, std::size_t at) noexcept {
  if (at >= pattern.size()) return kNone;
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    const std::size_t end = end_of_set(pattern, at);
    if (end != kNone) return in_set(c, pattern.substr(at + 1, end - at - 2)) ? end : kNone;
  }
  return pattern[at] == c ? at + 1 : kNone;
}

std::vector<std::string_view> components(std::string_view pattern) {
  std::vector<std::string_view> parts;
  while (!pattern.empty()) {
    const std::size_t slash = std::min(pattern.find('/'), pattern.size());
    if (slash > 0) parts.push_back(pattern.substr(0, slash));
    pattern.remove_prefix(std::min(slash + 1, pattern.size()));
  }
  return parts;
}

// Names in a folder that match one component. What is no folder, or is not there, holds none.
Result<std::vector<std::string>> list_matches(const std::string& folder, std::string_view component) {
  const std::string listed = folder.empty() ? "." : folder;
  std::vector<std::string> names;
  std::error_code failure;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(listed, failure); !failure && it != end; it.increment(failure)) {
    std::string name = it->path().filename().native();
    if (matches(name, component)) names.push_back(std::move(name));
  }
  const bool absent = failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
  if (failure && !absent) return Error::from_errno(failure.value(), "cannot list the folder").in_file(listed);
  return names;
}

// Whether what a pattern stands for is a file, or may be one. A dangling link is, and what cannot be looked at: opening it
// says why, while leaving it out would make a smaller dataset.
bool may_be_file(const std::string& path) {
  std::error_code failure;
  const fs::file_type type = fs::symlink_status(path, failure).type();
  if (type == fs::file_type::not_found || type == fs::file_type::directory) return false;
  std::error_code dangling;
  return type != fs::file_type::symlink || !fs::is_directory(path, dangling);
}

}  // namespace

bool has_wildcard(std::string_view path) noexcept {
  return path.find_first_of("*?[") != kNone;
}

std::string shard_pattern(std::string_view folder) {
  std::string literal;
  for (const char c : folder) {
    const bool wild = c == '*' || c == '?' || c == '[';
    literal += wild ? std::string{'[', c, ']'} : std::string(1, c);
  }
  return "'" + join_path(literal, "*.dvt") + "'";
}

bool matches(std::string_view name, std::string_view pattern) noexcept {
  if (!name.empty() && name.front() == '.' && (pattern.empty() || pattern.front() != '.')) return false;
  std::size_t at = 0;
  std::size_t star = kNone;  // behind the last star met, and how much of the name it has taken
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

Result<GlobMatches> expand_glob(const std::string& pattern) {
  const std::vector<std::string_view> parts = components(pattern);
  const auto first_wild = std::find_if(parts.begin(), parts.end(), has_wildcard);

  GlobMatches found;
  if (!pattern.empty() && pattern.front() == '/') found.folder = "/";
  for (auto part = parts.begin(); part != first_wild; ++part) found.folder = join_path(found.folder, *part);

  found.files = {""};
  for (auto part = first_wild; part != parts.end(); ++part) {
    std::vector<std::string> next;
    for (const std::string& prefix : found.files) {
      if (!has_wildcard(*part)) {
        next.push_back(join_path(prefix, *part));
        continue;
      }
      auto names = list_matches(join_path(found.folder, prefix), *part);
      if (!names) return names.error();
      for (const std::string& name : *names) next.push_back(join_path(prefix, name));
    }
    found.files = std::move(next);
  }
  std::erase_if(found.files, [&](const std::string& name) { return !may_be_file(join_path(found.folder, name)); });
  std::sort(found.files.begin(), found.files.end());
  return found;
}

}  // namespace dovetail::detail
