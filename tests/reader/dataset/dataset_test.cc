// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dataset.h>

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <boost/system/errc.hpp>

#include <dovetail/record_reader.h>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "format/structures.h"
#include "reader/plan/hash_words.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/sample_shards.h"
#include "tests/support/tfrecords.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Names names_of(const Dataset& dataset) {
  Names names;
  for (const ShardInfo& shard : dataset.shards()) names.push_back(shard.name);
  return names;
}

ShardSpec shard_of(std::size_t records, std::uint32_t number = 0) {
  return {.records = numbered_records(records), .run_records = 6, .block_records = 3, .shard_number = number};
}

Error open_error(const std::string& path, const DatasetOptions& options = {}) {
  auto dataset = Dataset::open(path, options);
  EXPECT_FALSE(dataset) << path;
  return dataset ? Error(Errc::closed) : dataset.error();
}

using DatasetTest = FolderTest;

TEST_F(DatasetTest, AFolderIsOpenedByItsManifest) {
  const std::vector<ShardInfo> infos = write_dataset(folder_.path(), 3, 20);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  EXPECT_TRUE(dataset.has_manifest());
  EXPECT_EQ(dataset.path(), folder_.path());
  EXPECT_EQ(std::vector<ShardInfo>(dataset.shards().begin(), dataset.shards().end()), infos);
  EXPECT_EQ(dataset.records(), 60u);
  EXPECT_EQ(dataset.raw_bytes(), infos[0].raw_bytes + infos[1].raw_bytes + infos[2].raw_bytes);
  EXPECT_EQ(dataset.shard_path(1), folder_.path("shard-1.dvt"));
}

TEST_F(DatasetTest, AManifestIsKnownByItsContentNotItsName) {
  write_dataset(folder_.path(), 2, 5);
  fs::rename(folder_.path("manifest.dvt"), folder_.path("list"));
  const Dataset dataset = Dataset::open(folder_.path("list")).value();
  EXPECT_TRUE(dataset.has_manifest());
  EXPECT_EQ(dataset.records(), 10u);
}

TEST_F(DatasetTest, AShardInTheManifestsPlaceIsNoManifest) {
  write_dataset(folder_.path(), 2, 5);
  fs::copy(folder_.path("shard-0.dvt"), folder_.path("manifest.dvt"), fs::copy_options::overwrite_existing);
  for (const std::string& path : {folder_.path(), folder_.path("manifest.dvt")}) {
    EXPECT_THAT(open_error(path), Fails(Errc::unknown_format).in(folder_.path("manifest.dvt")));
  }
}

TEST_F(DatasetTest, OpeningByManifestTouchesNoShard) {
  write_dataset(folder_.path(), 3, 20);
  for (const char* name : {"shard-0.dvt", "shard-1.dvt", "shard-2.dvt"}) fs::remove(folder_.path(name));
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 60u);
}

TEST_F(DatasetTest, AnEmptyManifestIsAnEmptyDataset) {
  write_manifest(folder_.path("manifest.dvt"), {});
  const Dataset dataset = Dataset::open(folder_.path()).value();
  EXPECT_TRUE(dataset.shards().empty());
  EXPECT_EQ(dataset.records(), 0u);
}

TEST_F(DatasetTest, AShardIsADatasetOfOne) {
  ShardInfo info = write_shard(folder_.path(), "one.dvt", shard_of(7, 4));
  const Dataset dataset = Dataset::open(folder_.path("one.dvt")).value();
  EXPECT_FALSE(dataset.has_manifest());
  ASSERT_EQ(dataset.shards().size(), 1u);
  EXPECT_EQ(dataset.shards()[0], info);
  EXPECT_EQ(dataset.shard_path(0), folder_.path("one.dvt"));
}

