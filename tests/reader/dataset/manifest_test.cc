// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/manifest.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "reader/dataset/shard_file.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

struct Change {
  const char* field;
  std::function<void(ShardInfo&)> apply;
};

void PrintTo(const Change& change, std::ostream* out) {
  *out << change.field;
}

// Changes that leave the entry plausible in itself, so that only the shard can contradict it.
class ManifestDisagreementTest : public ::testing::TestWithParam<Change> {};

TEST_P(ManifestDisagreementTest, OpeningTheShardNamesTheFieldAndBothValues) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 20);
  GetParam().apply(infos[1]);
  write_manifest(folder.path("manifest.dvt"), infos);
  const Dataset dataset = Dataset::open(folder.path()).value();
  EXPECT_TRUE(detail::open_shard(dataset, 0));

  const auto shard = detail::open_shard(dataset, 1);
  ASSERT_THAT(shard, Fails(Errc::manifest_mismatch).in(folder.path("shard-1.dvt")));
  const std::string detail = shard.error().detail();  // error() returns a copy
  EXPECT_EQ(detail.find(std::string(GetParam().field) + ": the manifest says "), 0u) << detail;
  EXPECT_NE(detail.find(", the shard "), std::string::npos) << detail;

  EXPECT_THAT(RecordReader::open(dataset, 1), Fails(Errc::manifest_mismatch));
}

TEST_P(ManifestDisagreementTest, VerifyReportsItAndLosesNoRecord) {
  TempFolder folder;
  std::vector<ShardInfo> infos = write_dataset(folder.path(), 2, 20);
  GetParam().apply(infos[1]);
  write_manifest(folder.path("manifest.dvt"), infos);
  const VerifyReport report = verify(folder.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, folder.path("shard-1.dvt"));
  EXPECT_EQ(report.damaged[0].first_record, report.damaged[0].end_record);
  EXPECT_NE(report.damaged[0].reason.find(GetParam().field), std::string::npos);
  EXPECT_EQ(report.records, 40u);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ManifestDisagreementTest,
    ::testing::Values(Change{"file_bytes", [](ShardInfo& shard) { ++shard.file_bytes; }},
                      Change{"records", [](ShardInfo& shard) { --shard.records; }},
                      Change{"blocks", [](ShardInfo& shard) { ++shard.blocks; }},
                      Change{"run_records", [](ShardInfo& shard) { ++shard.run_records; }},
                      Change{"raw_bytes", [](ShardInfo& shard) { --shard.raw_bytes; }},
                      Change{"stored_bytes", [](ShardInfo& shard) { --shard.stored_bytes; }},
                      Change{"min_record_bytes", [](ShardInfo& shard) { ++shard.min_record_bytes; }},
                      Change{"max_record_bytes", [](ShardInfo& shard) { ++shard.max_record_bytes; }},
                      Change{"max_block_raw", [](ShardInfo& shard) { ++shard.max_block_raw; }},
                      Change{"max_block_stored", [](ShardInfo& shard) { ++shard.max_block_stored; }},
                      Change{"max_block_records", [](ShardInfo& shard) { ++shard.max_block_records; }},
                      Change{"fingerprint", [](ShardInfo& shard) { ++shard.fingerprint; }}),
    [](const auto& c) { return std::string(c.param.field); });

using ManifestTest = FolderTest;

TEST_F(ManifestTest, AShardThatWasExchangedIsFound) {
  write_dataset(folder_.path(), 3, 20);
  fs::copy_file(folder_.path("shard-2.dvt"), folder_.path("shard-1.dvt"), fs::copy_options::overwrite_existing);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  const auto shard = detail::open_shard(dataset, 1);
  ASSERT_THAT(shard, Fails(Errc::manifest_mismatch));
  EXPECT_EQ(shard.error().detail().find("file_id"), 0u) << shard.error().detail();
}

