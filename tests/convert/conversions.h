// SPDX-License-Identifier: Apache-2.0
// What tests of conversions share: a folder with sources, and the files of a dataset.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dovetail/convert.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/convert/source_fixture.h"
#include "tests/support/decoded_shards.h"

namespace dovetail::test {

class ConversionTest : public SourceTest {
 protected:
  using Files = std::map<std::string, Bytes>;

  /// `files` TFRecord files of different sizes in `src`; every third is compressed.
  std::string put_tfrecords(int files, std::size_t records_each, std::uint64_t seed) {
    for (int i = 0; i < files; ++i) {
      const auto count = records_each + static_cast<std::size_t>(i) * 7;
      const Records records = sample_records(count, 700, seed + static_cast<std::uint64_t>(i));
      all_.insert(all_.end(), records.begin(), records.end());
      const std::string bytes = tfrecord_bytes(records);
      const bool packed = i % 3 == 2;
      const std::string number = std::to_string(100 + i);
      put("src/" + number + ".tfrecord" + (packed ? ".gz" : ""), packed ? gzip(bytes) : bytes);
    }
    return folder_ / "src";
  }
  ConvertOptions options(std::vector<std::string> sources, std::uint32_t shards) const {
    ConvertOptions options{.sources = std::move(sources)};
    options.writer.shard.dataset_id = sample_dataset_id();
    options.writer.shard.block_bytes = 4096;
    options.shards = shards;
    options.jobs = 2;
    return options;
  }
  /// All files below a folder, those of hidden folders too.
  static Files files_below(const std::string& path) {
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files[entry.path().string().substr(path.size() + 1)] = read_file(entry.path());
    }
    return files;
  }
  static std::vector<std::string> names_of(const Files& files) {
    std::vector<std::string> names;
    for (const auto& file : files) names.push_back(file.first);
    return names;
  }

  /// As a process leaves it that was killed when it had exchanged the dataset in `out_` with the
  /// one that is `staged_` now.
  void mark_as_exchanged() const {
    struct stat replaced {};
    ASSERT_EQ(::stat(staged_.c_str(), &replaced), 0);
    write_file(out_ + "/.dovetail-lock", std::to_string(replaced.st_ino));
  }

  const std::string out_ = folder_ / "out";
  const std::string staged_ = folder_ / "out.partial";
  Records all_;  // of what `put_tfrecords` has written, in order
};

}  // namespace dovetail::test
