// SPDX-License-Identifier: Apache-2.0
#include "writer/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "format/staging_names.h"
#include "format/text/hex.h"
#include "format/try.h"

namespace dovetail::detail {

namespace {

// Linux writes at most 0x7ffff000 bytes per call. Smaller pieces also report the offset of a
// failure more precisely.
constexpr std::size_t kMaxWriteBytes = std::size_t{64} << 20;
// Storage starts to write after so many bytes, while threads still encode the next. Otherwise it
// idles until `sync`, which then waits for the whole shard.
constexpr std::uint64_t kWritebackBytes = std::uint64_t{2} << 20;
// A page that is written back while it still grows is written twice. This is the largest page size.
constexpr std::uint64_t kPageBytes = std::uint64_t{64} << 10;
constexpr int kNameAttempts = 16;
// A file name has at most 255 bytes, and the partial name adds up to 40. A longer name loses its
// middle, because its end tells that the file is a shard, and its number.
constexpr std::size_t kMaxNameInPartial = 200;
constexpr std::size_t kKeptEnd = 40;

std::string name_in_partial(const std::string& name) {
  if (name.size() <= kMaxNameInPartial) return name;
  return name.substr(0, kMaxNameInPartial - kKeptEnd) + name.substr(name.size() - kKeptEnd);
}

}  // namespace

std::string partial_name_begin(const std::string& name) {
  return '.' + name_in_partial(name) + std::string(format::kPartialMark);
}

std::string random_partial_name(const std::string& name) {
  std::random_device source;
  return partial_name_begin(name) + std::to_string(::getpid()) + '-' + format::hex64(source()).substr(8);
}

int link_without_replacing(int folder, const char* from, const char* to) noexcept {
  if (::linkat(folder, from, folder, to, 0) != 0) return errno;
  ::unlinkat(folder, from, 0);  // a remaining second name is no reason to remove the first
  return 0;
}

int rename_where_none_is_seen(int folder, const char* from, const char* to) noexcept {
  struct stat status {};
  if (::fstatat(folder, to, &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  if (errno != ENOENT) return errno;
  return ::renameat(folder, from, folder, to) == 0 ? 0 : errno;
}

int rename_without_replacing(int folder, const char* from, const char* to) noexcept {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  const int reason = link_without_replacing(folder, from, to);
  const bool has_links = reason != EPERM && reason != ENOSYS && reason != EOPNOTSUPP && reason != EMLINK;
  return has_links ? reason : rename_where_none_is_seen(folder, from, to);
}

Result<OutputFile> OutputFile::create(std::shared_ptr<const OutputFolder> folder, const std::string& name) {
  for (int attempt = 1;; ++attempt) {
    std::string partial = random_partial_name(name);
    std::string kept_name = name;  // allocate before the file exists
    Descriptor file = open_at(folder->descriptor(), partial.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file) {
      // The lock lets `recover` tell this file from one that a killed writer has left. Not every
      // file system has locks.
      (void)::flock(file.number(), LOCK_EX | LOCK_NB);
      return OutputFile(std::move(folder), std::move(kept_name), std::move(partial), std::move(file));
    }
    if (errno == EEXIST && attempt < kNameAttempts) continue;
    return Error::from_errno(errno, "cannot create the file").in_file(folder->path_of(name));
  }
}

OutputFile::OutputFile(std::shared_ptr<const OutputFolder> folder, std::string name, std::string partial,
                       Descriptor file)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      partial_(std::move(partial)),
      file_(std::move(file)),
      owner_(::getpid()) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this != &other) {
    std::destroy_at(this);  // removes the file of before
    std::construct_at(this, std::move(other));
  }
  return *this;
}

OutputFile::~OutputFile() {
  if (state_ != State::published) discard();
}

void OutputFile::leave() noexcept {
  file_ = Descriptor();
  state_ = State::gone;
}

void OutputFile::discard() noexcept {
  file_ = Descriptor();
  const State before = std::exchange(state_, State::gone);
  // A forked child has a copy of this object, but must not remove the parent's file.
  if (!folder_ || before == State::gone || owner_ != ::getpid()) return;
  ::unlinkat(folder_->descriptor(), (before == State::published ? name_ : partial_).c_str(), 0);
}

Error OutputFile::fail(Error error) {
  discard();  // first, because there may be no memory for the rest
  failure_ = std::move(error);
  failure_ = failure_->in_file(path());
  return *failure_;
}

Error OutputFile::failure_or_closed() const {
  return failure_ ? *failure_ : Error(Errc::closed, "the file was finished or removed");
}

Result<void> OutputFile::write(ByteView bytes) {
  if (!is(State::writing)) return failure_or_closed();
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), std::min(bytes.size(), kMaxWriteBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(Error::from_errno(errno, "cannot write").at(path(), size_));
    size_ += static_cast<std::uint64_t>(written);
    start_writeback();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

void OutputFile::start_writeback() noexcept {
  const std::uint64_t end = size_ - size_ % kPageBytes;
  if (end - writeback_ < kWritebackBytes) return;
  // A hint, which some file systems do not take. `sync` reports what could not be written.
  (void)::sync_file_range(file_.number(), static_cast<off64_t>(writeback_), static_cast<off64_t>(end - writeback_),
                          SYNC_FILE_RANGE_WRITE);
  writeback_ = end;
}

Result<void> OutputFile::sync() {
  if (!is(State::writing)) return failure_or_closed();
  int failed = 0;
  do {
    failed = ::fdatasync(file_.number());
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return fail(Error::from_errno(errno, "cannot sync the file"));
  // Unlock explicitly: a process forked meanwhile holds the same lock as long as it lives.
  (void)::flock(file_.number(), LOCK_UN);
  // Network file systems report late write errors here. Linux has closed the descriptor even if it
  // returns EINTR.
  if (::close(file_.release()) != 0 && errno != EINTR) {
    return fail(Error::from_errno(errno, "cannot close the file"));
  }
  state_ = State::synced;
  return {};
}

Result<void> OutputFile::publish(bool overwrite) {
  if (!is(State::synced)) return failure_or_closed();
  const int folder = folder_->descriptor();
  int reason = 0;
  if (!overwrite) {
    reason = rename_without_replacing(folder, partial_.c_str(), name_.c_str());
  } else if (::renameat(folder, partial_.c_str(), folder, name_.c_str()) != 0) {
    reason = errno;
  }
  if (reason == EEXIST && !overwrite)
    return Error(Errc::already_exists, "use overwrite (--overwrite) to replace it").in_file(path());
  if (reason != 0) return Error::from_errno(reason, "cannot give the file its name").in_file(path());
  state_ = State::published;
  return {};
}

Result<void> OutputFile::commit(bool overwrite) {
  DOVETAIL_TRY(sync());
  if (auto done = publish(overwrite); !done) return fail(done.error());
  if (auto done = folder_->sync(); !done) {
    // Keep a file that has replaced another: otherwise neither the old nor the new file would
    // exist.
    if (overwrite) leave();
    return fail(done.error());
  }
  return {};
}

}  // namespace dovetail::detail
