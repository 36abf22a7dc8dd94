// SPDX-License-Identifier: Apache-2.0
#include "reader/storage/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <mutex>

namespace dovetail::detail {
namespace {

// Offsets come from files and are unsigned; those of the system are signed.
constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

// Enough for common devices. File systems with larger units report them.
constexpr std::size_t kDirectAlignment = 4096;

/// The rest of a destination, in the form that the system needs.
struct Vectors {
  std::array<iovec, 2> parts;
  int count = 0;

  explicit Vectors(const ReadInto& into) noexcept {
    for (const std::span<std::byte> part : {into.first, into.second}) {
      if (!part.empty()) parts[static_cast<std::size_t>(count++)] = {.iov_base = part.data(), .iov_len = part.size()};
    }
  }
};

bool within_system_range(std::uint64_t offset, std::size_t bytes) noexcept {
  return bytes <= kMaxOffset && offset <= kMaxOffset - bytes;
}

FileIdentity identity_of(const struct stat& status) noexcept {
  FileIdentity identity;
  identity.device = static_cast<std::uint64_t>(status.st_dev);
  identity.inode = static_cast<std::uint64_t>(status.st_ino);
  identity.bytes = static_cast<std::uint64_t>(status.st_size);
  identity.modified_ns = static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
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

ReadInto ReadInto::after(std::size_t bytes) const noexcept {
  const std::size_t of_first = std::min(bytes, first.size());
  return {.first = first.subspan(of_first), .second = second.subspan(bytes - of_first)};
}

ReadInto ReadInto::before(std::size_t bytes) const noexcept {
  const std::size_t of_first = std::min(bytes, first.size());
  return {.first = first.first(of_first), .second = second.first(bytes - of_first)};
}

void ReadInto::copy_from(std::span<const std::byte> bytes) const noexcept {
  const std::size_t of_first = std::min(bytes.size(), first.size());
  std::copy_n(bytes.data(), of_first, first.data());
  std::copy_n(bytes.data() + of_first, bytes.size() - of_first, second.data());
}

struct InputFile::Access {
  int fd = -1;
  // Relaxed: these facts about the file come with no other data, and each thread may find them
  // itself.
  std::atomic<bool> cannot_try{false};
  std::atomic<bool> cannot_be_direct{false};
  std::once_flag direct_opened;
  DirectAccess direct;

  ~Access() {
    if (direct.fd >= 0) ::close(direct.fd);
    if (fd >= 0) ::close(fd);
  }
};

InputFile::InputFile(const std::string& path) : path_(path), access_(std::make_shared<Access>()) {}

int InputFile::fd() const noexcept {
  return access_->fd;
}

Result<InputFile> InputFile::open(const std::string& path) {
  // Create the owner of the descriptor before the descriptor, because it needs memory.
  // O_NONBLOCK, because opening a pipe would otherwise wait for a writer. It has no effect on
  // regular files.
  InputFile file(path);
  int& fd = file.access_->fd;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error::from_errno(errno, "cannot open the file").in_file(path);

  struct stat status {};
  if (::fstat(fd, &status) != 0) return Error::from_errno(errno, "cannot examine the file").in_file(path);
  if (S_ISDIR(status.st_mode)) return Error::from_errno(EISDIR, "this is a folder, but a file is needed").in_file(path);
  if (!S_ISREG(status.st_mode)) return Error(Errc::unknown_format, "not a regular file").in_file(path);
  file.identity_ = identity_of(status);
  return file;
}

Error InputFile::end_of_file(std::uint64_t at, std::size_t missing) const {
  if (auto same = check_unchanged(); !same) return same.error().at(path_, at);
  return Error(Errc::truncated, "the file ends here, " + std::to_string(missing) + " bytes too early").at(path_, at);
}

Result<void> InputFile::read(std::uint64_t offset, ReadInto into) const {
  if (!within_system_range(offset, into.size())) {
    return Error(Errc::truncated, "the offset is beyond any file size").at(path_, offset);
  }
  while (into.size() > 0) {
    const Vectors vectors(into);
    const ssize_t got = ::preadv(access_->fd, vectors.parts.data(), vectors.count, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, "cannot read " + std::to_string(into.size()) + " bytes").at(path_, offset);
    }
    if (got == 0) return end_of_file(offset, into.size());
    into = into.after(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<bool> InputFile::try_read(std::uint64_t offset, ReadInto into) const {
  if (!within_system_range(offset, into.size())) {
    return Error(Errc::truncated, "the offset is beyond any file size").at(path_, offset);
  }
  while (into.size() > 0) {
    if (access_->cannot_try.load(std::memory_order_relaxed)) return false;
    const Vectors vectors(into);
    const ssize_t got =
        ::preadv2(access_->fd, vectors.parts.data(), vectors.count, static_cast<off_t>(offset), RWF_NOWAIT);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM || errno == EINVAL) {
        access_->cannot_try.store(true, std::memory_order_relaxed);
      }
      return false;
    }
    if (got == 0) {
      // Linux 5.9 and 5.10 return 0 also if the file continues.
      if (offset < identity_.bytes) return false;
      return end_of_file(offset, into.size());
    }
    into = into.after(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

void InputFile::open_direct() const {
  // Open by descriptor, not by path: the path may name another file by now.
  const std::string self = "/proc/self/fd/" + std::to_string(access_->fd);
  int fd = -1;
  do {
    fd = ::open(self.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return refuse_direct();
  access_->direct.fd = fd;
  access_->direct.alignment = kDirectAlignment;

  struct stat status {};
  if (::fstat(fd, &status) != 0) return refuse_direct();
  const FileIdentity opened = identity_of(status);
  if (opened.device != identity_.device || opened.inode != identity_.inode) return refuse_direct();
#ifdef STATX_DIOALIGN
  struct statx details {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &details) == 0 && (details.stx_mask & STATX_DIOALIGN) != 0) {
    if (details.stx_dio_offset_align == 0) return refuse_direct();
    access_->direct.alignment = std::max<std::size_t>(
        {kDirectAlignment, std::size_t{details.stx_dio_offset_align}, std::size_t{details.stx_dio_mem_align}});
  }
#endif
}

std::optional<DirectAccess> InputFile::direct() const {
  std::call_once(access_->direct_opened, [this] { open_direct(); });
  if (access_->cannot_be_direct.load(std::memory_order_relaxed)) return std::nullopt;
  return access_->direct;
}

void InputFile::refuse_direct() const noexcept {
  access_->cannot_be_direct.store(true, std::memory_order_relaxed);
}

Result<void> InputFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(access_->fd, &status) != 0) return Error::from_errno(errno, "cannot examine the file").in_file(path_);
  const FileIdentity now = identity_of(status);
  if (now != identity_) return Error(Errc::file_changed, describe_change(identity_, now)).in_file(path_);
  return {};
}

void InputFile::drop_cache(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  // The kernel keeps pages that are only partly in the range, so widen the range to whole pages.
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t begin = offset / page * page;
  const std::uint64_t end = (offset + bytes + page - 1) / page * page;
  (void)::posix_fadvise(access_->fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin), POSIX_FADV_DONTNEED);
}

}  // namespace dovetail::detail
