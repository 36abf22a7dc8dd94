// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "format/layout.h"
#include "reader/dataset/damage_list.h"
#include "tests/support/as_nobody.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"
#include "tests/support/tfrecords.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

std::vector<BlockInfo> blocks_of(const std::string& path) {
  return describe_shard(path).value().blocks;
}

using VerifyTest = FolderTest;

TEST_F(VerifyTest, AGoodDatasetIsGood) {
  write_dataset(folder_.path(), 3, 20);
  for (const std::string& path : {folder_.path(), folder_.path("manifest.dvt"), folder_.path("shard-*.dvt")}) {
    const VerifyReport report = verify(path).value();
    EXPECT_TRUE(report.ok()) << path;
    EXPECT_EQ(report.records, 60u) << path;
    EXPECT_EQ(report.blocks, 21u) << path;
  }
  const VerifyReport one = verify(folder_.path("shard-1.dvt")).value();
  EXPECT_TRUE(one.ok());
  EXPECT_EQ(one.records, 20u);
}

TEST_F(VerifyTest, AShardInTheManifestsPlaceIsNotGood) {
  write_dataset(folder_.path(), 3, 20);
  fs::copy(folder_.path("shard-0.dvt"), folder_.path("manifest.dvt"), fs::copy_options::overwrite_existing);
  for (const std::string& path : {folder_.path(), folder_.path("manifest.dvt")}) {
    EXPECT_THAT(verify(path), Fails(Errc::unknown_format).in(folder_.path("manifest.dvt"))) << path;
  }
}

TEST_F(VerifyTest, IsCancelledBetweenShards) {
  write_dataset(folder_.path(), 3, 20);
  int asked = 0;
  EXPECT_THAT(verify(folder_.path(), 1, [&] { return ++asked == 2; }), Fails(ErrorKind::cancelled));
  EXPECT_EQ(asked, 2);
}

TEST_F(VerifyTest, IsCancelledWhileFilesAreSorted) {
  write_dataset(folder_.path(), 3, 20);
  fs::remove(folder_.path("manifest.dvt"));
  for (const std::string& path : {folder_.path(), folder_.path("*.dvt")}) {
    int asked = 0;
    EXPECT_THAT(verify(path, 1, [&] { return ++asked == 4; }), Fails(ErrorKind::cancelled))
        << "each file is opened to be sorted, and then to be read";
    EXPECT_EQ(asked, 4);
  }
}

TEST_F(VerifyTest, ShardsWithoutRecordsAreGood) {
  write_dataset(folder_.path(), 2, 0);
  const VerifyReport report = verify(folder_.path()).value();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.records, 0u);
}

TEST_F(VerifyTest, ReportsExactlyTheDamagedBlocksInOrder) {
  write_dataset(folder_.path(), 3, 20);
  const std::string first = folder_.path("shard-0.dvt");
  const std::string last = folder_.path("shard-2.dvt");
  const auto blocks = blocks_of(first);
  flip_bit(first, blocks[1].offset + 64);
  flip_bit(first, blocks[4].offset + 63);
  flip_bit(last, blocks_of(last)[0].offset + 70);
  for (const unsigned threads : {1u, 4u}) {
    const VerifyReport report = verify(folder_.path(), threads).value();
    ASSERT_EQ(report.damaged.size(), 3u);
    EXPECT_EQ(report.damaged_places, 3u);
    EXPECT_EQ(report.damaged[0].file, first);
    EXPECT_EQ(report.damaged[0].offset, blocks[1].offset);
    EXPECT_EQ(report.damaged[0].first_record, 3u);
    EXPECT_EQ(report.damaged[0].end_record, 6u);
    EXPECT_NE(report.damaged[0].reason.find("payload checksum"), std::string::npos) << report.damaged[0].reason;
    EXPECT_EQ(report.damaged[1].offset, blocks[4].offset);
    EXPECT_EQ(report.damaged[1].first_record, 12u);
    EXPECT_NE(report.damaged[1].reason.find("header checksum"), std::string::npos) << report.damaged[1].reason;
    EXPECT_EQ(report.damaged[2].file, last);
    EXPECT_EQ(report.damaged[2].first_record, 0u);
    EXPECT_EQ(report.records, 51u);
    EXPECT_EQ(report.blocks, 18u);
  }
}

