// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace dovetail::test {

/// A file system of 1 MiB, or a folder once more, at another folder, where the process may mount
/// one.
class Mounted {
 public:
  static Mounted small_disk(const std::string& at) { return {"tmpfs", at, MS_NOSUID | MS_NODEV, "size=1m"}; }
  static Mounted again(const std::string& folder, const std::string& at) { return {folder, at, MS_BIND, nullptr}; }

  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  ~Mounted() {
    if (error_ == 0) ::umount2(at_.c_str(), MNT_DETACH);
  }
  /// 0, or why there is none.
  int error() const { return error_; }

 private:
  Mounted(const std::string& what, const std::string& at, unsigned long flags, const char* options) : at_(at) {
    std::filesystem::create_directory(at);
    error_ = ::mount(what.c_str(), at.c_str(), "tmpfs", flags, options) == 0 ? 0 : errno;
  }

  std::string at_;
  int error_;
};

}  // namespace dovetail::test
