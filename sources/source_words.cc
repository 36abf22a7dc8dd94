// SPDX-License-Identifier: Apache-2.0
#include <dovetail/source_options.h>

namespace dovetail {

std::string_view to_string(SourceFormat format) noexcept {
  switch (format) {
    case SourceFormat::detect:
      return "detect";
    case SourceFormat::tfrecord:
      return "tfrecord";
    case SourceFormat::folder:
      return "folder";
    case SourceFormat::lines:
      return "lines";
    case SourceFormat::jsonl:
      return "jsonl";
    case SourceFormat::tar:
      return "tar";
    case SourceFormat::csv:
      return "csv";
    case SourceFormat::mds:
      return "mds";
    case SourceFormat::recordio:
      return "recordio";
    case SourceFormat::idx:
      return "idx";
    case SourceFormat::dovetail:
      return "dovetail";
  }
  return "unknown";
}

std::string_view to_string(Compression compression) noexcept {
  switch (compression) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::zlib:
      return "zlib";
    case Compression::snappy:
      return "snappy";
    case Compression::bzip2:
      return "bzip2";
    case Compression::zstd:
      return "zstd";
    case Compression::xz:
      return "xz";
  }
  return "unknown";
}

std::string_view to_string(RecordForm form) noexcept {
  switch (form) {
    case RecordForm::automatic:
      return "automatic";
    case RecordForm::raw:
      return "raw";
    case RecordForm::example:
      return "example";
  }
  return "unknown";
}

std::string_view to_string(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::bytes:
      return "bytes";
    case ColumnType::int64:
      return "int64";
    case ColumnType::real:
      return "real";
  }
  return "unknown";
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