TEST_F(VerifyTest, TheFirstPlacesAreListedWhicheverIsFoundFirstAndAllAreCounted) {
  constexpr std::uint64_t kPlaces = detail::kMostDamagedListed / 2 + 1;
  for (const bool backwards : {false, true}) {
    detail::DamageList list;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t shard = backwards ? 2 - i : i;
      for (std::uint64_t place = 0; place < kPlaces; ++place) {
        list.add(shard, LostRange{.file = std::to_string(shard), .offset = place, .reason = {}});
      }
    }
    VerifyReport report;
    detail::tell_damage({.file = "manifest", .reason = {}}, report);
    list.move_to(report);
    EXPECT_EQ(report.damaged_places, 3 * kPlaces + 1);
    ASSERT_EQ(report.damaged.size(), detail::kMostDamagedListed);
    EXPECT_EQ(report.damaged[0].file, "manifest");
    EXPECT_EQ(report.damaged[kPlaces].file, "0");
    EXPECT_EQ(report.damaged[kPlaces].offset, kPlaces - 1);
    EXPECT_EQ(report.damaged[kPlaces + 1].file, "1");
    EXPECT_EQ(report.damaged.back().offset, kPlaces - 4);
  }
}

TEST_F(VerifyTest, ReportsAddUpAndTogetherListNoMorePlacesThanOne) {
  VerifyReport report{.records = 1, .blocks = 2, .damaged = {}, .unreadable = {}};
  for (std::uint64_t place = 0; place < detail::kMostDamagedListed; ++place) {
    detail::tell_damage({.file = "first", .offset = place, .reason = {}}, report);
  }
  VerifyReport other{.records = 10, .blocks = 20, .damaged = {}, .damaged_places = 7, .unreadable = {}};
  other.damaged.push_back({.file = "other", .reason = {}});  // further places are not listed
  other.unreadable.push_back(Error(Errc::truncated));
  report += std::move(other);
  EXPECT_EQ(report.records, 11u);
  EXPECT_EQ(report.blocks, 22u);
  EXPECT_EQ(report.damaged_places, detail::kMostDamagedListed + 7);
  EXPECT_EQ(report.damaged.size(), detail::kMostDamagedListed);
  EXPECT_EQ(report.damaged.back().file, "first");
  EXPECT_EQ(report.unreadable.size(), 1u);
}

TEST_F(VerifyTest, AnUnfinishedShardLosesWhatTheManifestPromised) {
  write_dataset(folder_.path(), 3, 20);
  const std::string path = folder_.path("shard-1.dvt");
  fs::resize_file(path, fs::file_size(path) - 100);
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, path);
  EXPECT_EQ(report.damaged[0].first_record, 0u);
  EXPECT_EQ(report.damaged[0].end_record, 20u);
  EXPECT_NE(report.damaged[0].reason.find("unfinished"), std::string::npos);
  EXPECT_EQ(report.records, 40u);
}

TEST_F(VerifyTest, ADamagedIndexLosesTheRecordsThatTheFooterCounts) {
  write_dataset(folder_.path(), 1, 20);
  const std::string path = folder_.path("shard-0.dvt");
  const BlockInfo last = blocks_of(path).back();
  flip_bit(path, format::align_up(last.offset + 64 + last.stored_bytes) + 64);
  const VerifyReport report = verify(path).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].end_record, 20u);
}

TEST_F(VerifyTest, NonZeroPaddingIsDamageThatLosesNoRecord) {
  write_dataset(folder_.path(), 1, 20);
  const std::string path = folder_.path("shard-0.dvt");
  const BlockInfo block = blocks_of(path)[2];
  const std::uint64_t padding = block.offset + 64 + block.stored_bytes;
  ASSERT_LT(padding, format::align_up(padding));
  flip_bit(path, padding);
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].offset, padding);
  EXPECT_EQ(report.damaged[0].first_record, report.damaged[0].end_record);
  EXPECT_EQ(report.records, 20u);
}

TEST_F(VerifyTest, EveryMissingShardIsNamedAndTheOthersAreJudged) {
  write_dataset(folder_.path(), 5, 20);
  fs::remove(folder_.path("shard-1.dvt"));
  fs::remove(folder_.path("shard-3.dvt"));
  const std::string damaged = folder_.path("shard-4.dvt");
  flip_bit(damaged, blocks_of(damaged)[0].offset + 70);
  for (const unsigned threads : {1u, 4u}) {
    const VerifyReport report = verify(folder_.path(), threads).value();
    EXPECT_FALSE(report.ok());
    ASSERT_EQ(report.unreadable.size(), 2u);
    EXPECT_EQ(report.unreadable[0].kind(), ErrorKind::io);
    EXPECT_EQ(report.unreadable[0].path(), folder_.path("shard-1.dvt"));
    EXPECT_EQ(report.unreadable[1].path(), folder_.path("shard-3.dvt"));
    ASSERT_EQ(report.damaged.size(), 1u);
    EXPECT_EQ(report.damaged[0].file, damaged);
    EXPECT_EQ(report.records, 57u);
  }
}

