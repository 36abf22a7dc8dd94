// SPDX-License-Identifier: Apache-2.0
#include "writer/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace dovetail::detail {

Result<FileLock> FileLock::take(const OutputFolder& folder, const std::string& name, Access access) {
  const int operation = (access == Access::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  constexpr int kTries = 100;
  for (int tries = 1; tries <= kTries; ++tries) {
    constexpr int kFlags = O_RDWR | O_NOFOLLOW;
    Descriptor file = open_at(folder.descriptor(), name.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
    const bool created = static_cast<bool>(file);
    if (!created && errno == EEXIST) file = open_at(folder.descriptor(), name.c_str(), kFlags);
    if (!file && errno == ENOENT && folder.is_in_place()) continue;
    if (!file) return Error::from_errno(errno, "cannot create the lock").in_file(folder.path_of(name));
    FileLock lock(std::move(file), created);
    if (::flock(lock.file_.number(), operation) != 0 && errno == EWOULDBLOCK) {
      return Error(Errc::busy, "another process writes here").in_file(folder.path());
    }
    // The previous holder of the lock may have removed the file between the two calls.
    struct stat mine {};
    struct stat there {};
    if (::fstat(lock.file_.number(), &mine) != 0 ||
        (::fstatat(folder.descriptor(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)) {
      const Error failed = Error::from_errno(errno, "cannot examine the lock").in_file(folder.path_of(name));
      // A lock alone would mark the folder as unfinished. Another process may hold it by now.
      if (created && lock.make_exclusive()) (void)folder.remove(name);
      return failed;
    }
    if (mine.st_ino == there.st_ino) return lock;
    if (mine.st_nlink == 0 && !folder.is_in_place()) {
      return Error::from_errno(ENOENT, "another process has removed the folder").in_file(folder.path());
    }
  }
  return Error(Errc::busy, "other processes keep creating and removing the lock").in_file(folder.path_of(name));
}

FileLock::~FileLock() {
  release();
}

void FileLock::release() noexcept {
  if (!file_) return;
  // A child forked meanwhile keeps the descriptor open, and so the lock, unless the lock is
  // released here.
  if (!process_.forked()) (void)::flock(file_.number(), LOCK_UN);
  file_ = Descriptor();
}

Result<void> FileLock::write(std::string_view text, const std::string& path) const {
  off_t end = 0;
  while (!text.empty()) {
    const ssize_t written = ::pwrite(file_.number(), text.data(), text.size(), end);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::from_errno(errno, "cannot write the lock").in_file(path);
    text.remove_prefix(static_cast<std::size_t>(written));
    end += written;
  }
  if (::ftruncate(file_.number(), end) == 0 && ::fdatasync(file_.number()) == 0) return {};
  return Error::from_errno(errno, "cannot write the lock").in_file(path);
}

Result<std::string> FileLock::read(const std::string& path) const {
  std::array<char, 256> text{};
  for (std::size_t size = 0;;) {
    const ssize_t got = ::pread(file_.number(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "cannot read the lock").in_file(path);
    size += static_cast<std::size_t>(got);
    if (got == 0 || size == text.size()) return std::string(text.data(), size);
  }
}

bool FileLock::make_exclusive() noexcept {
  return ::flock(file_.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

bool is_locked(const OutputFolder& folder, const std::string& name, FileLock::Access access) noexcept {
  const int operation = (access == FileLock::Access::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK;
  Descriptor file = open_at(folder.descriptor(), name.c_str(), O_RDWR | kFlags);  // NFS locks only writable files
  if (!file) file = open_at(folder.descriptor(), name.c_str(), O_RDONLY | kFlags);
  return file && ::flock(file.number(), operation) != 0 && errno == EWOULDBLOCK;
}

}  // namespace dovetail::detail
