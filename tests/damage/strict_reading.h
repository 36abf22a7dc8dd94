// SPDX-License-Identifier: Apache-2.0
// What strict reading gives of a file that may be damaged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/record_reader.h>

namespace dovetail::test {

/// A file that gets other bytes again and again: making it anew each time would cost more than
/// reading it.
class FileInPlace {
 public:
  explicit FileInPlace(std::string path);
  FileInPlace(const FileInPlace&) = delete;
  FileInPlace& operator=(const FileInPlace&) = delete;
  ~FileInPlace();

  const std::string& path() const noexcept { return path_; }
  void write(std::string_view bytes);

 private:
  std::string path_;
  int file_;
};

/// The records that can be read, each in its place; nothing where one was lost.
std::vector<std::optional<std::string>> salvage(RecordReader& reader);

/// Expects that reading records alone, last ones first, gives the same.
void expect_point_reads(RecordReader& reader, const std::vector<std::optional<std::string>>& records);

}  // namespace dovetail::test