TEST_F(ManifestTest, WithoutAManifestAChangedShardHasChanged) {
  ShardSpec spec{.records = numbered_records(10), .shard_number = 0};
  write_shard(folder_.path(), "a.dvt", spec);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  spec.records.pop_back();
  write_shard(folder_.path(), "a.dvt", spec);
  EXPECT_THAT(detail::open_shard(dataset, 0), Fails(Errc::file_changed));
}

void expect_refused(const TempFolder& folder, const std::vector<ShardInfo>& infos, Errc code, const char* named) {
  write_manifest(folder.path("manifest.dvt"), infos);
  EXPECT_THAT(Dataset::open(folder.path()), Fails(code).in(folder.path("manifest.dvt")).saying(named));
}

TEST_F(ManifestTest, ShardsOfAnotherDatasetAreRefused) {
  std::vector<ShardInfo> infos = write_dataset(folder_.path(), 2, 5);
  infos[1].file_id ^= std::uint64_t{1} << 40;
  expect_refused(folder_, infos, Errc::manifest_mismatch, "entry 1 ('shard-1.dvt') is a shard of another dataset");
}

TEST_F(ManifestTest, ShardsOutOfOrderAreRefused) {
  std::vector<ShardInfo> infos = write_dataset(folder_.path(), 3, 5);
  std::swap(infos[1], infos[2]);
  expect_refused(folder_, infos, Errc::manifest_mismatch, "entry 1 ('shard-2.dvt') is shard number 2");
}

TEST_F(ManifestTest, NamesThatLeaveTheFolderAreRefusedUnlessAllowed) {
  const std::vector<ShardInfo> infos = write_dataset(folder_.path("data"), 2, 5);
  const std::string absolute = folder_.path("data/shard-1.dvt");
  for (const std::string& name : {absolute, std::string("../data/shard-1.dvt"), std::string("x/../shard-1.dvt"),
                                  std::string("x/.."), std::string("..")}) {
    std::vector<ShardInfo> changed = infos;
    changed[1].name = name;
    write_manifest(folder_.path("data/manifest.dvt"), changed);
    EXPECT_THAT(Dataset::open(folder_.path("data")), Fails(Errc::outside_dataset).saying(name)) << name;
    EXPECT_TRUE(Dataset::open(folder_.path("data"), {.allow_outside = true})) << name;
  }
  std::vector<ShardInfo> changed = infos;
  changed[1].name = absolute;
  write_manifest(folder_.path("data/manifest.dvt"), changed);
  const Dataset dataset = Dataset::open(folder_.path("data"), {.allow_outside = true}).value();
  EXPECT_EQ(dataset.shard_path(1), absolute);
  EXPECT_TRUE(detail::open_shard(dataset, 1));
}

TEST_F(ManifestTest, NamesThatOnlyLookLikeLeavingAreFine) {
  std::vector<ShardInfo> infos = write_dataset(folder_.path(), 1, 5);
  for (const char* name : {"..a.dvt", "a../b.dvt", "./shard-0.dvt", "a//b...dvt"}) {
    infos[0].name = name;
    write_manifest(folder_.path("manifest.dvt"), infos);
    EXPECT_TRUE(Dataset::open(folder_.path())) << name;
  }
}

TEST_F(ManifestTest, LinksThatLeaveTheFolderAreRefusedUnlessAllowed) {
  write_dataset(folder_.path("data"), 2, 5);
  fs::rename(folder_.path("data/shard-1.dvt"), folder_.path("elsewhere.dvt"));
  fs::create_symlink("../elsewhere.dvt", folder_.path("data/shard-1.dvt"));

  const Dataset strict = Dataset::open(folder_.path("data")).value();
  EXPECT_THAT(detail::open_shard(strict, 1), Fails(Errc::outside_dataset).in(folder_.path("data/shard-1.dvt")));

  const Dataset lenient = Dataset::open(folder_.path("data"), {.allow_outside = true}).value();
  EXPECT_TRUE(detail::open_shard(lenient, 1));
}

