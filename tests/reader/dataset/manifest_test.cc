// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/manifest.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/system/errc.hpp>

#include <dovetail/dataset.h>

#include "format/layout.h"
#include "reader/dataset/shard_file.h"
#include "tests/reader/dataset/dataset_files.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
using namespace test;

struct Change {
  const char* field;
  std::function<void(ShardInfo&)> apply;
};

void PrintTo(const Change& change, std::ostream* out) {
  *out << change.field;
}

// Changes that leave the entry plausible in itself, so that only the shard can contradict it.
class ManifestDisagreementTest : public testing::TestWithParam<Change> {};

TEST_P(ManifestDisagreementTest, OpeningTheShardNamesTheFieldAndBothValues) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 20);
  GetParam().apply(infos[1]);
  write_manifest(folder.file("manifest.dvt"), infos);
  const Dataset dataset = Dataset::open(folder.path()).value();
  EXPECT_TRUE(detail::open_shard(dataset, 0));

  const auto shard = detail::open_shard(dataset, 1);
  ASSERT_FALSE(shard);
  EXPECT_TRUE(shard.error().is(Errc::manifest_mismatch)) << shard.error().to_string();
  EXPECT_EQ(shard.error().path(), folder.file("shard-1.dvt"));
  const std::string detail = shard.error().detail();  // error() returns a copy
  EXPECT_EQ(detail.find(std::string(GetParam().field) + ": the manifest says "), 0u) << detail;
  EXPECT_NE(detail.find(", the shard "), std::string::npos) << detail;

  const auto reader = RecordReader::open(dataset, 1);
  ASSERT_FALSE(reader);
  EXPECT_TRUE(reader.error().is(Errc::manifest_mismatch));
}

TEST_P(ManifestDisagreementTest, VerifyReportsItAndLosesNoRecord) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 20);
  GetParam().apply(infos[1]);
  write_manifest(folder.file("manifest.dvt"), infos);
  const VerifyReport report = verify(folder.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, folder.file("shard-1.dvt"));
  EXPECT_EQ(report.damaged[0].first_record, report.damaged[0].end_record);
  EXPECT_NE(report.damaged[0].reason.find(GetParam().field), std::string::npos);
  EXPECT_EQ(report.records, 40u);
}

INSTANTIATE_TEST_SUITE_P(Fields, ManifestDisagreementTest,
                         testing::Values(Change{"file_bytes", [](ShardInfo& shard) { ++shard.file_bytes; }},
                                         Change{"records", [](ShardInfo& shard) { --shard.records; }},
                                         Change{"blocks", [](ShardInfo& shard) { ++shard.blocks; }},
                                         Change{"run_records", [](ShardInfo& shard) { ++shard.run_records; }},
                                         Change{"raw_bytes", [](ShardInfo& shard) { --shard.raw_bytes; }},
                                         Change{"stored_bytes", [](ShardInfo& shard) { --shard.stored_bytes; }},
                                         Change{"min_record_bytes", [](ShardInfo& shard) { ++shard.min_record_bytes; }},
                                         Change{"max_record_bytes", [](ShardInfo& shard) { ++shard.max_record_bytes; }},
                                         Change{"max_block_raw", [](ShardInfo& shard) { ++shard.max_block_raw; }},
                                         Change{"max_block_stored", [](ShardInfo& shard) { ++shard.max_block_stored; }},
                                         Change{"max_block_records",
                                                [](ShardInfo& shard) { ++shard.max_block_records; }},
                                         Change{"fingerprint", [](ShardInfo& shard) { ++shard.fingerprint; }}),
                         [](const auto& c) { return std::string(c.param.field); });

TEST(ManifestTest, AShardThatWasExchangedIsFound) {
  TempFolder folder;
  write_dataset(folder.path(), 3, 20);
  fs::copy_file(folder.file("shard-2.dvt"), folder.file("shard-1.dvt"), fs::copy_options::overwrite_existing);
  const Dataset dataset = Dataset::open(folder.path()).value();
  const auto shard = detail::open_shard(dataset, 1);
  ASSERT_FALSE(shard);
  EXPECT_TRUE(shard.error().is(Errc::manifest_mismatch));
  EXPECT_EQ(shard.error().detail().find("file_id"), 0u) << shard.error().detail();
}

