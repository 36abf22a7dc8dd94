// SPDX-License-Identifier: Apache-2.0
#include "tfrecord/dali_index.h"

#include <string_view>
#include <utility>

#include "format/text/number_text.h"
#include "format/try.h"
#include "sources/bytes/line_scanner.h"
#include "sources/bytes/source_file.h"
#include "sources/scanned_file.h"
#include "writer/output_folder.h"

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
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto offset = format::parse_number<std::uint64_t>(text.substr(0, space));
  const auto bytes = format::parse_number<std::uint64_t>(text.substr(space + 1));
  return offset && bytes ? std::optional(Line{*offset, *bytes}) : std::nullopt;
}

std::string words(std::uint64_t offset, std::uint64_t bytes) {
  return "offset " + std::to_string(offset) + " and " + std::to_string(bytes) + " bytes";
}

}  // namespace

Result<DaliIndexCheck> DaliIndexCheck::open(const std::string& path) {
  DOVETAIL_ASSIGN(auto file, SourceFile::open(path));
  DOVETAIL_ASSIGN(auto lines, scan_file(std::move(file), Compression::none, LineScanner(kMaxLineBytes)));
  return DaliIndexCheck(path, std::move(lines));
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
  if (!line) return disagrees("it must be an offset and a size, separated by a space");
  if (line->offset == offset && line->bytes == bytes) return {};
  return disagrees("it has " + words(line->offset, line->bytes) + ", the record " + words(offset, bytes));
}

Result<void> DaliIndexCheck::expect_end() {
  auto text = lines_->next();
  ++line_;
  if (!text) return text.error();
  if (!*text) return {};
  return disagrees("the file has no more records");
}

Result<DaliIndexOutput> DaliIndexOutput::create(const std::string& path) {
  const std::size_t name = path.find_last_of('/') + 1;  // 0 if there is no slash
  DOVETAIL_ASSIGN(auto folder, OutputFolder::open(path.substr(0, name)));
  DOVETAIL_ASSIGN(auto file, OutputFile::create(std::move(folder), path.substr(name)));
  return DaliIndexOutput(std::move(file));
}

Result<void> DaliIndexOutput::add(std::uint64_t offset, std::uint64_t bytes) {
  text_ += std::to_string(offset) + ' ' + std::to_string(bytes) + '\n';
  if (text_.size() < kFlushBytes) return {};
  return flush();
}

Result<void> DaliIndexOutput::flush() {
  Result<void> written = file_.write(as_bytes(text_));
  text_.clear();
  return written;
}

Result<void> DaliIndexOutput::finish() {
  DOVETAIL_TRY(flush());
  return file_.commit(true);
}

}  // namespace dovetail::detail
