// SPDX-License-Identifier: Apache-2.0
// Every byte of a small shard flipped, and the shard cut at every length: what is read is right or reported.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "tests/reader/dataset/dataset_files.h"

namespace dovetail {
namespace {

using namespace test;

// Three blocks: with a table, compressed, and of one size.
ShardSpec small_shard() {
  ShardSpec spec;
  spec.records = {"", "a", "bc", std::string(200, 'x'), std::string(210, 'y'), std::string(220, 'z'), "d", "e", "f"};
  spec.codec = Codec::snappy;
  return spec;
}

// A new file: writing over the old one waits for the disk on some file systems.
void replace_file(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  write_file(path, bytes);
}

/// The records that can be read, each in its place; nothing where one was lost.
std::vector<std::optional<std::string>> salvage(RecordReader& reader) {
  std::vector<std::optional<std::string>> records;
  while (true) {
    auto record = reader.next();
    if (!record) {
      const LostRange lost = reader.skip_damage();
      EXPECT_LE(lost.first_record, records.size());
      EXPECT_GT(lost.end_record, records.size()) << record.error().to_string();
      if (lost.end_record <= records.size()) return records;
      records.resize(lost.end_record);
    } else if (*record) {
      records.emplace_back(as_chars(**record));
    } else {
      return records;
    }
  }
}

class CorruptionTest : public testing::TestWithParam<int> {};

TEST_P(CorruptionTest, NoFlippedByteGivesAWrongRecordOrEscapesVerify) {
  TempFolder folder;
  const ShardSpec spec = small_shard();
  const std::string path = folder.path("a.dvt");
  const std::string good = make_shard(spec).bytes;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ GetParam());
    replace_file(path, bytes);

    const auto report = verify(path, 1);
    ASSERT_TRUE(report) << "byte " << i << ": " << report.error().to_string();
    EXPECT_FALSE(report->ok()) << "byte " << i;
    for (const LostRange& damage : report->damaged) {
      EXPECT_EQ(damage.file, path);
      EXPECT_LE(damage.offset, good.size());
      EXPECT_LE(damage.first_record, damage.end_record);
      EXPECT_LE(damage.end_record, spec.records.size());
      EXPECT_FALSE(damage.reason.empty());
    }

    auto reader = RecordReader::open(path);
    if (!reader) {
      EXPECT_EQ(reader.error().kind(), ErrorKind::damaged) << "byte " << i << ": " << reader.error().to_string();
      EXPECT_EQ(reader.error().path(), path);
      continue;
    }
    const auto records = salvage(*reader);
    ASSERT_EQ(records.size(), spec.records.size()) << "byte " << i;
    std::uint64_t whole = 0;
    for (std::size_t r = 0; r < records.size(); ++r) {
      if (!records[r]) continue;
      ++whole;
      EXPECT_EQ(*records[r], spec.records[r]) << "byte " << i << ", record " << r;
    }
    EXPECT_EQ(whole, report->records) << "byte " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, CorruptionTest, testing::Values(0x01, 0xFF));

TEST(CutTest, NoLengthButTheWholeIsAccepted) {
  TempFolder folder;
  const std::string path = folder.path("a.dvt");
  const std::string good = make_shard(small_shard()).bytes;
  for (std::size_t length = 0; length < good.size(); ++length) {
    replace_file(path, good.substr(0, length));
    const auto reader = RecordReader::open(path);
    ASSERT_FALSE(reader) << length;
    EXPECT_EQ(reader.error().kind(), ErrorKind::damaged) << length << ": " << reader.error().to_string();
    const auto report = verify(path, 1);
    ASSERT_TRUE(report) << length;
    EXPECT_EQ(report->damaged.size(), 1u) << length;
    EXPECT_FALSE(Dataset::open(path)) << length;
  }
}

TEST(CutTest, BytesBehindTheEndAreRefused) {
  TempFolder folder;
  const std::string path = folder.path("a.dvt");
  const std::string good = make_shard(small_shard()).bytes;
  for (const std::size_t more : {1u, 63u, 64u, 128u}) {
    replace_file(path, good + std::string(more, '\0'));
    EXPECT_FALSE(RecordReader::open(path));
    replace_file(path, good + good.substr(0, more));
    EXPECT_FALSE(RecordReader::open(path));
  }
  write_file(path, good + good);
  EXPECT_FALSE(RecordReader::open(path));
}

TEST(ManifestCorruptionTest, NoFlippedByteChangesTheDataset) {
  TempFolder folder;
  const std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 4);
  const std::string path = folder.path("manifest.dvt");
  const std::string good = read_file(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(~bytes[i]);
    replace_file(path, bytes);
    const auto dataset = Dataset::open(folder.path());
    if (dataset) {
      EXPECT_EQ(std::vector<ShardInfo>(dataset->shards().begin(), dataset->shards().end()), infos) << i;
    } else {
      EXPECT_EQ(dataset.error().kind(), ErrorKind::damaged) << i << ": " << dataset.error().to_string();
    }
    const auto report = verify(folder.path(), 1);
    ASSERT_TRUE(report) << i << ": " << report.error().to_string();
    EXPECT_FALSE(report->ok()) << i;
    EXPECT_EQ(report->records, 8u) << i;
  }
}

}  // namespace
}  // namespace dovetail
