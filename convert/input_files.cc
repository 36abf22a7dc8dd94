// SPDX-License-Identifier: Apache-2.0
#include "convert/input_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/system/errc.hpp>

#include "format/try.h"
#include "sources/bytes/hashes.h"
#include "sources/bytes/source_file.h"
#include "sources/bytes/unnamed_file.h"
#include "sources/detect.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::uint64_t kCheckedBytes = std::uint64_t{1} << 20;
constexpr std::chrono::milliseconds kBetweenQuestions{100};
constexpr const char* kStandardInput = "-";

using FileNumber = std::pair<dev_t, ino_t>;

// Identifies a stream under any of its names.
Result<FileNumber> number_of(const std::string& source) {
  struct stat status {};
  const int failed = source == kStandardInput ? ::fstat(STDIN_FILENO, &status) : ::stat(source.c_str(), &status);
  if (failed != 0) return Error::from_errno(errno, "cannot examine the stream").in_file(shown_name(source));
  return FileNumber{status.st_dev, status.st_ino};
}

// Recognises `/dev/stdin`, too. Opening a named pipe a second time would hide that its writer has
// closed it.
bool is_standard_input(const std::string& source) {
  if (source == kStandardInput) return true;
  const auto input = number_of(kStandardInput);
  const auto stream = number_of(source);
  return input && stream && *input == *stream;
}

// The target may not exist yet. Its nearest existing parent is on the same file system, and a
// process that may create the target may write to that parent.
Result<std::shared_ptr<OutputFolder>> folder_near(const std::string& target) {
  fs::path folder(target);
  std::error_code failed;
  while (!folder.empty() && !fs::is_directory(folder, failed)) {
    fs::path above = folder.parent_path();
    if (above == folder) break;
    folder = std::move(above);
  }
  return OutputFolder::open(folder.native());
}

/// Copies a stream to a file.
class StreamCopy {
 public:
  StreamCopy(int from, int to, std::string shown, std::string folder, const InputFiles::Cancelled& cancelled)
      : from_(from),
        to_(to),
        shown_(std::move(shown)),
        folder_(std::move(folder)),
        cancelled_(cancelled),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(kPieceBytes)),
        hash_(make_content_hash("xxh128")) {}

  /// Calls `check` once, after `kCheckedBytes` bytes. Shorter streams are not checked here.
  Result<void> run(const std::function<Result<void>()>& check) {
    for (bool checked = false;;) {
      DOVETAIL_TRY(wait());
      const ssize_t got = ::read(from_, buffer_.get(), kPieceBytes);
      if (got == 0) return {};
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) return Error::from_errno(errno, "cannot read").at(shown_, copied_);
      const ByteView piece(buffer_.get(), static_cast<std::size_t>(got));
      hash_->add(piece);
      DOVETAIL_TRY(keep(piece));
      if (checked || copied_ < kCheckedBytes) continue;
      checked = true;
      DOVETAIL_TRY(check());
    }
  }
  std::string identity() const { return std::to_string(copied_) + ' ' + hash_->hex(); }

 private:
  using Clock = std::chrono::steady_clock;

  // Waits for a pipe, even for one without a writer.
  Result<void> wait() {
    for (;;) {
      const Clock::time_point now = Clock::now();
      if (now >= next_question_) {
        next_question_ = now + kBetweenQuestions;
        if (cancelled_(copied_)) {
          return Error(make_error_code(boost::system::errc::operation_canceled)).at(shown_, copied_);
        }
      }
      pollfd waited{from_, POLLIN, 0};
      const int ready = ::poll(&waited, 1, static_cast<int>(kBetweenQuestions.count()));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "cannot wait for input").in_file(shown_);
    }
  }

  Result<void> keep(ByteView piece) {
    while (!piece.empty()) {
      const ssize_t put = ::write(to_, piece.data(), piece.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        return Error::from_errno(errno, "cannot copy " + shown_ + " here, after " + std::to_string(copied_) + " bytes")
            .in_file(folder_);
      }
      piece = piece.subspan(static_cast<std::size_t>(put));
      copied_ += static_cast<std::uint64_t>(put);
    }
    return {};
  }

  int from_;
  int to_;
  std::string shown_;
  std::string folder_;
  const InputFiles::Cancelled& cancelled_;
  std::unique_ptr<std::byte[]> buffer_;
  std::unique_ptr<ContentHash> hash_;
  std::uint64_t copied_ = 0;
  Clock::time_point next_question_ = Clock::now();
};

Error no_file(std::string_view what, const std::string& shown) {
  return Error(Errc::unknown_format,
               "a stream is one file of records, but " + std::string(what) + "; give it as a path to files")
      .in_file(shown);
}