TEST_F(DatasetTest, WithoutAManifestShardsComeInBytewiseOrderOfTheirPaths) {
  const Names expected = {"A.dvt", "a-b.dvt", "a.dvt", "a/10.dvt", "a/9.dvt", "a/b/c.dvt", "b.dvt"};
  for (std::uint32_t number = 7; number-- > 0;) write_shard(folder_.path(), expected[number], shard_of(2, number));
  write_file(folder_.path("notes.txt"), "not a shard");
  write_file(folder_.path(".hidden.dvt"), "not a shard");
  write_file(folder_.path(".hidden/x.dvt"), "not a shard");
  write_file(folder_.path(".a.dvt.partial-1-2"), "not a shard");
  const Dataset dataset = Dataset::open(folder_.path()).value();
  EXPECT_FALSE(dataset.has_manifest());
  EXPECT_EQ(names_of(dataset), expected);
  EXPECT_EQ(dataset.shard_path(3), folder_.path("a/10.dvt"));
}

TEST_F(DatasetTest, AGlobTakesShardsOfDifferentDatasetsButNoManifest) {
  write_dataset(folder_.path("x"), 2, 4);
  ShardSpec other = shard_of(3);
  other.dataset_id.bytes[0] = 99;
  write_shard(folder_.path("y"), "shard-0.dvt", other);
  const Dataset dataset = Dataset::open(folder_.path("*/*.dvt")).value();
  EXPECT_EQ(names_of(dataset), (Names{"x/shard-0.dvt", "x/shard-1.dvt", "y/shard-0.dvt"}));
  EXPECT_EQ(dataset.shard_path(2), folder_.path("y/shard-0.dvt"));
  EXPECT_EQ(dataset.records(), 11u);
}

TEST_F(DatasetTest, AManifestUnderAnotherNameIsNoShard) {
  write_dataset(folder_.path(), 2, 4);
  fs::rename(folder_.path("manifest.dvt"), folder_.path("list.dvt"));
  EXPECT_THAT(open_error(folder_.path("*.dvt")), Fails(Errc::unknown_format).in(folder_.path("list.dvt")));
}

TEST_F(DatasetTest, RelativePathsAreSeenFromTheCurrentFolder) {
  write_dataset(folder_.path(), 2, 4);
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  for (const char* path : {".", "manifest.dvt", "./manifest.dvt", "*.dvt", "./shard-[01].dvt"}) {
    const auto dataset = Dataset::open(path).value();
    EXPECT_EQ(dataset.records(), 8u) << path;
    EXPECT_TRUE(RecordReader::open(dataset, 1)) << path;
  }
  fs::current_path(before);
}

TEST_F(DatasetTest, AnExistingFileWinsOverAPattern) {
  write_shard(folder_.path(), "a[1].dvt", shard_of(3));
  write_shard(folder_.path(), "a1.dvt", shard_of(5));
  EXPECT_EQ(Dataset::open(folder_.path("a[1].dvt")).value().records(), 3u);
  EXPECT_EQ(Dataset::open(folder_.path("a[12].dvt")).value().records(), 5u);
}

TEST_F(DatasetTest, NumberOfThreadsChangesNothing) {
  for (std::uint32_t i = 0; i < 40; ++i) {
    write_shard(folder_.path(), "s" + std::to_string(100 + i) + ".dvt", shard_of(i, i));
  }
  const Dataset one = Dataset::open(folder_.path(), {.threads = 1}).value();
  const Dataset many = Dataset::open(folder_.path(), {.threads = 12}).value();
  EXPECT_EQ(one.fingerprint(), many.fingerprint());
  EXPECT_EQ(names_of(one), names_of(many));
}

TEST_F(DatasetTest, TheFirstBadShardInOrderIsReported) {
  for (int i = 100; i < 140; ++i) write_shard(folder_.path(), "s" + std::to_string(i) + ".dvt", shard_of(4));
  for (const char* name : {"s117.dvt", "s118.dvt", "s130.dvt"})
    write_file(folder_.path(name), "damaged beyond recognition");
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(open_error(folder_.path(), {.threads = 8}), Fails(Errc::not_dovetail).in(folder_.path("s117.dvt")));
  }
}

