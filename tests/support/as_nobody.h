// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

namespace dovetail::test {

/// While it lives, the process is nobody, where it was root: root may do everything.
class AsNobody {
 public:
  AsNobody() : before_(::geteuid()) {
    if (before_ == 0) changed_ = ::seteuid(65534) == 0;
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (changed_ && ::seteuid(before_) != 0) ADD_FAILURE() << "still nobody";
  }

  /// Whether it may do to a file what `mode` (`R_OK`, `W_OK`, `X_OK`) says.
  bool may(const std::string& path, int mode) const {
    return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
  }

 private:
  uid_t before_;
  bool changed_ = false;
};

inline constexpr std::filesystem::perms kAllMayRead =
    std::filesystem::perms::owner_read | std::filesystem::perms::group_read | std::filesystem::perms::others_read;
inline constexpr std::filesystem::perms kAllMaySearch =
    std::filesystem::perms::owner_exec | std::filesystem::perms::group_exec | std::filesystem::perms::others_exec;

/// While it lives, a folder has these permissions; afterwards it can be removed.
class FolderPermissions {
 public:
  FolderPermissions(std::string path, std::filesystem::perms perms) : path_(std::move(path)) {
    std::filesystem::permissions(path_, perms);
  }
  FolderPermissions(const FolderPermissions&) = delete;
  FolderPermissions& operator=(const FolderPermissions&) = delete;
  ~FolderPermissions() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  }

 private:
  std::string path_;
};

}  // namespace dovetail::test
