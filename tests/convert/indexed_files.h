// SPDX-License-Identifier: Apache-2.0
// TFRecord files with indexes beside them.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <dovetail/tfrecord_index.h>

#include "tests/convert/sources.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {

class IndexedFileTest : public FolderTest {
 protected:
  std::string put(const std::string& name, const Records& records) {
    const std::string path = folder_ / name;
    write_file(path, tfrecord_bytes(records));
    return path;
  }
  /// A file with its index.
  std::string put_indexed(const std::string& name, const Records& records, const TfrecordIndexOptions& options = {}) {
    const std::string path = put(name, records);
    index_tfrecord(path, options).value();
    return path;
  }
  static Error error_of(const std::string& path, const TfrecordIndexOptions& options = {}) {
    const auto report = index_tfrecord(path, options);
    EXPECT_FALSE(report) << path;
    return report ? Error() : report.error();
  }
};

inline Records records_of_size(std::size_t count, std::size_t bytes) {
  Records records;
  for (std::size_t i = 0; i < count; ++i) {
    std::string record = std::to_string(i) + ' ';
    record.resize(bytes, static_cast<char>('a' + i % 26));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace dovetail::test
