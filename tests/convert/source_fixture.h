// SPDX-License-Identifier: Apache-2.0
// What tests of sources share: files, and the error of a source that cannot be read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/convert/sources.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {

/// What reading all of a source fails with.
inline Error error_of(const std::string& path, const SourceOptions& options = {}) {
  const auto read = read_source(path, options);
  EXPECT_FALSE(read) << path;
  return read ? Error() : read.error();
}

/// Files below a folder.
class SourceTest : public FolderTest {
 protected:
  /// Writes a file with the folders that it needs, and gives its path.
  std::string put(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, bytes);
    return path;
  }
};

/// One file.
class SourceFileTest : public FolderTest {
 protected:
  explicit SourceFileTest(const std::string& name = "input") : path_(folder_ / name) {}

  /// Writes the file anew, and gives its path.
  std::string put(std::string_view bytes) const {
    write_file(path_, bytes);
    return path_;
  }

  const std::string path_;
};

}  // namespace dovetail::test
