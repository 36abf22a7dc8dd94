// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace dovetail::detail {
namespace {

// Linux transfers at most this much per call and silently stops there.
constexpr std::size_t kMaxTransfer = 0x7FFFF000;

FileIdentity identity_of(const struct stat& status) noexcept {
  FileIdentity identity;
  identity.device = static_cast<std::uint64_t>(status.st_dev);
  identity.inode = static_cast<std::uint64_t>(status.st_ino);
  identity.bytes = static_cast<std::uint64_t>(status.st_size);
  identity.modified_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::int64_t>(status.st_mtim.tv_nsec);
  return identity;
}

std::string describe_change(const FileIdentity& opened, const FileIdentity& now) {
  if (opened.bytes != now.bytes) {
    return "it had " + std::to_string(opened.bytes) + " bytes when it was opened and has " + std::to_string(now.bytes) +
           " now";
  }
  return "it was written to after it was opened";
}

}  // namespace

InputFile::InputFile(int fd, std::string path, const FileIdentity& identity)
    : fd_(fd), path_(std::move(path)), identity_(identity) {}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), identity_(other.identity_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(identity_, other.identity_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<InputFile> InputFile::open(const std::string& path) {
  // Non-blocking, because opening a pipe would otherwise wait for a writer; regular files do not care.
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error::from_errno(errno, "cannot open the file").in_file(path);

  InputFile file(fd, path, {});
  struct stat status {};
  if (::fstat(fd, &status) != 0) return Error::from_errno(errno, "cannot examine the file").in_file(path);
  if (S_ISDIR(status.st_mode)) return Error::from_errno(EISDIR, "a file is wanted here").in_file(path);
  if (!S_ISREG(status.st_mode)) return Error(Errc::unknown_format, "not a regular file").in_file(path);
  file.identity_ = identity_of(status);
  return file;
}

Result<void> InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  // Offsets come from files; the system's are signed.
  constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (out.size() > kMaxOffset || offset > kMaxOffset - out.size()) {
    return Error(Errc::truncated, "no file is that long").at(path_, offset);
  }
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const ssize_t got =
        ::pread(fd_, out.data() + done, std::min(out.size() - done, kMaxTransfer), static_cast<off_t>(at));
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, "cannot read " + std::to_string(out.size() - done) + " bytes").at(path_, at);
    }
    if (got == 0) {
      if (auto same = check_unchanged(); !same) return same.error().at(path_, at);
      return Error(Errc::truncated, "the file ends here, " + std::to_string(out.size() - done) + " bytes too early")
          .at(path_, at);
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Result<void> InputFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return Error::from_errno(errno, "cannot examine the file").in_file(path_);
  const FileIdentity now = identity_of(status);
  if (now != identity_) return Error(Errc::file_changed, describe_change(identity_, now)).in_file(path_);
  return {};
}

void InputFile::drop_cache(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  // The kernel keeps pages that the range covers only in part, so it is widened to whole ones.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const std::uint64_t end = (offset + bytes + page - 1) / page * page;
  (void)::posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
}

}  // namespace dovetail::detail
