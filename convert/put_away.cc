// SPDX-License-Identifier: Apache-2.0
#include "convert/put_away.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "convert/target_lock.h"

namespace dovetail::detail {

namespace {

// Neither parts nor datasets to anybody.
constexpr std::string_view kRemovedPrefix = ".dovetail-removed-";

void remove_rest(const OutputFolder& folder) noexcept {
  ::unlinkat(folder.descriptor(), kLockName, 0);
  ::unlinkat(folder.descriptor(), kMergedName, 0);
  ::rmdir(folder.path().c_str());
}

bool move_folder(const std::string& from, const std::string& to) noexcept {
  return ::renameat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str()) == 0;
}

}  // namespace

bool is_no_link(const OutputFolder& folder) {
  struct stat named {};
  struct stat opened {};
  return ::lstat(folder.path().c_str(), &named) == 0 && ::fstat(folder.descriptor(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

bool is_folder(const OutputFolder& folder, const std::string& name) {
  struct stat status {};
  return ::fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

std::optional<std::string> put_away(const std::string& path, const std::string& name) {
  std::string away = (std::filesystem::path(path).parent_path() / (std::string(kRemovedPrefix) + name)).native();
  if (move_folder(path, away)) return away;
  // One of the same part may lie there.
  if (errno != ENOTEMPTY && errno != EEXIST) return std::nullopt;
  const auto earlier = OutputFolder::open(away);
  if (!earlier || !is_no_link(**earlier)) return std::nullopt;
  remove_rest(**earlier);
  if (!move_folder(path, away)) return std::nullopt;
  return away;
}

void sweep_away(const OutputFolder& target, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!name.starts_with(kRemovedPrefix) || !is_folder(target, name)) continue;
    const auto folder = OutputFolder::open(target.path_of(name));
    if (folder && is_no_link(**folder) && !is_held(**folder, kLockName)) remove_rest(**folder);
  }
}

}  // namespace dovetail::detail
