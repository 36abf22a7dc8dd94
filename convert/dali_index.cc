// SPDX-License-Identifier: Apache-2.0
#include "convert/dali_index.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "convert/source_file.h"

namespace dovetail::detail {

namespace {

constexpr std::uint32_t kMaxLineBytes = 64;
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

struct Line {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

std::optional<Line> parse(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  Line line;
  const char* const end = text.data() + text.size();
  const auto offset = std::from_chars(text.data(), end, line.offset);
  if (offset.ec != std::errc() || offset.ptr == end || *offset.ptr != ' ') return std::nullopt;
  const auto bytes = std::from_chars(offset.ptr + 1, end, line.bytes);
  if (bytes.ec != std::errc() || bytes.ptr != end) return std::nullopt;
  return line;
}

std::string words(std::uint64_t offset, std::uint64_t bytes) {
  return "offset " + std::to_string(offset) + " and " + std::to_string(bytes) + " bytes";
}

}  // namespace

Result<DaliIndexCheck> DaliIndexCheck::open(const std::string& path) {
  auto file = SourceFile::open(path);
  if (!file) return file.error();
  auto opener = make_plain_opener(SourceFormat::lines, kMaxLineBytes);
  auto lines = opener->open(0, std::move(*file), Compression::none);
  if (!lines) return lines.error();
  return DaliIndexCheck(path, std::move(opener), std::move(*lines));
}

Error DaliIndexCheck::disagrees(const std::string& what) const {
  return Error(Errc::index_mismatch, "line " + std::to_string(line_) + " of the DALI index: " + what)
      .at(path_, lines_->place().offset);
}

Result<void> DaliIndexCheck::expect(std::uint64_t offset, std::uint64_t bytes) {
  auto text = lines_->next();
  ++line_;
  if (!text) return text.error();
  if (!*text) return disagrees("it is missing; the file has a record with " + words(offset, bytes));
  const std::optional<Line> line = parse(as_chars(**text));
  if (!line) return disagrees("not an offset and a size with a space between them");
  if (line->offset == offset && line->bytes == bytes) return {};
  return disagrees("it has " + words(line->offset, line->bytes) + ", the record " + words(offset, bytes));
}

Result<void> DaliIndexCheck::expect_end() {
  auto text = lines_->next();
  ++line_;
  if (!text) return text.error();
  if (!*text) return {};
  return disagrees("the file has no further record");
}

Result<DaliIndexOutput> DaliIndexOutput::create(const std::string& path) {
  std::string partial = path + ".partial-" + std::to_string(::getpid());
  const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return Error::from_errno(errno, "cannot create the file").in_file(partial);
  return DaliIndexOutput(descriptor, path, std::move(partial));
}

DaliIndexOutput::DaliIndexOutput(int descriptor, std::string path, std::string partial)
    : descriptor_(descriptor), path_(std::move(path)), partial_(std::move(partial)) {}

DaliIndexOutput::DaliIndexOutput(DaliIndexOutput&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      text_(std::move(other.text_)) {}

DaliIndexOutput::~DaliIndexOutput() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

Result<void> DaliIndexOutput::add(std::uint64_t offset, std::uint64_t bytes) {
  text_ += std::to_string(offset) + ' ' + std::to_string(bytes) + '\n';
  if (text_.size() < kFlushBytes) return {};
  return flush();
}

Result<void> DaliIndexOutput::flush() {
  for (std::size_t done = 0; done < text_.size();) {
    const ssize_t written = ::write(descriptor_, text_.data() + done, text_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::from_errno(errno, "cannot write").in_file(partial_);
    done += static_cast<std::size_t>(written);
  }
  text_.clear();
  return {};
}

Result<void> DaliIndexOutput::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (::fdatasync(descriptor_) != 0) return Error::from_errno(errno, "cannot write").in_file(partial_);
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    return Error::from_errno(errno, "cannot give the file its name").in_file(path_);
  }
  ::close(std::exchange(descriptor_, -1));
  return {};
}

}  // namespace dovetail::detail
