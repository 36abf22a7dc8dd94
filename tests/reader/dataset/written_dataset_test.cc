// SPDX-License-Identifier: Apache-2.0
// What the writers make, read back.
#include <string>

#include <gtest/gtest.h>

#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "tests/reader/dataset/dataset_files.h"

namespace dovetail {
namespace {

using namespace test;

Records mixed_records() {
  Records records = numbered_records(3000);
  records[7] = std::string(300'000, 'l');
  records[2999].clear();
  return records;
}

DatasetInfo write(const std::string& folder, const Records& records, Codec codec) {
  DatasetWriterOptions options;
  options.shard.codec = codec;
  options.shard.block_bytes = 1024;
  options.shard.run_bytes = 4096;
  options.shard.dataset_id = sample_dataset_id();
  options.shards = 4;
  options.expected_records = records.size();
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  return writer.finish().value();
}

TEST(WrittenDatasetTest, ComesBackAsItWasWritten) {
  const Records records = mixed_records();
  for (const Codec codec : {Codec::none, Codec::snappy}) {
    TempFolder folder;
    const DatasetInfo written = write(folder.file("data"), records, codec);
    const Dataset dataset = Dataset::open(folder.file("data")).value();
    EXPECT_TRUE(dataset.has_manifest());
    EXPECT_EQ(std::vector<ShardInfo>(dataset.shards().begin(), dataset.shards().end()), written.shards);
    Records read;
    for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
      RecordReader reader = RecordReader::open(dataset, shard).value();
      EXPECT_EQ(reader.shard().dataset_id, written.id);
      for (std::string& record : read_records(reader)) read.push_back(std::move(record));
    }
    EXPECT_EQ(read, records);
    const VerifyReport report = verify(folder.file("data")).value();
    EXPECT_TRUE(report.ok()) << report.damaged[0].file << ": " << report.damaged[0].reason;
    EXPECT_EQ(report.records, records.size());
  }
}

TEST(WrittenDatasetTest, ManifestAndShardsNameTheSameContent) {
  TempFolder folder;
  write(folder.file("data"), mixed_records(), Codec::snappy);
  const Dataset by_manifest = Dataset::open(folder.file("data")).value();
  const Dataset by_glob = Dataset::open(folder.file("data/shard-*.dvt")).value();
  EXPECT_FALSE(by_glob.has_manifest());
  EXPECT_EQ(by_glob.fingerprint(), by_manifest.fingerprint());
  EXPECT_EQ(by_glob.records(), by_manifest.records());
}

TEST(WrittenDatasetTest, TheFingerprintDoesNotDependOnTheCodec) {
  TempFolder folder;
  write(folder.file("plain"), mixed_records(), Codec::none);
  write(folder.file("packed"), mixed_records(), Codec::snappy);
  EXPECT_EQ(Dataset::open(folder.file("plain")).value().fingerprint(),
            Dataset::open(folder.file("packed")).value().fingerprint());
}

TEST(WrittenDatasetTest, AnUnfinishedDatasetDoesNotOpen) {
  TempFolder folder;
  DatasetWriter writer = DatasetWriter::create(folder.file("data")).value();
  ASSERT_TRUE(writer.append(as_bytes("one")));
  ASSERT_TRUE(writer.next_shard());
  for (const char* name : {"data", "data.partial"}) {
    const auto dataset = Dataset::open(folder.file(name));
    ASSERT_FALSE(dataset);
    EXPECT_TRUE(dataset.error().is(Errc::unfinished)) << dataset.error().to_string();
    EXPECT_EQ(dataset.error().path(), folder.file("data.partial"));
  }
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(Dataset::open(folder.file("data")).value().records(), 1u);
}

}  // namespace
}  // namespace dovetail
