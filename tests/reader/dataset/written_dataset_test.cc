// SPDX-License-Identifier: Apache-2.0
// What the writers make, read back.
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "tests/reader/dataset/record_lists.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Records mixed_records() {
  Records records = numbered_records(3000);
  records[7] = std::string(300'000, 'l');
  records[2999].clear();
  return records;
}

DatasetInfo write(const std::string& folder, const Records& records, Codec codec) {
  DatasetWriterOptions options{
      .shard = {.codec = codec, .block_bytes = 1024, .run_bytes = 4096, .dataset_id = sample_dataset_id()},
      .shards = 4,
      .expected_records = records.size()};
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  return writer.finish().value();
}

using WrittenDatasetTest = FolderTest;

TEST_F(WrittenDatasetTest, AnUnfinishedOneNamesRecoverAndNoConversion) {
  const std::string target = folder_.path("data");
  DatasetWriter writer = DatasetWriter::create(target, {}).value();
  writer.append(as_bytes("a record")).value();
  for (const std::string& path : {target, target + ".partial"}) {
    const auto refused = Dataset::open(path);
    ASSERT_THAT(refused, Fails(Errc::unfinished).saying("`dovetail recover " + target + ".partial DST` saves"));
    EXPECT_THAT(refused.error().detail(), HasSubstr("a new writer of this dataset removes them"));
    EXPECT_THAT(refused.error().detail(), Not(HasSubstr("conversion")));
  }
}

TEST_F(WrittenDatasetTest, ComesBackAsItWasWritten) {
  const Records records = mixed_records();
  for (const Codec codec : {Codec::none, Codec::snappy}) {
    TempFolder folder;
    const DatasetInfo written = write(folder.path("data"), records, codec);
    const Dataset dataset = Dataset::open(folder.path("data")).value();
    EXPECT_TRUE(dataset.has_manifest());
    EXPECT_EQ(std::vector<ShardInfo>(dataset.shards().begin(), dataset.shards().end()), written.shards);
    Records read;
    for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
      RecordReader reader = RecordReader::open(dataset, shard).value();
      EXPECT_EQ(reader.shard().dataset_id, written.id);
      for (std::string& record : read_records(reader)) read.push_back(std::move(record));
    }
    EXPECT_EQ(read, records);
    const VerifyReport report = verify(folder.path("data")).value();
    EXPECT_TRUE(report.ok()) << report.damaged[0].file << ": " << report.damaged[0].reason;
    EXPECT_EQ(report.records, records.size());
  }
}

TEST_F(WrittenDatasetTest, ManifestAndShardsNameTheSameContent) {
  write(folder_.path("data"), mixed_records(), Codec::snappy);
  const Dataset by_manifest = Dataset::open(folder_.path("data")).value();
  const Dataset by_glob = Dataset::open(folder_.path("data/shard-*.dvt")).value();
  EXPECT_FALSE(by_glob.has_manifest());
  EXPECT_EQ(by_glob.fingerprint(), by_manifest.fingerprint());
  EXPECT_EQ(by_glob.records(), by_manifest.records());
}

TEST_F(WrittenDatasetTest, TheFingerprintDoesNotDependOnTheCodec) {
  write(folder_.path("plain"), mixed_records(), Codec::none);
  write(folder_.path("packed"), mixed_records(), Codec::snappy);
  EXPECT_EQ(Dataset::open(folder_.path("plain")).value().fingerprint(),
            Dataset::open(folder_.path("packed")).value().fingerprint());
}

TEST_F(WrittenDatasetTest, AnUnfinishedDatasetDoesNotOpen) {
  DatasetWriter writer = DatasetWriter::create(folder_.path("data")).value();
  ASSERT_TRUE(writer.append(as_bytes("one")));
  ASSERT_TRUE(writer.next_shard());
  for (const char* name : {"data", "data.partial"}) {
    EXPECT_THAT(Dataset::open(folder_.path(name)), Fails(Errc::unfinished).in(folder_.path("data.partial")));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(Dataset::open(folder_.path("data")).value().records(), 1u);
}

// Labels are numbers, and the same number would mean two classes.
TEST_F(WrittenDatasetTest, DatasetsThatNumberTheirClassesDifferentlyAreNotJoined) {
  const auto write_classes = [&](const std::string& name, const std::string& classes) {
    DatasetWriterOptions options;
    if (!classes.empty()) options.shard.metadata = {{"dovetail.classes", classes}};
    auto writer = DatasetWriter::create(folder_.path(name), options).value();
    EXPECT_TRUE(writer.append(as_bytes("record")));
    EXPECT_TRUE(writer.finish());
    return Dataset::open(folder_.path(name)).value();
  };
  const Dataset ants = write_classes("ants", R"(["ant","bee"])");
  const Dataset bees = write_classes("bees", R"(["bee","cat"])");
  const Dataset alike = write_classes("alike", R"([ "ant", "bee" ])");
  const Dataset none = write_classes("none", "");
  const auto join = [](const std::vector<Dataset>& datasets) { return Dataset::join(datasets); };
  const auto differ = Fails(Errc::invalid_option)
                          .in(bees.path())
                          .saying("label 0 is \"bee\" here, but \"ant\" in " + ants.path())
                          .saying("--classes");
  EXPECT_THAT(join({ants, bees}), differ);
  EXPECT_THAT(join({none, ants, none, bees}), differ);
  EXPECT_THAT(join({join({none, ants}).value(), join({none, bees}).value()}), differ);
  EXPECT_EQ(join({ants, none, alike, ants}).value().records(), 4u);
  EXPECT_EQ(join({bees, none}).value().records(), 2u);
  const Dataset further = write_classes("further", R"(["ant","bee","cat"])");
  const Dataset other = write_classes("other", R"(["ant","bee","dog"])");
  EXPECT_EQ(join({ants, further}).value().records(), 2u) << "no number has two names";
  EXPECT_THAT(join({ants, further, other}),
              Fails(Errc::invalid_option).saying(R"(label 2 is "dog" here, but "cat" in )" + further.path()));

  // A shard that does not open is reported when its records are read.
  std::filesystem::remove(bees.shard_path(0));
  EXPECT_EQ(join({ants, bees}).value().records(), 2u);
}

}  // namespace
}  // namespace dovetail::test