TEST_F(DatasetTest, LocateFindsEveryRecordAcrossEmptyShards) {
  const std::vector<std::size_t> sizes = {0, 3, 0, 0, 1, 5, 0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    write_shard(folder_.path(), "s" + std::to_string(i) + ".dvt", shard_of(sizes[i], static_cast<std::uint32_t>(i)));
  }
  const Dataset dataset = Dataset::open(folder_.path()).value();
  std::uint64_t id = 0;
  for (std::uint32_t shard = 0; shard < sizes.size(); ++shard) {
    for (std::uint64_t record = 0; record < sizes[shard]; ++record, ++id) {
      EXPECT_EQ(dataset.locate(id).shard, shard) << id;
      EXPECT_EQ(dataset.locate(id).record, record) << id;
    }
  }
  EXPECT_EQ(id, dataset.records());
}

TEST_F(DatasetTest, TheShapeTellsPlansWhatTheyNeed) {
  const std::vector<ShardInfo> infos = write_dataset(folder_.path(), 2, 9);
  const Dataset dataset = Dataset::open(folder_.path()).value();
  const auto shape = dataset.shape();
  ASSERT_EQ(shape->shards.size(), 2u);
  EXPECT_EQ(shape->shards[1].records, 9u);
  EXPECT_EQ(shape->shards[1].run_records, infos[1].run_records);
  EXPECT_EQ(shape->shards[1].raw_bytes, infos[1].raw_bytes);
  EXPECT_EQ(shape->fingerprint, dataset.fingerprint());
  EXPECT_EQ(dataset.shape(), shape);
}

TEST_F(DatasetTest, TheFingerprintCoversContentCountsAndOrder) {
  const std::vector<ShardInfo> infos = write_dataset(folder_.path(), 2, 9);
  const std::uint64_t words[] = {2,
                                 infos[0].records,
                                 infos[0].run_records,
                                 infos[0].fingerprint,
                                 infos[1].records,
                                 infos[1].run_records,
                                 infos[1].fingerprint};
  EXPECT_EQ(Dataset::open(folder_.path()).value().fingerprint(), detail::hash_words(words));
  const Hash128 by_glob = Dataset::open(folder_.path("shard-?.dvt")).value().fingerprint();
  EXPECT_EQ(by_glob, detail::hash_words(words));
}

TEST_F(DatasetTest, ShardsWhoseManifestWasNeverFinishedAreNoDataset) {
  write_shard(folder_.path(), "shard-000000.dvt", shard_of(2));
  write_file(folder_.path(".manifest.dvt.partial-1-2"), "cut off");
  EXPECT_THAT(open_error(folder_.path()), Fails(Errc::unfinished).in(folder_.path()));
  EXPECT_EQ(Dataset::open(folder_.path("*.dvt")).value().records(), 2u);
}

TEST_F(DatasetTest, AdviceForLoneUnfinishedShardsSavesTheOneItNames) {
  // Shards of one dataset are recovered together; others are of different datasets, so one at a time.
  const std::string lone = folder_.path("two alone");
  write_file(lone + "/.a.dvt.partial-1-2", "cut off");
  write_file(lone + "/.b.dvt.partial-1-3", "cut off");
  const std::string detail = open_error(lone).detail();
  EXPECT_THAT(detail, AnyOf(HasSubstr("`dovetail recover '" + lone + "/.a.dvt.partial-1-2' TARGET.dvt`"),
                            HasSubstr("`dovetail recover '" + lone + "/.b.dvt.partial-1-3' TARGET.dvt`")));
  EXPECT_THAT(detail, Not(HasSubstr("only one")));
  const std::string numbered = folder_.path("numbered");
  write_file(numbered + "/.shard-000000.dvt.partial-1-2", "cut off");
  write_file(numbered + "/.shard-000001.dvt.partial-1-3", "cut off");
  EXPECT_THAT(open_error(numbered), Fails(Errc::unfinished).saying("`dovetail recover " + numbered + " TARGET`"));
}

TEST_F(DatasetTest, AFolderThatIsStagedIsNoDatasetUntilItHasAManifest) {
  for (const bool of_writer : {true, false}) {
    TempFolder folder;
    const std::string staged = folder.path("data.partial");
    const char* const mark = of_writer ? ".dovetail-lock" : ".dovetail-part-00000-of-00002.conversion";
    const std::string advice = of_writer ? "recover " + staged : "merge " + folder.path("data") + '`';
    write_dataset(staged, 2, 4);
    write_file(staged + '/' + mark, "");
    EXPECT_EQ(Dataset::open(staged).value().records(), 8u) << "its writer was killed when it tidied";
    fs::remove(staged + "/manifest.dvt");
    EXPECT_THAT(open_error(staged), Fails(Errc::unfinished).in(staged).saying("`dovetail " + advice));
  }
}