TEST_F(VerifyTest, AFileOfAGlobThatCannotBeReadHidesNoOther) {
  write_dataset(folder_.path(), 3, 20);
  fs::remove(folder_.path("shard-0.dvt"));
  fs::create_symlink("gone.dvt", folder_.path("shard-0.dvt"));
  const VerifyReport report = verify(folder_.path("shard-*.dvt")).value();
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].path(), folder_.path("shard-0.dvt"));
  EXPECT_EQ(report.records, 40u);
}

TEST_F(VerifyTest, FilesInAFolderThatMayNotBeSearchedAreNotLeftOut) {
  write_dataset(folder_.path("d/a"), 1, 20);
  write_dataset(folder_.path("d/b/c"), 1, 20);
  fs::rename(folder_.path("d/b/c/shard-0.dvt"), folder_.path("d/b/shard-0.dvt"));
  fs::remove(folder_.path("d/a/manifest.dvt"));
  fs::remove(folder_.path("d/b/c/manifest.dvt"));
  for (const char* name : {".", "d", "d/a"}) {
    fs::permissions(folder_.path(name), fs::perms::owner_all | kAllMayRead | kAllMaySearch);
  }
  const FolderPermissions listed_only(folder_.path("d/b"), kAllMayRead);
  const AsNobody nobody;
  if (nobody.may(folder_.path("d/b"), X_OK)) GTEST_SKIP() << "all may be searched";

  const VerifyReport report = verify(folder_.path("d/*/*.dvt")).value();
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].path(), folder_.path("d/b/shard-0.dvt"));
  EXPECT_EQ(report.unreadable[0].code(), boost::system::errc::permission_denied);
  EXPECT_EQ(report.records, 20u);
  EXPECT_THAT(Dataset::open(folder_.path("d/*/*.dvt")), Fails().in(folder_.path("d/b/shard-0.dvt")));

  // What may be a folder with shards, or a dataset of its own, is an error.
  const Error unknown = verify(folder_.path("d")).error();
  EXPECT_EQ(unknown.code(), boost::system::errc::permission_denied);
  EXPECT_EQ(unknown.path(), folder_.path("d/b/c"));
}

TEST_F(VerifyTest, AManifestUnderAnotherNameIsNoShardWithRecords) {
  write_dataset(folder_.path(), 2, 20);
  fs::rename(folder_.path("manifest.dvt"), folder_.path("old.dvt"));
  const VerifyReport report = verify(folder_.path()).value();
  EXPECT_EQ(report.records, 40u);
  EXPECT_TRUE(report.damaged.empty());
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].path(), folder_.path("old.dvt"));
  EXPECT_EQ(report.unreadable[0].code(), Dataset::open(folder_.path()).error().code());
}

TEST_F(VerifyTest, AManifestAmongTheFilesOfAGlobIsNoShardWithRecords) {
  write_dataset(folder_.path(), 2, 20);
  fs::rename(folder_.path("manifest.dvt"), folder_.path("old.dvt"));
  fs::copy_file(folder_.path("old.dvt"), folder_.path("shard-9.dvt"));
  fs::remove(folder_.path("shard-0.dvt"));
  for (const char* pattern : {"*.dvt", "shard-*.dvt"}) {
    const VerifyReport report = verify(folder_.path(pattern)).value();
    EXPECT_EQ(report.records, 20u) << pattern;
    EXPECT_TRUE(report.damaged.empty()) << pattern << ": who names files wants no others";
    EXPECT_EQ(report.unreadable.size(), pattern[0] == '*' ? 2u : 1u) << pattern;
    for (const Error& error : report.unreadable) EXPECT_TRUE(error.is(Errc::unknown_format)) << error.to_string();
  }
}

TEST_F(VerifyTest, ShardsThatTheManifestDoesNotNameAreLeftAlone) {
  write_dataset(folder_.path(), 2, 20);
  write_file(folder_.path("old.dvt"), "not a shard");
  EXPECT_TRUE(verify(folder_.path()).value().ok());
}

TEST_F(VerifyTest, ADamagedManifestIsReportedAndTheShardsAreCheckedAlone) {
  write_dataset(folder_.path(), 2, 20);
  flip_bit(folder_.path("manifest.dvt"), blocks_of(folder_.path("manifest.dvt"))[0].offset + 70);
  const std::string path = folder_.path("shard-1.dvt");
  flip_bit(path, blocks_of(path)[1].offset + 64);
  for (const std::string& given : {folder_.path(), folder_.path("manifest.dvt")}) {
    const VerifyReport report = verify(given).value();
    ASSERT_EQ(report.damaged.size(), 2u);
    EXPECT_EQ(report.damaged[0].file, folder_.path("manifest.dvt"));
    EXPECT_EQ(report.damaged[1].file, path);
    EXPECT_EQ(report.damaged[1].first_record, 3u);
    EXPECT_EQ(report.records, 37u);
  }
}

