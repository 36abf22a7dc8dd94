// SPDX-License-Identifier: Apache-2.0
#include <dovetail/source_options.h>

#include "format/words/convert_words.h"

namespace dovetail {

std::string_view to_string(SourceFormat source) noexcept {
  return format::word_of(format::kSourceFormatWords, source);
}

std::string_view to_string(Compression compression) noexcept {
  return format::word_of(format::kCompressionWords, compression);
}

std::string_view to_string(RecordForm form) noexcept {
  return format::word_of(format::kRecordFormWords, form);
}

std::string_view to_string(ColumnType type) noexcept {
  return format::word_of(format::kColumnTypeWords, type);
}

LeftOut& LeftOut::operator+=(const LeftOut& other) noexcept {
  hidden += other.hidden;
  litter += other.litter;
  dangling += other.dangling;
  special += other.special;
  excluded += other.excluded;
  unlabelled += other.unlabelled;
  return *this;
}

std::string to_string(const LeftOut& left_out) {
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* one, const char* many) {
    if (count != 0) text += (text.empty() ? "" : "; ") + std::to_string(count) + ' ' + (count == 1 ? one : many);
  };
  add(left_out.hidden, "hidden file or folder, named with a dot in front",
      "hidden files or folders, named with a dot in front");
  add(left_out.litter, "file or folder that a system left behind, such as Thumbs.db",
      "files or folders that a system left behind, such as Thumbs.db");
  add(left_out.dangling, "link that leads nowhere", "links that lead nowhere");
  add(left_out.special, "link to a folder, or special file", "links to folders, or special files");
  add(left_out.excluded, "file or folder by include and exclude", "files or folders by include and exclude");
  add(left_out.unlabelled, "file in no subfolder, which would be its label",
      "files in no subfolder, which would be their label");
  return text;
}

}  // namespace dovetail