TEST_F(DatasetTest, AdviceToMergeNamesTheTargetOfTheStagingFolderOrIsLeftOut) {
  const std::string staged = folder_.path("two words.partial");
  write_file(staged + "/.dovetail-lock", "");
  write_file(staged + "/.dovetail-part-00000-of-00001.conversion", "");
  write_file(staged + "/train/shard-000000.dvt", "");
  const std::string merge = "`dovetail merge '" + folder_.path("two words") + "'`";
  for (const char* below : {"", "/", "//", "/train", "/train/"}) {
    EXPECT_THAT(open_error(staged + below), Fails(Errc::unfinished).in(staged + below).saying(merge)) << below;
  }
  // The target is not in these paths.
  for (const char* below : {"/.", "/train/."}) {
    const Error error = open_error(staged + below);
    EXPECT_THAT(error.detail(), Not(HasSubstr("dovetail merge"))) << below;
    EXPECT_THAT(error, Fails(Errc::unfinished).saying("run the conversion again")) << below;
  }
}

TEST_F(DatasetTest, AGapInTheNumbersOfShardsIsAnErrorUnlessTheFilesAreNamed) {
  for (const std::uint32_t number : {0u, 1u, 3u}) {
    write_shard(folder_.path(), "shard-" + std::to_string(number) + ".dvt", shard_of(4, number));
  }
  EXPECT_THAT(open_error(folder_.path()), Fails(Errc::missing_shard)
                                              .in(folder_.path())
                                              .saying("shard number 2 is missing")
                                              .saying("shard-3.dvt")
                                              .saying(folder_.path("*.dvt")));
  EXPECT_EQ(Dataset::open(folder_.path("*.dvt")).value().records(), 12u);
  EXPECT_EQ(Dataset::open(folder_.path("shard-3.dvt")).value().records(), 4u);

  write_shard(folder_.path(), "shard-2.dvt", shard_of(4, 2));
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 16u);
}

TEST_F(DatasetTest, PatternsThatErrorsNameAreOfTheFolderWhateverItsName) {
  const std::string odd = folder_.path("run[1] * what?");
  for (const std::uint32_t number : {0u, 2u}) {
    write_shard(odd, "part/shard-" + std::to_string(number) + ".dvt", shard_of(4, number));
  }
  const auto named = [](const Error& error) {
    const std::size_t end = error.detail().rfind('\'');
    const std::size_t begin = error.detail().rfind('\'', end - 1) + 1;
    return error.detail().substr(begin, end - begin);
  };
  const Error gap = open_error(odd);
  EXPECT_TRUE(gap.is(Errc::missing_shard));
  EXPECT_EQ(Dataset::open(named(gap)).value().records(), 8u) << gap.detail();
  write_file(odd + "/part/.manifest.dvt.partial-1-2", "cut off");
  const Error unfinished = open_error(odd + "/part");
  EXPECT_TRUE(unfinished.is(Errc::unfinished));
  EXPECT_EQ(Dataset::open(named(unfinished)).value().records(), 8u) << unfinished.detail();
}

TEST_F(DatasetTest, ShardsThatWereSwappedOrCopiedAreAnErrorUnlessTheFilesAreNamed) {
  write_dataset(folder_.path(), 3, 4);
  fs::remove(folder_.path("manifest.dvt"));
  fs::rename(folder_.path("shard-0.dvt"), folder_.path("x"));
  fs::rename(folder_.path("shard-1.dvt"), folder_.path("shard-0.dvt"));
  fs::rename(folder_.path("x"), folder_.path("shard-1.dvt"));
  EXPECT_THAT(open_error(folder_.path()),
              Fails(Errc::misplaced_shard)
                  .in(folder_.path())
                  .saying("shard-1.dvt is shard number 0 of its dataset and shard-0.dvt number 1"));
  EXPECT_EQ(Dataset::open(folder_.path("*.dvt")).value().records(), 12u);
  EXPECT_FALSE(verify(folder_.path()).value().ok());
  EXPECT_TRUE(verify(folder_.path("*.dvt")).value().ok());

  fs::remove(folder_.path("shard-0.dvt"));
  fs::copy(folder_.path("shard-1.dvt"), folder_.path("shard-0.dvt"));
  write_shard(folder_.path(), "shard-9.dvt", shard_of(4, 1));
  EXPECT_THAT(open_error(folder_.path()),
              Fails(Errc::misplaced_shard).saying("shard-0.dvt and shard-1.dvt are both shard number 0"));
}