TEST_F(VerifyTest, ADamagedManifestIsReportedThoughItsFolderCannotBeListedWhole) {
  write_dataset(folder_.path(), 2, 20);
  flip_bit(folder_.path("manifest.dvt"), blocks_of(folder_.path("manifest.dvt"))[0].offset + 70);
  write_file(folder_.path("a.tfrecord"), begun_tfrecord());
  write_file(folder_.path("a.tfrecord.dvi"), "");
  write_file(folder_.path("b.tfrecord"), begun_tfrecord());
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, folder_.path("manifest.dvt"));
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_TRUE(report.unreadable[0].is(Errc::not_indexed)) << report.unreadable[0].to_string();
  EXPECT_EQ(report.unreadable[0].path(), folder_.path("b.tfrecord"));
}

TEST_F(VerifyTest, AManifestThatContradictsItselfIsDamage) {
  std::vector<ShardInfo> infos = write_dataset(folder_.path(), 2, 20);
  std::swap(infos[0], infos[1]);
  write_manifest(folder_.path("manifest.dvt"), infos);
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, folder_.path("manifest.dvt"));
  EXPECT_NE(report.damaged[0].reason.find("shard number 1"), std::string::npos) << report.damaged[0].reason;
  EXPECT_EQ(report.records, 40u);
}

TEST_F(VerifyTest, AManifestThatLeavesItsFolderIsNotFollowed) {
  std::vector<ShardInfo> infos = write_dataset(folder_.path(), 2, 20);
  infos[1].name = "../shard-1.dvt";
  write_manifest(folder_.path("manifest.dvt"), infos);
  EXPECT_THAT(verify(folder_.path()), Fails(Errc::outside_dataset));
}

TEST_F(VerifyTest, ForeignAndUnfinishedFilesOfAGlobAreDamage) {
  write_dataset(folder_.path(), 2, 20);
  write_file(folder_.path("shard-x.dvt"), std::string(1000, 'x'));
  write_file(folder_.path("shard-y.dvt"), as_chars(read_file(folder_.path("shard-0.dvt"))).substr(0, 500));
  const VerifyReport report = verify(folder_.path("shard-*.dvt")).value();
  ASSERT_EQ(report.damaged.size(), 2u);
  EXPECT_EQ(report.damaged[0].file, folder_.path("shard-x.dvt"));
  EXPECT_EQ(report.damaged[1].file, folder_.path("shard-y.dvt"));
  EXPECT_EQ(report.records, 40u);
}

TEST_F(VerifyTest, AFolderAboveDatasetsIsNotJudgedAsOne) {
  write_dataset(folder_.path("train"), 3, 20);
  write_dataset(folder_.path("val"), 1, 20);
  fs::remove(folder_.path("train/shard-1.dvt"));
  EXPECT_THAT(verify(folder_.path()), Fails(Errc::several_datasets));
}

TEST_F(VerifyTest, AGapInTheNumbersOfShardsIsDamage) {
  write_dataset(folder_.path(), 5, 20);
  for (const char* name : {"manifest.dvt", "shard-1.dvt", "shard-3.dvt"}) fs::remove(folder_.path(name));
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_EQ(report.damaged[0].file, folder_.path());
  EXPECT_NE(report.damaged[0].reason.find("shard numbers 1, 3 are missing"), std::string::npos)
      << report.damaged[0].reason;
  EXPECT_EQ(report.records, 60u);
  EXPECT_TRUE(verify(folder_.path("*.dvt")).value().ok()) << "these files were asked for";

  // One that cannot be read might be any.
  const std::string path = folder_.path("shard-2.dvt");
  fs::resize_file(path, fs::file_size(path) - 100);
  const VerifyReport two = verify(folder_.path()).value();
  ASSERT_EQ(two.damaged.size(), 2u);
  EXPECT_EQ(two.damaged[0].file, path);
  EXPECT_NE(two.damaged[1].reason.find("shard numbers 1 to 3"), std::string::npos) << two.damaged[1].reason;
}

TEST_F(VerifyTest, NothingToVerifyIsAnError) {
  EXPECT_THAT(verify(folder_.path()), Fails(Errc::empty_input));
  EXPECT_THAT(verify(folder_.path("nothing")), Fails(boost::system::errc::no_such_file_or_directory));
}

}  // namespace
}  // namespace dovetail::test