TEST(ManifestTest, WithoutAManifestAChangedShardHasChanged) {
  TempFolder folder;
  ShardSpec spec;
  spec.records = numbered_records(10);
  write_shard(folder.path(), "a.dvt", spec);
  const Dataset dataset = Dataset::open(folder.path()).value();
  spec.records.pop_back();
  write_shard(folder.path(), "a.dvt", spec);
  const auto shard = detail::open_shard(dataset, 0);
  ASSERT_FALSE(shard);
  EXPECT_TRUE(shard.error().is(Errc::file_changed));
}

void expect_refused(const TempFolder& folder, const std::vector<ShardInfo>& infos, Errc code, const char* named) {
  write_manifest(folder.file("manifest.dvt"), infos);
  const auto dataset = Dataset::open(folder.path());
  ASSERT_FALSE(dataset);
  EXPECT_TRUE(dataset.error().is(code)) << dataset.error().to_string();
  EXPECT_EQ(dataset.error().path(), folder.file("manifest.dvt"));
  EXPECT_NE(dataset.error().detail().find(named), std::string::npos) << dataset.error().to_string();
}

TEST(ManifestTest, ShardsOfAnotherDatasetAreRefused) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 5);
  infos[1].file_id ^= std::uint64_t{1} << 40;
  expect_refused(folder, infos, Errc::manifest_mismatch, "entry 1 ('shard-1.dvt') is a shard of another dataset");
}

TEST(ManifestTest, ShardsOutOfOrderAreRefused) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 3, 5);
  std::swap(infos[1], infos[2]);
  expect_refused(folder, infos, Errc::manifest_mismatch, "entry 1 ('shard-2.dvt') is shard number 2");
}

TEST(ManifestTest, NamesThatLeaveTheFolderAreRefusedUnlessAllowed) {
  TempFolder folder;
  const std::vector<ShardInfo> infos = write_dataset(folder.file("data"), 2, 5);
  const std::string absolute = folder.file("data/shard-1.dvt");
  for (const std::string& name : {absolute, std::string("../data/shard-1.dvt"), std::string("x/../shard-1.dvt"),
                                  std::string("x/.."), std::string("..")}) {
    std::vector<ShardInfo> changed = infos;
    changed[1].name = name;
    write_manifest(folder.file("data/manifest.dvt"), changed);
    const auto dataset = Dataset::open(folder.file("data"));
    ASSERT_FALSE(dataset) << name;
    EXPECT_TRUE(dataset.error().is(Errc::outside_dataset)) << name;
    EXPECT_NE(dataset.error().detail().find(name), std::string::npos);
    EXPECT_TRUE(Dataset::open(folder.file("data"), {.allow_outside = true})) << name;
  }
  std::vector<ShardInfo> changed = infos;
  changed[1].name = absolute;
  write_manifest(folder.file("data/manifest.dvt"), changed);
  const Dataset dataset = Dataset::open(folder.file("data"), {.allow_outside = true}).value();
  EXPECT_EQ(dataset.shard_path(1), absolute);
  EXPECT_TRUE(detail::open_shard(dataset, 1));
}

TEST(ManifestTest, NamesThatOnlyLookLikeLeavingAreFine) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 1, 5);
  for (const char* name : {"..a.dvt", "a../b.dvt", "./shard-0.dvt", "a//b...dvt"}) {
    infos[0].name = name;
    write_manifest(folder.file("manifest.dvt"), infos);
    EXPECT_TRUE(Dataset::open(folder.path())) << name;
  }
}

TEST(ManifestTest, LinksThatLeaveTheFolderAreRefusedUnlessAllowed) {
  TempFolder folder;
  write_dataset(folder.file("data"), 2, 5);
  fs::rename(folder.file("data/shard-1.dvt"), folder.file("elsewhere.dvt"));
  fs::create_symlink("../elsewhere.dvt", folder.file("data/shard-1.dvt"));

  const Dataset strict = Dataset::open(folder.file("data")).value();
  const auto refused = detail::open_shard(strict, 1);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::outside_dataset)) << refused.error().to_string();
  EXPECT_EQ(refused.error().path(), folder.file("data/shard-1.dvt"));

  const Dataset lenient = Dataset::open(folder.file("data"), {.allow_outside = true}).value();
  EXPECT_TRUE(detail::open_shard(lenient, 1));
}