TEST_F(DatasetTest, AllGapsAreToldAndOnlyTheFirstShardsByNumber) {
  for (std::uint32_t number = 3; number < 40; number += 3) {
    write_shard(folder_.path(), "s" + std::to_string(number) + ".dvt", shard_of(1, number));
  }
  EXPECT_THAT(open_error(folder_.path()),
              Fails().saying("shard numbers 0 to 2, 4 to 5, 7 to 8").saying("and more are missing, 27 in all"));
}

TEST_F(DatasetTest, AShardAloneOfItsDatasetIsNoGap) {
  for (std::uint8_t dataset = 1; dataset < 4; ++dataset) {
    ShardSpec spec = shard_of(2, dataset);
    spec.dataset_id.bytes[0] = dataset;
    write_shard(folder_.path(), "rank-" + std::to_string(dataset) + ".dvt", spec);
  }
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 6u);
  fs::remove(folder_.path("rank-1.dvt"));
  fs::remove(folder_.path("rank-2.dvt"));
  EXPECT_TRUE(open_error(folder_.path()).is(Errc::missing_shard)) << "nothing else is there";
}

TEST_F(DatasetTest, AFolderAboveDatasetsIsRefusedWithTheirNames) {
  write_dataset(folder_.path("all/train"), 2, 4);
  const Error one = open_error(folder_.path("all"));
  EXPECT_THAT(one, Fails(Errc::several_datasets).in(folder_.path("all")).saying("'train'"));

  for (const char* name : {"val", "old/2024", "old/2023"}) write_dataset(folder_.path("all/") + name, 1, 3);
  const Error many = open_error(folder_.path("all"));
  EXPECT_THAT(many,
              Fails(Errc::several_datasets).saying("4 datasets").saying("'old/2023', 'old/2024', 'train' and 1 more"));
  EXPECT_EQ(Dataset::open(folder_.path("all/train")).value().records(), 8u);
  EXPECT_EQ(Dataset::open(folder_.path("all/*/*.dvt")).value().records(), 11u) << "a pattern names files";

  // A shard beside them changes nothing, and a manifest without its shards, or one being written,
  // is a dataset as well.
  write_shard(folder_.path("all"), "more.dvt", shard_of(2));
  EXPECT_TRUE(open_error(folder_.path("all")).is(Errc::several_datasets));
  EXPECT_EQ(Dataset::open(folder_.path("all/*.dvt")).value().records(), 2u);
  write_file(folder_.path("lost/train/manifest.dvt"), "");
  EXPECT_TRUE(open_error(folder_.path("lost")).is(Errc::several_datasets));
  write_file(folder_.path("begun/train.partial/.dovetail-lock"), "");
  EXPECT_TRUE(open_error(folder_.path("begun")).is(Errc::several_datasets));
}

TEST_F(DatasetTest, AnEmptyFolderSaysWhatToDo) {
  EXPECT_THAT(open_error(folder_.path()),
              Fails(Errc::empty_input).in(folder_.path()).saying("dovetail convert " + folder_.path()));
}

TEST_F(DatasetTest, TheAdviceForAFolderOfFoldersNamesLabels) {
  const auto advice = [&] { return open_error(folder_.path()).detail(); };
  write_file(folder_.path("1.jpg"), "a");
  write_file(folder_.path(".git/config"), "a");
  EXPECT_THAT(advice(), Not(HasSubstr("--labels")));
  write_file(folder_.path("cats/1.jpg"), "a");
  EXPECT_THAT(advice(), HasSubstr(" --to DIR`, with --labels if its folders are classes; or index"));
}

