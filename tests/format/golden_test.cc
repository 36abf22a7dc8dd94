// SPDX-License-Identifier: Apache-2.0
// Files that were written once must be read for ever.
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "tests/format/golden_shards.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::DecodedShard;
using test::GoldenShard;

std::string golden_folder() {
  const char* const folder = std::getenv("DOVETAIL_GOLDEN_DIR");
  return folder == nullptr ? "" : folder;
}

Bytes read_golden(const std::string& name) {
  return test::read_file(golden_folder() + "/" + name);
}

class GoldenTest : public ::testing::TestWithParam<GoldenShard> {
 protected:
  void SetUp() override {
    if (golden_folder().empty()) GTEST_SKIP() << "DOVETAIL_GOLDEN_DIR is not set";
  }
};

TEST_P(GoldenTest, DecodesToTheRecordsThatWereWritten) {
  const auto decoded = test::read_shard(read_golden(GetParam().name)).value();
  EXPECT_EQ(decoded.records, GetParam().records);
  EXPECT_EQ(decoded.metadata, GetParam().metadata);
}

TEST_P(GoldenTest, IsWrittenTheSameAgain) {
  if (!GetParam().exact) GTEST_SKIP() << "compressed bytes may differ between versions of Snappy and zstd";
  EXPECT_EQ(read_golden(GetParam().name), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, ::testing::ValuesIn(test::golden_shards()), [](const auto& instance) {
  return instance.param.name.substr(0, instance.param.name.find('.'));
});

TEST(GoldenCodecTest, HoldsCompressedAndStoredBlocks) {
  if (golden_folder().empty()) GTEST_SKIP() << "DOVETAIL_GOLDEN_DIR is not set";
  for (const auto& [name, codec] : {std::pair("snappy.dvt", Codec::snappy), std::pair("zstd.dvt", Codec::zstd)}) {
    const DecodedShard shard = test::read_shard(read_golden(name)).value();
    std::set<Codec> codecs;
    for (const BlockHeader& block : shard.blocks) codecs.insert(block.codec);
    EXPECT_EQ(codecs, (std::set{Codec::none, codec}));
  }
}

TEST(GoldenFolderTest, HoldsNoFileThatIsNotTested) {
  if (golden_folder().empty()) GTEST_SKIP() << "DOVETAIL_GOLDEN_DIR is not set";
  std::set<std::string> expected;
  for (const GoldenShard& shard : test::golden_shards()) expected.insert(shard.name);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (entry.path().extension() == ".dvt") found.insert(entry.path().filename());
  }
  EXPECT_EQ(found, expected);
}

TEST(GoldenManifestTest, DescribesTheShardsBesideIt) {
  if (golden_folder().empty()) GTEST_SKIP() << "DOVETAIL_GOLDEN_DIR is not set";
  const DecodedShard manifest = test::read_shard(read_golden(kManifestName)).value();
  EXPECT_EQ(manifest.header.shard_number, kManifestShardNumber);
  EXPECT_EQ(manifest.metadata.record_type, kManifestRecordType);
  EXPECT_FALSE(manifest.records.empty());
  for (const std::string& record : manifest.records) {
    const ShardInfo info = decode_shard_info(as_bytes(record)).value();
    ShardInfo own = test::read_shard(read_golden(info.name)).value().tail.footer.info;
    own.name = info.name;
    EXPECT_EQ(own, info);
  }
}

}  // namespace
}  // namespace dovetail::format