// One path may be the beginning of another path with a longer number.
void replace_path(std::string& text, const std::string& path, const std::string& shown) {
  constexpr std::string_view kDigits = "0123456789";
  for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at)) {
    const std::size_t end = at + path.size();
    const bool whole = end == text.size() || kDigits.find(text[end]) == kDigits.npos;
    if (whole) text.replace(at, path.size(), shown);
    at += whole ? shown.size() : path.size();
  }
}

// A file without a name is recognised by its bytes alone. Text can be recognised by its beginning;
// other formats need the size of the complete file.
Result<void> check_content(const std::string& path, const std::string& shown, bool whole) {
  DOVETAIL_ASSIGN(const auto file, SourceFile::open(path));
  const auto kind = detect_bytes(file);
  if (!kind) return whole ? kind.error() : Result<void>();
  if (kind->format == SourceFormat::dovetail) return no_file("this is a Dovetail shard", shown);
  if (kind->format != SourceFormat::lines) return {};
  return Error(Errc::unknown_format, "it is text of unknown format; give --from csv or --from lines").in_file(shown);
}

}  // namespace

std::string shown_name(const std::string& source) {
  return source == kStandardInput ? "(standard input)" : source;
}

bool is_stream(const std::string& source) {
  struct stat status {};
  return source == kStandardInput || (::stat(source.c_str(), &status) == 0 && S_ISFIFO(status.st_mode));
}

Result<void> check_streams(const std::vector<std::string>& sources, SourceFormat format) {
  std::set<FileNumber> streams;
  for (const std::string& source : sources) {
    if (!is_stream(source)) continue;
    const std::string shown = shown_name(source);
    DOVETAIL_ASSIGN(const auto number, number_of(source));
    if (!streams.insert(number).second) {
      return Error(Errc::invalid_option, "sources: a stream is given twice, but can be read only once").in_file(shown);
    }
    if (format == SourceFormat::folder || format == SourceFormat::mds || format == SourceFormat::dovetail) {
      return no_file(std::string(to_string(format)) + " is not", shown);
    }
  }
  return {};
}

Result<InputFiles> InputFiles::open(const std::vector<std::string>& sources, SourceFormat format,
                                    const std::string& target, const Cancelled& cancelled) {
  DOVETAIL_TRY(check_streams(sources, format));
  InputFiles files;
  for (const std::string& source : sources) {
    if (!is_stream(source)) {
      files.paths_.push_back(source);
      files.named_.push_back(source);
      continue;
    }
    DOVETAIL_ASSIGN(auto path, files.copy(source, format, target, cancelled));
    if (format == SourceFormat::detect) {
      if (auto checked = check_content(path, shown_name(source), true); !checked) return files.renamed(checked.error());
    }
    files.paths_.push_back(std::move(path));
  }
  return files;
}

Result<std::string> InputFiles::copy(const std::string& source, SourceFormat format, const std::string& target,
                                     const Cancelled& cancelled) {
  const std::string shown = shown_name(source);
  const bool standard = is_standard_input(source);
  DOVETAIL_ASSIGN(const auto folder, folder_near(target));
  DOVETAIL_ASSIGN(Descriptor to, open_unnamed(*folder));
  std::string path = "/proc/self/fd/" + std::to_string(to.number());
  if (::access(path.c_str(), R_OK) != 0) {
    const char* const why =
        errno == ENOENT ? "a stream can be converted only if /proc is mounted" : "cannot open it again";
    return Error::from_errno(errno, why).in_file(path);
  }
  // Opens a pipe without waiting for its writer, which may never come.
  const Descriptor pipe = standard ? Descriptor() : open_at(AT_FDCWD, source.c_str(), O_RDONLY | O_NONBLOCK);
  if (!standard && !pipe) return Error::from_errno(errno, "cannot open the file").in_file(shown);
  StreamCopy stream(standard ? STDIN_FILENO : pipe.number(), to.number(), shown, folder->path_of(""), cancelled);
  const auto copied = stream.run([&]() -> Result<void> {
    return format == SourceFormat::detect ? check_content(path, shown, false) : Result<void>();
  });
  if (!copied) return copied.error();
  copies_.push_back({std::move(to), path, shown, stream.identity()});
  return path;
}

Result<InputIdentity> InputFiles::identify(const SourceOptions& options) const {
  auto identity = identify_inputs(named_, options);
  if (!identity) return identity;
  for (const Copy& copy : copies_) identity->content += ' ' + copy.identity;
  return identity;
}

Error InputFiles::renamed(const Error& error) const {
  std::string path = error.path();
  for (const Copy& copy : copies_) {
    if (path == copy.path) path = copy.shown;
  }
  Error plain(error.code(), renamed(error.detail()));
  if (path.empty()) return plain;
  return error.offset() ? plain.at(path, *error.offset()) : plain.in_file(path);
}

std::string InputFiles::renamed(std::string text) const {
  for (const Copy& copy : copies_) replace_path(text, copy.path, copy.shown);
  return text;
}

}  // namespace dovetail::detail
