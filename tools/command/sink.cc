// SPDX-License-Identifier: Apache-2.0
#include "tools/command/sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dovetail::tools {

namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;

}  // namespace

Sink::Sink(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

Sink::Sink(Sink&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      buffer_(std::move(other.buffer_)),
      good_(other.good_),
      errno_(other.errno_) {}

Sink::~Sink() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

Sink Sink::standard_output() {
  return Sink(STDOUT_FILENO, "standard output");
}

Result<Sink> Sink::open(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) return Error::from_errno(errno).in_file(path);
  return Sink(descriptor, path);
}

Result<Sink> Sink::create(const std::string& path) {
  return open(path, O_TRUNC);
}

Result<Sink> Sink::create_new(const std::string& path) {
  return open(path, O_EXCL | O_NOFOLLOW);
}

void Sink::write(std::string_view text) {
  if (!good_) return;
  if (text.size() >= kBufferBytes) {
    flush();
    write_through(text);
    return;
  }
  buffer_.append(text);
  if (buffer_.size() >= kBufferBytes) flush();
}

void Sink::flush() {
  write_through(buffer_);
  buffer_.clear();
}

void Sink::write_through(std::string_view text) {
  while (good_ && !text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      good_ = false;
      errno_ = errno;
    }
  }
}

Result<void> Sink::finish() {
  if (good_) flush();
  // Some file systems report a failed write only when the file is closed.
  if (descriptor_ > STDERR_FILENO && ::close(std::exchange(descriptor_, -1)) != 0 && good_) {
    good_ = false;
    errno_ = errno;
  }
  if (!good_) return Error::from_errno(errno_).in_file(name_);
  return {};
}

Result<int> print(std::string_view text, int code) {
  Sink out = Sink::standard_output();
  out.write(text);
  const Result<void> written = out.finish();
  if (!written && exit_code(written.error()) != kExitGood) return written.error();
  return code;
}

}  // namespace dovetail::tools
