// SPDX-License-Identifier: Apache-2.0
#include "sources/recordio_index.h"

#include <algorithm>
#include <span>
#include <utility>

#include "format/text/number_text.h"
#include "format/try.h"
#include "sources/bytes/folder_names.h"
#include "sources/bytes/source_file.h"
#include "sources/recordio_layout.h"

namespace dovetail::detail {

Result<std::optional<RecordioIndex>> RecordioIndex::load(const std::string& records_path, std::uint64_t file_bytes) {
  constexpr std::string_view kSuffix = ".rec";
  if (!records_path.ends_with(kSuffix)) return std::nullopt;
  RecordioIndex index;
  index.path_ = records_path.substr(0, records_path.size() - kSuffix.size()) + ".idx";
  auto file = SourceFile::open(index.path_);
  if (!file) {
    if (file.error().code() == boost::system::errc::no_such_file_or_directory) {
      DOVETAIL_TRY(check_no_dangling_link(index.path_));
      return std::nullopt;
    }
    return file.error();
  }
  // Each entry stands for at least a header. A file with more than `kLineBytes` for each possible
  // entry is no index, and must not be read into memory to find that out.
  constexpr std::uint64_t kLineBytes = 64;
  constexpr std::uint64_t kAnyBytes = std::uint64_t{1} << 20;
  if (file->size() > kAnyBytes && file->size() / kLineBytes > file_bytes / kRecordioHeaderBytes) {
    return Error(Errc::sidecar_mismatch, "it has " + std::to_string(file->size()) +
                                             " bytes, too many for the index of a file with " +
                                             std::to_string(file_bytes))
        .in_file(index.path_);
  }
  index.text_.resize(static_cast<std::size_t>(file->size()));
  DOVETAIL_ASSIGN(auto read, file->read(std::as_writable_bytes(std::span(index.text_))));
  index.text_.resize(read);
  DOVETAIL_TRY(index.parse(file_bytes));
  return std::optional(std::move(index));
}

Error RecordioIndex::fault(std::uint64_t line, const std::string& reason) const {
  return Error(Errc::sidecar_mismatch, "line " + std::to_string(line) + ": " + reason).in_file(path_);
}

Result<void> RecordioIndex::parse(std::uint64_t file_bytes) {
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    ++number;
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return fault(number, "it must be a key and an offset, separated by a tab");
    std::string_view digits = line.substr(tab + 1);
    if (digits.ends_with('\r')) digits.remove_suffix(1);
    const auto offset = format::parse_number<std::uint64_t>(digits);
    if (!offset) return fault(number, "the offset is not a number");
    if (*offset >= file_bytes) {
      return fault(number, "offset " + std::to_string(*offset) + ", but the file of the records has only " +
                               std::to_string(file_bytes) + " bytes");
    }
    entries_.push_back({*offset, begin});
    begin = end + 1;
  }
  const auto by_offset = [](const Entry& a, const Entry& b) { return a.offset < b.offset; };
  std::sort(entries_.begin(), entries_.end(), by_offset);
  const auto same = std::adjacent_find(entries_.begin(), entries_.end(),
                                       [](const Entry& a, const Entry& b) { return a.offset == b.offset; });
  if (same == entries_.end()) return {};
  return Error(Errc::sidecar_mismatch, "two keys have the offset " + std::to_string(same->offset)).in_file(path_);
}

std::string_view RecordioIndex::key(std::size_t entry) const noexcept {
  const std::string_view rest = std::string_view(text_).substr(entries_[entry].key_at);
  return rest.substr(0, rest.find('\t'));
}

std::size_t RecordioIndex::first_from(std::uint64_t offset) const noexcept {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), offset,
                                      [](const Entry& entry, std::uint64_t wanted) { return entry.offset < wanted; });
  return static_cast<std::size_t>(found - entries_.begin());
}

}  // namespace dovetail::detail
