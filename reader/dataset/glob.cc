// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/glob.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "format/staging_names.h"
#include "format/text/shell_quoted.h"
#include "format/text/wildcard.h"
#include "format/try.h"
#include "reader/dataset/paths.h"

namespace dovetail::detail {
namespace {

namespace fs = std::filesystem;
using format::has_wildcard;
using format::matches;

std::vector<std::string> components(const std::string& pattern) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(pattern).relative_path()) {
    if (!part.empty()) parts.push_back(part.native());
  }
  return parts;
}

// The names in a folder that match one component of a pattern. None if the folder does not exist or
// is no folder.
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

// Whether a match is a file, or may be one. Dangling links, and files that cannot be examined,
// count. Opening them reports the reason, while leaving them out would make a smaller dataset.
bool may_be_file(const std::string& path) {
  std::error_code failure;
  const fs::file_type type = fs::symlink_status(path, failure).type();
  if (type == fs::file_type::not_found || type == fs::file_type::directory) return false;
  std::error_code dangling;
  return type != fs::file_type::symlink || !fs::is_directory(path, dangling);
}

// Shards of a dataset that is being written, or was just replaced, lie in a folder beside the
// target, and a pattern for the target may match this folder too. Then the folder or the target
// contains the staging lock.
bool is_beside_target(const std::string& folder) {
  for (const std::string_view suffix : {format::kStagingSuffix, format::kReplacedSuffix}) {
    if (!folder.ends_with(suffix)) continue;
    std::error_code unknown;
    const std::string target = folder.substr(0, folder.size() - suffix.size());
    return fs::exists(join_path(folder, format::kStagingLock), unknown) ||
           fs::exists(join_path(target, format::kStagingLock), unknown);
  }
  return false;
}

}  // namespace

std::string shard_pattern(std::string_view folder) {
  std::string literal;
  for (const char c : folder) {
    const bool wild = c == '*' || c == '?' || c == '[';
    literal += wild ? std::string{'[', c, ']'} : std::string(1, c);
  }
  return format::shell_path(join_path(literal, "*.dvt"));
}

Result<GlobMatches> expand_glob(const std::string& pattern) {
  const std::vector<std::string> parts = components(pattern);
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
      DOVETAIL_ASSIGN(auto names, list_matches(join_path(found.folder, prefix), *part));
      const bool of_folders = std::next(part) != parts.end();
      for (const std::string& name : names) {
        const std::string path = join_path(prefix, name);
        if (of_folders && is_beside_target(join_path(found.folder, path))) continue;
        next.push_back(path);
      }
    }
    found.files = std::move(next);
  }
  std::erase_if(found.files, [&](const std::string& name) { return !may_be_file(join_path(found.folder, name)); });
  std::sort(found.files.begin(), found.files.end());
  return found;
}

}  // namespace dovetail::detail
