// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/source_file.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <boost/system/errc.hpp>

#include <dovetail/error.h>

namespace dovetail::detail {

namespace {
constexpr std::size_t kMaxReadBytes = std::size_t{1} << 30;  // Linux reads less than 2 GiB per call
}  // namespace

Result<SourceFile> SourceFile::open(const std::string& path) {
  SourceFile file;
  file.path_ = path;
  // Without O_NONBLOCK, opening a pipe would wait instead of refusing it.
  file.descriptor_ = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.descriptor_) return Error::from_errno(errno, "cannot open the file").in_file(path);
  struct stat status {};
  const int reason = ::fstat(file.descriptor_.number(), &status) == 0 ? 0 : errno;
  file.size_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  if (reason != 0) return Error::from_errno(reason, "cannot examine the file").in_file(path);
  if (!S_ISREG(status.st_mode)) return Error(Errc::unknown_format, "neither a regular file nor a folder").in_file(path);
  ::posix_fadvise(file.descriptor_.number(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

bool SourceFile::is_being_written() const noexcept {
  if (::flock(descriptor_.number(), LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(descriptor_.number(), LOCK_UN);
  return false;
}

Result<std::size_t> SourceFile::read(std::span<std::byte> out) {
  if (cancelled_ && cancelled_()) {
    return Error(make_error_code(boost::system::errc::operation_canceled), "interrupted").at(path_, position_);
  }
  Result<std::size_t> read = read_at(position_, out);
  if (read) position_ += *read;
  return read;
}

std::uint64_t SourceFile::skip(std::uint64_t bytes) noexcept {
  const std::uint64_t skipped = std::min(bytes, size_ - std::min(size_, position_));
  position_ += skipped;
  return skipped;
}

Result<std::size_t> SourceFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, kMaxReadBytes);
    const ssize_t got = ::pread(descriptor_.number(), out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "cannot read").at(path_, offset + done);
    if (got == 0 && offset + done < size_) {
      return Error(Errc::file_changed, "it ends here, but had " + std::to_string(size_) + " bytes when it was opened")
          .at(path_, offset + done);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace dovetail::detail