TEST_F(ManifestTest, AnIndexBesideAShardThatLiesOutsideIsRefusedUnlessAllowed) {
  write_dataset(folder_.path("data"), 2, 5);
  write_file(folder_.path("elsewhere"), "not an index");
  fs::create_symlink("../elsewhere", folder_.path("data/shard-1.dvt.dvi"));

  const Dataset strict = Dataset::open(folder_.path("data")).value();
  EXPECT_TRUE(detail::open_shard(strict, 0));
  EXPECT_THAT(detail::open_shard(strict, 1), Fails(Errc::outside_dataset).in(folder_.path("data/shard-1.dvt.dvi")))
      << "what begins as a TFRecord is read by its index";

  const Dataset lenient = Dataset::open(folder_.path("data"), {.allow_outside = true}).value();
  EXPECT_TRUE(detail::open_shard(lenient, 1));
}

TEST_F(ManifestTest, LinksInsideTheFolderAndALinkedFolderAreFine) {
  write_dataset(folder_.path("data"), 2, 5);
  fs::create_directory(folder_.path("data/real"));
  fs::rename(folder_.path("data/shard-1.dvt"), folder_.path("data/real/one.dvt"));
  fs::create_symlink(folder_.path("data/real/one.dvt"), folder_.path("data/shard-1.dvt"));
  fs::create_directory_symlink("data", folder_.path("link"));
  const Dataset dataset = Dataset::open(folder_.path("link")).value();
  EXPECT_TRUE(detail::open_shard(dataset, 1));
}

TEST_F(ManifestTest, AMissingShardIsTheSystemsError) {
  write_dataset(folder_.path(), 2, 5);
  fs::remove(folder_.path("shard-1.dvt"));
  const auto shard = detail::open_shard(Dataset::open(folder_.path()).value(), 1);
  ASSERT_THAT(shard, Fails(boost::system::errc::no_such_file_or_directory).in(folder_.path("shard-1.dvt")));
}

TEST_F(ManifestTest, AShardNamedManifestIsNotOne) {
  ShardSpec spec{.records = numbered_records(4)};
  write_shard(folder_.path(), "manifest.dvt", spec);
  EXPECT_THAT(Dataset::open(folder_.path()), Fails(Errc::unknown_format).saying("'text'"));
}

TEST_F(ManifestTest, EntriesThatAreNoMessagesAreNamedByNumber) {
  ShardSpec manifest{.records = {"\xFF\xFF\xFF"}, .metadata = {format::kManifestRecordType, "sample", {}}};
  write_shard(folder_.path(), "manifest.dvt", manifest);
  const auto dataset = Dataset::open(folder_.path());
  ASSERT_THAT(dataset, Fails(Errc::bad_message));
  EXPECT_EQ(dataset.error().detail().find("entry 0"), 0u) << dataset.error().to_string();
}

TEST_F(ManifestTest, OverlongEntriesAreRefusedUnread) {
  ShardSpec manifest{.records = {std::string(format::kMaxManifestEntryBytes + 1, 'x')},
                     .metadata = {format::kManifestRecordType, "sample", {}}};
  write_shard(folder_.path(), "manifest.dvt", manifest);
  EXPECT_THAT(Dataset::open(folder_.path()), Fails(Errc::bad_length));
}

TEST_F(ManifestTest, DamageInTheManifestIsDamage) {
  write_dataset(folder_.path(), 2, 5);
  const std::string path = folder_.path("manifest.dvt");
  flip_bit(path, as_chars(read_file(path)).find("shard-1"));
  const auto dataset = Dataset::open(folder_.path());
  ASSERT_THAT(dataset, Fails(Errc::payload_checksum).in(folder_.path("manifest.dvt")));
  EXPECT_TRUE(dataset.error().offset().has_value());
  EXPECT_THAT(dataset.error().detail(), ::testing::HasSubstr("dovetail recover"));
  // Recovery opens the manifest itself, and reports this error.
  EXPECT_THAT(Dataset::open(path).error().detail(), ::testing::Not(::testing::HasSubstr("dovetail recover")));
}

}  // namespace
}  // namespace dovetail::test
