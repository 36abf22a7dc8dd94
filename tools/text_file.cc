// SPDX-License-Identifier: Apache-2.0
#include "tools/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "format/layout.h"
#include "tools/sink.h"

namespace dovetail::tools {

namespace {

/// An open file that is closed with its scope.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const noexcept { return number_; }
  bool good() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

bool is_special(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
}

bool holds_dovetail_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  std::array<std::uint8_t, format::kFileMagic.size()> head{};
  return file.good() && ::pread(file.number(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
         head == format::kFileMagic;
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

Result<void> write_whole(Sink sink, std::string_view text) {
  sink.write(text);
  return sink.finish();
}

/// A hidden name that nobody foresees: processes in containers may have the same number, and links may be planted.
std::string random_name() {
  std::random_device source;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x%08x", source(), source());
  return std::string(".dovetail-tmp-") + digits.data();
}

Result<void> sync(const std::string& path, int flags) {
  const Descriptor file(path, flags);
  if (!file.good() || ::fsync(file.number()) != 0) return Error::from_errno(errno).in_file(path);
  return {};
}

Result<void> write_aside(Sink sink, const std::string& aside, const std::string& path, std::string_view text) {
  if (auto written = write_whole(std::move(sink), text); !written) return written;
  if (auto synced = sync(aside, O_RDONLY); !synced) return synced;
  if (std::rename(aside.c_str(), path.c_str()) != 0) return Error::from_errno(errno);
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(path, O_RDONLY);
  if (!file.good()) return Error::from_errno(errno).in_file(path);
  // One byte more tells a file that is too long.
  std::string text(max_bytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + size, text.size() - size);
    if (got == 0) break;
    if (got > 0) {
      size += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return Error::from_errno(errno).in_file(path);
    }
  }
  if (size > max_bytes) {
    return Error(Errc::bad_state, "it is longer than " + std::to_string(max_bytes) + " bytes").in_file(path);
  }
  text.resize(size);
  return text;
}

Result<void> check_not_replaced(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return Error::from_errno(EISDIR, "this is a folder: name a file in it").in_file(path);
  }
  if (!is_special(path) && holds_dovetail_file(path)) {
    return Error(Errc::already_exists, "this is a file of Dovetail's: name another one for the output").in_file(path);
  }
  const std::string folder = folder_of(path);
  if (!std::filesystem::exists(folder, unknown) && !unknown) {
    return Error::from_errno(ENOENT, "there is no folder '" + folder + "': make it first").in_file(path);
  }
  return {};
}

Result<void> check_output(const std::string& path) {
  if (auto possible = check_not_replaced(path); !possible || is_special(path)) return possible;
  const std::string folder = folder_of(path);
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return Error::from_errno(errno, "cannot create a file in the folder '" + folder + "'").in_file(path);
}

Result<void> replace_text(const std::string& path, std::string_view text) {
  if (is_special(path)) {
    Result<Sink> sink = Sink::create(path);
    return sink ? write_whole(std::move(*sink), text) : sink.error();
  }
  if (auto possible = check_output(path); !possible) return possible;
  const std::string folder = folder_of(path);
  const std::string aside = folder + '/' + random_name();
  Result<Sink> sink = Sink::create_new(aside);
  if (!sink) return Error(sink.error().code(), "cannot create a file in its folder").in_file(path);
  if (auto replaced = write_aside(std::move(*sink), aside, path, text); !replaced) {
    ::unlink(aside.c_str());
    return Error(replaced.error().code()).in_file(path);
  }
  return sync(folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace dovetail::tools