TEST(ManifestTest, AnIndexBesideAShardThatLiesOutsideIsRefusedUnlessAllowed) {
  TempFolder folder;
  write_dataset(folder.file("data"), 2, 5);
  write_file(folder.file("elsewhere"), "not an index");
  fs::create_symlink("../elsewhere", folder.file("data/shard-1.dvt.dvi"));

  const Dataset strict = Dataset::open(folder.file("data")).value();
  EXPECT_TRUE(detail::open_shard(strict, 0));
  const auto refused = detail::open_shard(strict, 1);
  ASSERT_FALSE(refused) << "what begins as a TFRecord is read by its index";
  EXPECT_TRUE(refused.error().is(Errc::outside_dataset)) << refused.error().to_string();
  EXPECT_EQ(refused.error().path(), folder.file("data/shard-1.dvt.dvi"));

  const Dataset lenient = Dataset::open(folder.file("data"), {.allow_outside = true}).value();
  EXPECT_TRUE(detail::open_shard(lenient, 1));
}

TEST(ManifestTest, LinksInsideTheFolderAndALinkedFolderAreFine) {
  TempFolder folder;
  write_dataset(folder.file("data"), 2, 5);
  fs::create_directory(folder.file("data/real"));
  fs::rename(folder.file("data/shard-1.dvt"), folder.file("data/real/one.dvt"));
  fs::create_symlink(folder.file("data/real/one.dvt"), folder.file("data/shard-1.dvt"));
  fs::create_directory_symlink("data", folder.file("link"));
  const Dataset dataset = Dataset::open(folder.file("link")).value();
  EXPECT_TRUE(detail::open_shard(dataset, 1));
}

TEST(ManifestTest, AMissingShardIsTheSystemsError) {
  TempFolder folder;
  write_dataset(folder.path(), 2, 5);
  fs::remove(folder.file("shard-1.dvt"));
  const auto shard = detail::open_shard(Dataset::open(folder.path()).value(), 1);
  ASSERT_FALSE(shard);
  EXPECT_EQ(shard.error().code(), boost::system::errc::no_such_file_or_directory);
  EXPECT_EQ(shard.error().path(), folder.file("shard-1.dvt"));
}

TEST(ManifestTest, AShardNamedManifestIsNotOne) {
  TempFolder folder;
  ShardSpec spec;
  spec.records = numbered_records(4);
  write_shard(folder.path(), "manifest.dvt", spec);
  const auto dataset = Dataset::open(folder.path());
  ASSERT_FALSE(dataset);
  EXPECT_TRUE(dataset.error().is(Errc::unknown_format));
  EXPECT_NE(dataset.error().detail().find("'text'"), std::string::npos);
}

TEST(ManifestTest, EntriesThatAreNoMessagesAreNamedByNumber) {
  TempFolder folder;
  ShardSpec manifest;
  manifest.records = {"\xFF\xFF\xFF"};
  manifest.record_type = format::kManifestRecordType;
  write_shard(folder.path(), "manifest.dvt", manifest);
  const auto dataset = Dataset::open(folder.path());
  ASSERT_FALSE(dataset);
  EXPECT_TRUE(dataset.error().is(Errc::bad_message));
  EXPECT_EQ(dataset.error().detail().find("entry 0"), 0u) << dataset.error().to_string();
}

TEST(ManifestTest, OverlongEntriesAreRefusedUnread) {
  TempFolder folder;
  ShardSpec manifest;
  manifest.records = {std::string(format::kMaxManifestEntryBytes + 1, 'x')};
  manifest.record_type = format::kManifestRecordType;
  write_shard(folder.path(), "manifest.dvt", manifest);
  const auto dataset = Dataset::open(folder.path());
  ASSERT_FALSE(dataset);
  EXPECT_TRUE(dataset.error().is(Errc::bad_length));
}

TEST(ManifestTest, DamageInTheManifestIsDamage) {
  TempFolder folder;
  write_dataset(folder.path(), 2, 5);
  std::string bytes = read_file(folder.file("manifest.dvt"));
  bytes[bytes.find("shard-1")] = 'S';
  write_file(folder.file("manifest.dvt"), bytes);
  const auto dataset = Dataset::open(folder.path());
  ASSERT_FALSE(dataset);
  EXPECT_TRUE(dataset.error().is(Errc::payload_checksum));
  EXPECT_EQ(dataset.error().path(), folder.file("manifest.dvt"));
  EXPECT_TRUE(dataset.error().offset().has_value());
}

}  // namespace
}  // namespace dovetail
