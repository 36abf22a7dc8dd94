// SPDX-License-Identifier: Apache-2.0
#include "tools/command/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "format/address.h"
#include "format/layout.h"
#include "format/text/hex.h"
#include "format/try.h"

namespace dovetail::tools {

namespace {

/// An open file, closed at the end of its scope.
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

std::string folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// Devices, pipes, and names of open files such as /dev/stdout. A temporary file cannot be created
/// beside them.
bool is_special(const std::string& path) {
  struct stat found {};
  const bool there = ::stat(path.c_str(), &found) == 0;
  if (there && !S_ISREG(found.st_mode)) return true;
  return there && (folder_of(path) == "/dev" || path.starts_with("/dev/fd/") || path.starts_with("/proc/"));
}

/// A file that begins as a Dovetail file, or a TFRecord with an index beside it.
bool is_dovetail_file(const std::string& path) {
  if (::access((path + format::kTfrecordIndexSuffix).c_str(), F_OK) == 0) return true;
  const Descriptor file(path, O_RDONLY);
  std::array<std::uint8_t, format::kFileMagic.size()> head{};
  return file.good() && ::pread(file.number(), head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()) &&
         head == format::kFileMagic;
}

/// An unpredictable hidden name, because processes in containers may have the same id, and an
/// attacker may plant links.
std::string random_name() {
  std::random_device source;
  return ".dovetail-tmp-" + format::hex64(std::uint64_t{source()} << 32 | source());
}

Result<void> sync(const std::string& path, int flags) {
  const Descriptor file(path, flags);
  if (!file.good() || ::fsync(file.number()) != 0) return Error::from_errno(errno).in_file(path);
  return {};
}

/// Follows links. Also works if a file does not exist yet.
bool is_same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  if (fs::equivalent(a, b, unknown) && !unknown) return true;
  const fs::path path = fs::weakly_canonical(a, unknown);
  return !unknown && path == fs::weakly_canonical(b, unknown) && !unknown;
}

Result<void> check_output(const std::string& path) {
  DOVETAIL_TRY(check_local(path));
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return Error::from_errno(EISDIR, "this is a folder; name a file in it").in_file(path);
  }
  if (is_special(path)) return {};
  if (is_dovetail_file(path)) {
    return Error(Errc::already_exists, "this is a file of Dovetail's; name another file for the output").in_file(path);
  }
  const std::string folder = folder_of(path);
  if (!std::filesystem::exists(folder, unknown) && !unknown) {
    return Error::from_errno(ENOENT, "the folder '" + folder + "' does not exist; create it first").in_file(path);
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return Error::from_errno(errno, "cannot create a file in the folder '" + folder + "'").in_file(path);
}

}  // namespace

Result<void> check_local(const std::string& path) {
  if (!format::is_address(path)) return {};
  return Error(Errc::invalid_option,
               "this is a remote address; only local files are read and written, so copy the files here, or from here")
      .in_file(path);
}

Result<std::string> read_text(const std::string& path, std::size_t max_bytes, const std::string& what) {
  DOVETAIL_TRY(check_local(path));
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    return Error::from_errno(EISDIR, "this is a folder; name a file").in_file(path);
  }
  const Descriptor file(path, O_RDONLY);
  if (!file.good()) return Error::from_errno(errno).in_file(path);
  // Reading one byte more than allowed detects a file that is too long.
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
    return Error(Errc::unknown_format,
                 "it is longer than " + std::to_string(max_bytes) + " bytes, so it is not " + what)
        .in_file(path);
  }
  text.resize(size);
  return text;
}

Result<std::string> read_marked(const std::string& path, std::size_t max_bytes, std::string_view mark,
                                const std::string& what) {
  Result<std::string> text = read_text(path, max_bytes, what);
  if (!text || text->empty() || text->find(mark) != std::string::npos) return text;
  return Error(Errc::unknown_format, "this is not " + what).in_file(path);
}

Result<void> check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::vector<std::string> taken;
  for (const std::string& path : outputs) {
    if (path.empty()) continue;
    DOVETAIL_TRY(check_output(path));
    if (is_special(path)) continue;
    const auto is_path = [&](const std::string& other) { return is_same_file(path, other); };
    if (std::any_of(inputs.begin(), inputs.end(), is_path)) {
      return Error(Errc::already_exists, "this is the input; name another file for the output").in_file(path);
    }
    if (std::any_of(taken.begin(), taken.end(), is_path)) {
      return Error(Errc::already_exists, "two outputs have this name; name another file for one of them").in_file(path);
    }
    taken.push_back(path);
  }
  return {};
}

Result<NewFile> NewFile::create(const std::string& path) {
  DOVETAIL_TRY(check_output(path));
  if (is_special(path)) {
    // Opening /dev/stdout again would write a file behind it from its start, over earlier output.
    Result<Sink> sink = path == "/dev/stdout" ? Result<Sink>(Sink::standard_output()) : Sink::create(path);
    return sink ? Result<NewFile>(NewFile(std::move(*sink), path, {})) : sink.error();
  }
  std::string aside = folder_of(path) + '/' + random_name();
  Result<Sink> sink = Sink::create_new(aside);
  if (!sink) return Error(sink.error().code(), "cannot create a file in its folder").in_file(path);
  return NewFile(std::move(*sink), path, std::move(aside));
}

NewFile::NewFile(NewFile&& other) noexcept
    : sink_(std::move(other.sink_)), path_(std::move(other.path_)), aside_(std::exchange(other.aside_, {})) {}

NewFile::~NewFile() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

Result<void> NewFile::finish() {
  Result<void> done = sink_.finish();
  if (aside_.empty()) return done;
  if (done) done = sync(aside_, O_RDONLY);
  if (done && std::rename(aside_.c_str(), path_.c_str()) != 0) done = Error::from_errno(errno);
  if (!done) return Error(done.error().code()).in_file(path_);
  aside_.clear();
  return sync(folder_of(path_), O_RDONLY | O_DIRECTORY);
}

Result<void> replace_text(const std::string& path, std::string_view text) {
  DOVETAIL_ASSIGN(NewFile file, NewFile::create(path));
  file.sink().write(text);
  return file.finish();
}

}  // namespace dovetail::tools