TEST_F(DatasetTest, PatternsThatMatchNothingSaySo) {
  write_dataset(folder_.path(), 1, 1);
  EXPECT_TRUE(open_error(folder_.path("*.tfrecord")).is(Errc::empty_input));
  EXPECT_THAT(open_error(folder_.path("mani*")), Fails(Errc::empty_input).saying("manifest"));
}

TEST_F(DatasetTest, WhatIsNotThereIsTheSystemsErrorWithThePath) {
  const std::string missing = folder_.path("nothing.dvt");
  EXPECT_THAT(open_error(missing), Fails(boost::system::errc::no_such_file_or_directory).of(ErrorKind::io).in(missing));
  EXPECT_EQ(open_error("").kind(), ErrorKind::io);
}

TEST_F(DatasetTest, AnAddressIsToldToBeOne) {
  for (const char* address : {"s3://bucket/data", "S3://bucket/*.dvt", "https://host/shard-000000.dvt"}) {
    EXPECT_THAT(open_error(address), Fails(Errc::unknown_format).saying("address"));
  }
}

TEST_F(DatasetTest, AVanishedShardIsAnErrorNotASmallerDataset) {
  write_shard(folder_.path(), "a.dvt", shard_of(3));
  fs::create_symlink("gone.dvt", folder_.path("b.dvt"));
  for (const std::string& path : {folder_.path(), folder_.path("*.dvt")}) {
    EXPECT_THAT(open_error(path), Fails(boost::system::errc::no_such_file_or_directory).in(folder_.path("b.dvt")));
  }
}

TEST_F(DatasetTest, ADanglingManifestIsAnErrorToo) {
  write_shard(folder_.path(), "a.dvt", shard_of(3));
  fs::create_symlink("gone.dvt", folder_.path("manifest.dvt"));
  EXPECT_EQ(open_error(folder_.path()).path(), folder_.path("manifest.dvt"));
}

TEST_F(DatasetTest, AFolderInTheNameOfAShardIsAnError) {
  write_shard(folder_.path(), "shard-000000.dvt", shard_of(3));
  fs::create_directory(folder_.path("shard-000001.dvt"));
  EXPECT_EQ(open_error(folder_.path()).path(), folder_.path("shard-000001.dvt"));
}

TEST_F(DatasetTest, LinksToFilesOutsideAreFollowedWhereNoManifestNamesThem) {
  write_shard(folder_.path(), "outside.dvt", shard_of(3));
  fs::create_directory(folder_.path("data"));
  fs::create_symlink("../outside.dvt", folder_.path("data/a.dvt"));
  for (const char* path : {"data", "data/*.dvt", "data/a.dvt"}) {
    EXPECT_EQ(Dataset::open(folder_.path(path)).value().records(), 3u) << path;
  }
}

TEST_F(DatasetTest, LinksToFoldersAreNotFollowed) {
  write_shard(folder_.path(), "a/1.dvt", shard_of(3));
  fs::create_directory_symlink("..", folder_.path("a/up"));
  fs::create_directory_symlink(".", folder_.path("a/here.dvt"));
  EXPECT_EQ(names_of(Dataset::open(folder_.path()).value()), (Names{"a/1.dvt"}));
}

TEST_F(DatasetTest, ShardsUnderAlteredNamesAreNotLeftOut) {
  write_shard(folder_.path(), "a.dvt", shard_of(3));
  for (const char* const name :
       {"B.DVT", "b.dvt.gz", "B.DVT.XZ", "shard-000003.gz", "shard-000003.dvt.7z", "shard-000003.ZSTD"}) {
    write_file(folder_.path(name), "x");
    EXPECT_THAT(open_error(folder_.path()), Fails(Errc::not_dovetail).in(folder_.path(name)));
    fs::remove(folder_.path(name));
  }
  write_shard(folder_.path(), "shard-000002.dvt", shard_of(3));
  fs::rename(folder_.path("shard-000002.dvt"), folder_.path("shard-000002.bin"));
  EXPECT_EQ(open_error(folder_.path()).path(), folder_.path("shard-000002.bin"));
  fs::remove(folder_.path("shard-000002.bin"));
  for (const char* const name : {"a.dvt.gz", "b.dvt.bak"}) write_file(folder_.path(name), "x");
  EXPECT_EQ(names_of(Dataset::open(folder_.path()).value()), (Names{"a.dvt"})) << "it is there as well";
  fs::create_directory_symlink(".", folder_.path("shard-000001.dvt"));
  EXPECT_EQ(open_error(folder_.path()).path(), folder_.path("shard-000001.dvt"));
}

