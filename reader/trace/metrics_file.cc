// SPDX-License-Identifier: Apache-2.0
#include "reader/trace/metrics_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "format/try.h"

namespace dovetail::detail {

namespace {

/// The first bytes of every metrics file.
constexpr std::string_view kBegin = "# HELP dovetail_reader_";

/// The beginning of a regular file, with the first sample if it is a metrics file; otherwise empty.
std::string begin_of(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, none))) return {};
  std::string begin(512, '\0');
  std::ifstream file(path);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  return begin;
}

/// Fails unless the file does not exist or is a metrics file, so that no other data is overwritten.
Result<void> check_replaceable(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return Error::from_errno(errno).in_file(path);
  }
  if (S_ISREG(found.st_mode) && found.st_size == 0) return {};
  if (begin_of(path).starts_with(kBegin)) return {};
  return Error(Errc::already_exists, "this is not a metrics file; name another file for them").in_file(path);
}

/// The rank of the metrics in `text`; empty if they have none.
std::string_view rank_in(std::string_view text) noexcept {
  constexpr std::string_view kLabel = "{rank=\"";
  const std::size_t found = text.find(kLabel);
  if (found == text.npos) return {};
  const std::string_view rank = text.substr(found + kLabel.size());
  return rank.substr(0, rank.find('"'));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

MetricsFile::MetricsFile(const ReaderOptions& options, std::function<ReaderStats()> stats)
    : path_(std::filesystem::absolute(options.metrics).string()),
      labels_{{"rank", std::to_string(options.ranks.rank)}, {"world", std::to_string(options.ranks.world)}},
      stats_(std::move(stats)),
      log_(options.log) {}

Result<void> MetricsFile::begin() {
  DOVETAIL_TRY(check_replaceable(path_));
  const std::lock_guard lock(mutex_);
  DOVETAIL_TRY(replace());
  due_ = Clock::now() + kInterval;
  begun_ = true;
  return {};
}

void MetricsFile::handed_over(bool end_of_epoch, Clock::time_point now) noexcept {
  if (!end_of_epoch && now < due_.load(std::memory_order_relaxed)) return;
  due_ = now + kInterval;
  write();
}

void MetricsFile::write() noexcept {
  const std::lock_guard lock(mutex_);
  if (!begun_) return;
  try {
    warn_of_other_rank();
    const Result<void> written = replace();
    if (written.has_value() || std::exchange(failed_, true) || !log_) return;
    log_("the metrics of the reader are not written: " + written.error().to_string());
  } catch (const std::exception&) {  // out of memory: metrics must not end the reader
  }
}

// Not called by `begin`: a job that starts again may give a rank the file of another.
void MetricsFile::warn_of_other_rank() {
  const std::string there = begin_of(path_);
  const std::string_view rank = rank_in(there);
  if (rank.empty() || rank == labels_.at("rank") || !log_ || std::exchange(shared_, true)) return;
  log_(path_ + ": rank " + labels_.at("rank") + " replaces the metrics of rank " + std::string(rank) +
       "; give each rank its own file");
}

Result<void> MetricsFile::replace() {
  DOVETAIL_ASSIGN(const std::string text, stats_().to_prometheus(labels_));
  // The temporary name does not end in .prom, so the exporter ignores it. `mkostemp` makes the name
  // unique among readers.
  std::string aside = (std::filesystem::path(path_).parent_path() / ".dovetail-tmp-XXXXXX").string();
  const int file = ::mkostemp(aside.data(), O_CLOEXEC);
  if (file < 0) return Error::from_errno(errno, "cannot create a file in its folder").in_file(path_);
  constexpr mode_t kReadable = 0644;  // the exporter runs as another user
  bool good = write_all(file, text) && ::fchmod(file, kReadable) == 0;
  int failure = errno;
  if (::close(file) != 0 && good) {
    good = false;
    failure = errno;
  }
  if (good && ::rename(aside.c_str(), path_.c_str()) == 0) return {};
  if (good) failure = errno;
  ::unlink(aside.c_str());
  return Error::from_errno(failure).in_file(path_);
}

}  // namespace dovetail::detail