TEST_F(DatasetTest, TfrecordFilesAreToldHowToBecomeReadable) {
  write_file(folder_.path("train.tfrecord"), begun_tfrecord());
  EXPECT_THAT(open_error(folder_.path("train.tfrecord")),
              Fails(Errc::not_indexed)
                  .in(folder_.path("train.tfrecord"))
                  .saying("dovetail convert " + folder_.path("train.tfrecord") + " --to DIR"));
}

TEST_F(DatasetTest, ForeignFilesAreNotDovetail) {
  const std::string gzip = std::string("\x1F\x8B\x08\x00", 4) + std::string(80, 'x');
  for (const std::string& content : {std::string(), std::string("x"), std::string(500, 'x'), gzip}) {
    write_file(folder_.path("a.dvt"), content);
    EXPECT_THAT(open_error(folder_.path("a.dvt")), Fails(Errc::not_dovetail).in(folder_.path("a.dvt")));
  }
}

TEST_F(DatasetTest, FilesOfAnotherKindAreNoDamage) {
  const std::string gzip = std::string("\x1F\x8B\x08\x00", 4) + std::string(80, 'x');
  for (const std::string& content : {std::string(), std::string("x"), std::string(500, 'x'), gzip}) {
    write_file(folder_.path("a.tar"), content);
    EXPECT_THAT(open_error(folder_.path("a.tar")),
                Fails(Errc::foreign_file).of(ErrorKind::usage).in(folder_.path("a.tar")));
    EXPECT_THAT(verify(folder_.path("a.tar")), Fails(Errc::foreign_file));
    EXPECT_THAT(describe_shard(folder_.path("a.tar")), Fails(Errc::foreign_file));
  }
}

TEST_F(DatasetTest, AShardWhoseBeginIsDamagedStaysAShardByNameOrEnd) {
  write_shard(folder_.path(), "a.dvt", shard_of(4));
  for (const char* name : {"a.dvt", "renamed"}) {
    std::filesystem::copy_file(folder_.path("a.dvt"), folder_.path("renamed"),
                               std::filesystem::copy_options::overwrite_existing);
    std::fstream(folder_.path(name), std::ios::in | std::ios::out | std::ios::binary).put('x');
    EXPECT_TRUE(open_error(folder_.path(name)).is(Errc::not_dovetail)) << name;
    const VerifyReport report = verify(folder_.path(name)).value();
    EXPECT_EQ(report.damaged.size(), 1u) << name;
  }
}

TEST_F(DatasetTest, RecordsBeyondWhatPlansCanCountAreRefused) {
  ShardInfo huge;
  huge.name = "huge.dvt";
  huge.records = std::uint64_t{1} << 46;
  huge.blocks = std::uint64_t{1} << 26;
  huge.max_block_records = 1u << 20;
  huge.run_records = 1u << 20;
  huge.file_bytes = 1;
  std::vector<ShardInfo> infos;
  for (std::uint32_t shard = 0; shard < 512; ++shard) {
    infos.push_back(huge);
    infos.back().file_id = format::make_file_id(sample_dataset_id(), shard);
  }
  write_manifest(folder_.path("too_many.dvt"), infos);
  EXPECT_THAT(open_error(folder_.path("too_many.dvt")), Fails(Errc::bad_length));

  infos.pop_back();
  write_manifest(folder_.path("most.dvt"), infos);
  const Dataset dataset = Dataset::open(folder_.path("most.dvt")).value();
  EXPECT_EQ(dataset.records(), std::uint64_t{511} << 46);
  EXPECT_EQ(dataset.locate(dataset.records() - 1).shard, 510u);
}

}  // namespace
}  // namespace dovetail::test
