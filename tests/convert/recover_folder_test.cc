// SPDX-License-Identifier: Apache-2.0
// Which files of a folder are a dataset, and what becomes of the others.
#include <dovetail/recover.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "format/structures.h"
#include "tests/convert/recoveries.h"
#include "tests/support/as_nobody.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

DatasetId id_of(std::uint8_t first) {
  DatasetId id;
  id.bytes[0] = first;
  return id;
}

/// Shard i has records "TEXT i 0" to "TEXT i 49".
Records records_of(const std::string& text, std::uint32_t shard, int count = 50) {
  Records records;
  for (int i = 0; i < count; ++i) records.push_back(text + ' ' + std::to_string(shard) + ' ' + std::to_string(i));
  return records;
}

Records records_of(const std::string& text, const std::vector<std::uint32_t>& shards) {
  Records all;
  for (const std::uint32_t shard : shards) {
    const Records some = records_of(text, shard);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// The text is also the type of the records.
void write_dataset(const std::string& folder, const std::string& text, std::uint32_t shards, std::uint8_t id,
                   int count = 50) {
  DatasetWriterOptions options{
      .shard = {.block_bytes = 1024, .run_records = 10, .dataset_id = id_of(id), .record_type = text}};
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    for (const std::string& record : records_of(text, shard, count)) writer.append(as_bytes(record)).value();
    writer.next_shard().value();
  }
  writer.finish().value();
}

std::string name_of(std::uint32_t shard) {
  return "/shard-00000" + std::to_string(shard) + ".dvt";
}

Error failure(const std::string& source, const std::string& target, const RecoverOptions& options = {}) {
  const auto report = recover(source, target, options);
  EXPECT_FALSE(report);
  return report ? Error() : report.error();
}

/// Lost because it is of another dataset: the whole file, with no record told.
auto is_of_another(const std::string& file) {
  return AllOf(::testing::Field(&LostRange::file, file), ::testing::Field(&LostRange::end_record, 0u),
               ::testing::Field(&LostRange::bytes, fs::file_size(file)),
               ::testing::Field(&LostRange::reason, HasSubstr("a shard of another dataset (id half ")));
}

using RecoverFolderTest = RecoverTest;
using RecoverErrorTest = RecoverTest;

TEST_F(RecoverFolderTest, TheDatasetWithMostNumbersIsTakenAndEveryFileOfOthersIsTold) {
  write_dataset(data_, "ours", 3, 1);
  write_dataset(folder_ / "other", "theirs", 2, 2);
  fs::remove(data_ + "/manifest.dvt");
  fs::copy_file(folder_ / "other" + name_of(0), data_ + "/a.dvt");
  fs::copy_file(folder_ / "other" + name_of(1), data_ + "/b.dvt");
  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", {0, 1, 2}));
  EXPECT_THAT(report.lost, ElementsAre(::testing::_, is_of_another(data_ + "/a.dvt"), is_of_another(data_ + "/b.dvt")));
  EXPECT_FALSE(report.expected_records);
  EXPECT_THAT(report.passed_over, IsEmpty());
}

TEST_F(RecoverFolderTest, PartialFilesCountAsNumbersAndFinishedOnesDecideTies) {
  fs::create_directory(data_);
  write_dataset(folder_ / "one", "one", 3, 1);
  write_dataset(folder_ / "two", "two", 2, 2);
  const auto leave = [&](const std::string& dataset, std::uint32_t shard) {
    Bytes bytes = read_file(folder_ / dataset + name_of(shard));
    bytes.resize(bytes.size() * 2 / 3);
    write_file(data_ + "/." + name_of(shard).substr(1) + ".partial-1-" + dataset, as_chars(bytes));
  };
  leave("one", 0);
  leave("one", 1);
  fs::copy_file(folder_ / "two" + name_of(0), data_ + name_of(0));
  leave("two", 1);
  // Two numbers each; "two" has one of them finished.
  const RecoverReport report = recovered(data_, out_);
  const Records records = saved();
  EXPECT_EQ(Records(records.begin(), records.begin() + 50), records_of("two", 0u));
  EXPECT_THAT(records.back(), ::testing::StartsWith("two 1 "));
  EXPECT_THAT(report.lost, ::testing::Contains(is_of_another(data_ + "/.shard-000000.dvt.partial-1-one")));
  EXPECT_THAT(report.lost, ::testing::Contains(is_of_another(data_ + "/.shard-000001.dvt.partial-1-one")));

  leave("one", 2);  // three numbers are more than two, finished or not
  recovered(data_, out_, {.overwrite = true});
  EXPECT_EQ(saved().front(), "one 0 0");
}

TEST_F(RecoverFolderTest, APartialFileOfALongNameIsOneOfTheShards) {
  fs::create_directory(data_);
  const pid_t killed = ::fork();
  ASSERT_GE(killed, 0);
  if (killed == 0) {
    RecordWriter writer = RecordWriter::create(data_ + '/' + std::string(247, 'x') + ".dvt").value();
    for (int i = 0; i < 300; ++i) (void)writer.append(as_bytes(noise(10'000, 1)));
    ::_exit(0);  // nothing is tidied up
  }
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  EXPECT_GT(recovered(data_, out_).records, 10u);
}

TEST_F(RecoverFolderTest, AFileWithDamagedEndsIsOfTheDatasetThatItsBlocksName) {
  write_dataset(data_, "ours", 3, 1);
  write_dataset(folder_ / "other", "theirs", 1, 2);
  fs::remove(data_ + "/manifest.dvt");
  Bytes bytes = read_file(folder_ / "other" + name_of(0));
  std::fill_n(bytes.begin(), 128, std::byte{0});
  std::fill_n(bytes.end() - 64, 64, std::byte{0});
  write_file(data_ + "/shard-000003.dvt", as_chars(bytes));
  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", {0, 1, 2}));
  EXPECT_THAT(report.lost, ::testing::Contains(is_of_another(data_ + "/shard-000003.dvt")));
}

TEST_F(RecoverFolderTest, OfFinishedFilesWithOneFileIdOneIsTakenTheOneThatIsGood) {
  write_dataset(data_, "ours", 2, 1);
  fs::remove(data_ + "/manifest.dvt");
  fs::copy_file(data_ + name_of(1), data_ + "/copy.dvt");
  Bytes damaged = read_file(data_ + name_of(1));
  damaged.resize(damaged.size() - 1);
  damaged.resize(damaged.size() + 4096);  // longer, but without its end
  write_file(data_ + name_of(1), as_chars(damaged));
  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", {0, 1}));
  EXPECT_THAT(report.passed_over, ElementsAre(data_ + name_of(1)));
  EXPECT_THAT(report.lost, SizeIs(1));

  // Where none is good the longer one is taken.
  Bytes shorter = read_file(data_ + "/copy.dvt");
  shorter.resize(shorter.size() - 64);
  write_file(data_ + "/copy.dvt", as_chars(shorter));
  const RecoverReport again = recovered(data_, out_, {.overwrite = true});
  EXPECT_EQ(saved(), records_of("ours", {0, 1}));
  EXPECT_THAT(again.passed_over, ElementsAre(data_ + "/copy.dvt"));
}

/// A shard that was not found under the name that the manifest has for it.
auto is_misnamed(const std::string& file) {
  return AllOf(
      ::testing::Field(&LostRange::file, file), ::testing::Field(&LostRange::end_record, 50u),
      ::testing::Field(&LostRange::reason, AllOf(HasSubstr("rename it"), HasSubstr("move the manifest away"))));
}

TEST_F(RecoverFolderTest, AShardThatIsNotUnderItsNameInTheManifestIsLost) {
  write_dataset(data_, "ours", 4, 1);
  fs::rename(data_ + name_of(1), data_ + "/renamed.dvt");
  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", {0, 2, 3}));
  EXPECT_EQ(report.expected_records, 200u);
  EXPECT_THAT(report.lost, ElementsAre(is_misnamed(data_ + name_of(1))));
  EXPECT_EQ(report.lost_records, 50u);
  EXPECT_THAT(failure(data_ + "/manifest.dvt", data_, {.overwrite = true}), Fails(Errc::invalid_option));
}

TEST_F(RecoverFolderTest, SwappedShardsAreLostAndFoundByTheirNumbersWithoutTheManifest) {
  write_dataset(data_, "ours", 3, 1);
  fs::rename(data_ + name_of(0), data_ + "/aside");
  fs::rename(data_ + name_of(1), data_ + name_of(0));
  fs::rename(data_ + "/aside", data_ + name_of(1));
  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", 2u));
  EXPECT_THAT(report.lost, ElementsAre(is_misnamed(data_ + name_of(0)), is_misnamed(data_ + name_of(1))));
  fs::rename(data_ + "/manifest.dvt", folder_ / "away");
  recovered(data_, out_, {.overwrite = true});
  EXPECT_EQ(saved(), records_of("ours", {0, 1, 2}));
}

TEST_F(RecoverErrorTest, WhereAllShardsAreRenamedTheErrorAdvisesToo) {
  write_dataset(data_, "ours", 2, 1);
  fs::rename(data_ + name_of(0), data_ + "/a.dvt");
  fs::rename(data_ + name_of(1), data_ + "/b.dvt");
  EXPECT_THAT(failure(data_, out_), Fails(boost::system::errc::no_such_file_or_directory)
                                        .in(data_ + name_of(0))
                                        .saying("rename it")
                                        .saying("move the manifest away"));
  EXPECT_FALSE(fs::exists(out_));
  fs::rename(data_ + "/manifest.dvt", folder_ / "away");
  recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("ours", {0, 1}));
}

TEST_F(RecoverFolderTest, FilesThatMacOsPutsBesideOthersAreIgnored) {
  write_dataset(data_, "ours", 1, 1);
  fs::remove(data_ + "/manifest.dvt");
  write_file(data_ + "/._shard-000000.dvt", noise(500, 1));
  const RecoverReport report = recovered(data_, out_);
  EXPECT_THAT(report.lost, SizeIs(1));
  EXPECT_THAT(report.passed_over, IsEmpty());
}

TEST_F(RecoverFolderTest, WhateverLiesUnderTheNameOfTheManifestTheShardsAreSaved) {
  const std::string manifest = data_ + "/manifest.dvt";
  write_dataset(folder_ / "other", "x", 1, 7);
  ShardSpec index{.shard_number = format::kTfrecordIndexShardNumber,
                  .metadata = {format::kTfrecordIndexRecordType, "sample", {}}};
  const std::pair<std::string, std::function<void()>> cases[] = {
      {"not a manifest", [&] { fs::copy_file(folder_ / "other/shard-000000.dvt", manifest); }},
      {"not a manifest", [&] { write_file(manifest, as_chars(make_shard(index).bytes)); }},
      {"this is a folder", [&] { fs::copy(folder_ / "other", manifest); }},
      {"manifest", [&] { write_file(manifest, "PK\3\4 is a zip"); }},
      {"manifest", [&] { write_file(manifest, ""); }},
  };
  for (const auto& [says, put] : cases) {
    fs::remove_all(data_);
    write_dataset(data_, "record", 2, 1);
    fs::remove(manifest);
    put();
    fs::remove_all(out_);
    const RecoverReport report = recovered(data_, out_);
    EXPECT_EQ(saved(), records_of("record", {0, 1}));
    ASSERT_THAT(report.lost, SizeIs(1));
    EXPECT_EQ(report.lost.front().file, manifest);
    EXPECT_THAT(report.lost.front().reason, AllOf(HasSubstr(says), HasSubstr("those in the folder")));
  }
}

TEST_F(RecoverFolderTest, AnEmptyManifestGivesAnEmptyDataset) {
  fs::create_directory(data_);
  ShardSpec spec{.shard_number = format::kManifestShardNumber, .metadata = {format::kManifestRecordType, "sample", {}}};
  write_file(data_ + "/manifest.dvt", as_chars(make_shard(spec).bytes));
  const RecoverReport report = recovered(data_, out_);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.records, 0u);
  EXPECT_EQ(report.expected_records, 0u);
  EXPECT_THAT(saved(), IsEmpty());
}

TEST_F(RecoverFolderTest, FilesThatLinksLeadToAreNeverReplaced) {
  write_dataset(folder_ / "real", "ours", 2, 1);
  const Bytes before = read_file(folder_ / "real" + name_of(0));
  const RecoverOptions overwrite{.overwrite = true};
  const auto expect_refused = [&](const std::string& source) {
    EXPECT_THAT(failure(source, folder_ / "real", overwrite), Fails(Errc::invalid_option));
    EXPECT_EQ(read_file(folder_ / "real" + name_of(0)), before);
  };
  fs::create_directory(folder_ / "links");
  fs::create_symlink(folder_ / "real" + name_of(0), folder_ / "links/a.dvt");
  expect_refused(folder_ / "links");

  // A file that is only passed over, and one of another dataset.
  fs::create_directory(folder_ / "passed");
  for (const std::uint32_t i : {0u, 1u}) fs::copy_file(folder_ / "real" + name_of(i), folder_ / "passed" + name_of(i));
  fs::create_symlink(folder_ / "real" + name_of(0), folder_ / "passed/.shard-000000.dvt.partial-1-a");
  expect_refused(folder_ / "passed");
  write_dataset(folder_ / "other", "theirs", 3, 2);
  fs::remove(folder_ / "other/manifest.dvt");
  fs::create_symlink(folder_ / "real" + name_of(0), folder_ / "other/x.dvt");
  expect_refused(folder_ / "other");

  fs::create_directory(folder_ / "manifest");
  for (const std::uint32_t i : {0u, 1u})
    fs::copy_file(folder_ / "real" + name_of(i), folder_ / "manifest" + name_of(i));
  fs::create_symlink(folder_ / "real/manifest.dvt", folder_ / "manifest/manifest.dvt");
  expect_refused(folder_ / "manifest");
}

TEST_F(RecoverFolderTest, AFileOfAnotherDatasetInPlaceOfAShardSaysNothingOfThisOne) {
  write_dataset(data_, "right", 2, 1);
  write_dataset(folder_ / "other", "wrong", 1, 2);
  fs::copy_file(folder_ / "other" + name_of(0), data_ + name_of(0), fs::copy_options::overwrite_existing);
  const RecoverReport report = recovered(data_, out_);
  EXPECT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(describe_shard(out_ + name_of(1)).value().record_type, "right");
}

TEST_F(RecoverFolderTest, AShardThatAGoodManifestRefutesIsForeign) {
  write_dataset(data_, "right", 3, 1);
  write_dataset(folder_ / "earlier", "wrong", 3, 1);  // the same id, as of a dataset that was packed twice
  fs::copy_file(folder_ / "earlier" + name_of(0), data_ + name_of(0), fs::copy_options::overwrite_existing);
  // Also where its trailer is lost: the footer tells.
  const Bytes whole = read_file(data_ + name_of(0));
  write_file(data_ + name_of(0), as_chars(whole).substr(0, whole.size() - 64));
  recovered(data_, folder_ / "before");
  EXPECT_EQ(read_dataset(folder_ / "before").records, records_of("right", {1, 2}));
  write_file(data_ + name_of(0), as_chars(whole));

  const RecoverReport report = recovered(data_, out_);
  EXPECT_EQ(saved(), records_of("right", {1, 2}));
  EXPECT_EQ(describe_shard(out_ + name_of(1)).value().record_type, "right");
  EXPECT_EQ(report.expected_records, 150u);
  EXPECT_EQ(report.lost_records, 50u);
  ASSERT_THAT(report.lost, SizeIs(1));
  EXPECT_EQ(report.lost[0].file, data_ + name_of(0));
  EXPECT_EQ(report.lost[0].end_record, 50u);
  EXPECT_EQ(report.lost[0].bytes, 0u) << "those of the other version are not lost";
  EXPECT_THAT(report.lost[0].reason, HasSubstr("another version of the shard"));
  EXPECT_THAT(report.passed_over, IsEmpty());

  // It is never replaced either.
  EXPECT_THAT(failure(data_ + "/manifest.dvt", data_, {.overwrite = true}), Fails(Errc::invalid_option));
}

// Of another count than the manifest tells of, whatever is left of its end.
TEST_F(RecoverFolderTest, AShardThatAGoodManifestRefutesIsForeignHoweverItIsCut) {
  write_dataset(folder_ / "earlier", "wrong", 3, 1);
  const Bytes whole = read_file(folder_ / "earlier" + name_of(1));
  write_dataset(data_, "right", 3, 1, 30);
  // As long as a block is left behind the 30 records of the manifest.
  const auto reader = RecordReader::open(folder_ / "earlier" + name_of(1)).value();
  const std::size_t least = reader.shard().blocks[4].offset;
  for (std::size_t cut = 0; cut <= whole.size() - least; cut += 7) {
    write_file(data_ + name_of(1), as_chars(whole).substr(0, whole.size() - cut));
    const RecoverReport report = recovered(data_, out_);
    for (const std::string& record : saved()) {
      ASSERT_TRUE(record.starts_with("right")) << "cut by " << cut;
    }
    fs::remove_all(out_);
  }
}

TEST_F(RecoverErrorTest, AManifestThatLeadsOutsideThroughALinkIsAnErrorOfTheWhole) {
  write_dataset(data_, "ours", 2, 1);
  fs::create_directory(folder_ / "outside");
  fs::rename(data_ + name_of(1), folder_ / "outside" + name_of(1));
  fs::create_symlink(folder_ / "outside" + name_of(1), data_ + name_of(1));
  EXPECT_THAT(failure(data_, out_), Fails(Errc::outside_dataset));
  EXPECT_FALSE(fs::exists(out_));
  const RecoverReport report = recovered(data_, out_, {.allow_outside = true});
  EXPECT_TRUE(report.ok());
}

TEST_F(RecoverErrorTest, WhatTheSystemRefusesOfOneShardIsAnErrorOfTheWhole) {
  for (const bool with_manifest : {true, false}) {
    const TempFolder folder;
    write_dataset(folder / "data", "ours", 2, 1);
    if (!with_manifest) fs::remove(folder / "data/manifest.dvt");
    const std::string shard = folder / "data" + name_of(1);
    fs::remove(shard);
    fs::create_symlink(name_of(1).substr(1), shard);  // leads to itself
    const Error error = failure(folder / "data", folder / "out");
    EXPECT_EQ(error.code().value(), ELOOP) << error.to_string();
    EXPECT_EQ(error.path(), shard);
    EXPECT_FALSE(fs::exists(folder / "out"));
    fs::remove(shard);
    EXPECT_FALSE(recovered(folder / "data", folder / "out").ok() && with_manifest);  // only lost
  }
}

TEST_F(RecoverErrorTest, AShardOfALaterVersionIsAnErrorOfTheWhole) {
  for (const bool with_manifest : {true, false}) {
    const TempFolder folder;
    write_dataset(folder / "data", "ours", 2, 1);
    if (!with_manifest) fs::remove(folder / "data/manifest.dvt");
    const std::string shard = folder / "data" + name_of(1);
    Bytes later = read_file(shard);
    const format::FileHeader header{.major = 2, .shard_number = 1, .dataset_id = id_of(1)};
    format::encode(header, std::span<std::byte>(later).first<format::kFileHeaderBytes>());
    write_file(shard, as_chars(later));
    EXPECT_THAT(failure(folder / "data", folder / "out"), Fails(Errc::unsupported_version).in(shard));
    EXPECT_FALSE(fs::exists(folder / "out"));
  }
}

TEST_F(RecoverErrorTest, AManifestOfALaterVersionIsNotTakenForDamaged) {
  write_dataset(data_, "ours", 2, 1);
  Bytes later = read_file(data_ + "/manifest.dvt");
  const format::FileHeader header{.major = 2, .shard_number = format::kManifestShardNumber, .dataset_id = id_of(1)};
  format::encode(header, std::span<std::byte>(later).first<format::kFileHeaderBytes>());
  write_file(data_ + "/manifest.dvt", as_chars(later));
  EXPECT_THAT(Dataset::open(data_).error().detail(), Not(HasSubstr("recover")));
  for (const std::string& source : {data_, data_ + "/manifest.dvt"}) {
    EXPECT_THAT(failure(source, out_), Fails(Errc::unsupported_version));
    EXPECT_FALSE(fs::exists(out_));
  }
}

TEST_F(RecoverErrorTest, WhereNothingIsFoundTheFirstErrorIsReturned) {
  write_dataset(data_, "ours", 2, 1);
  fs::remove(data_ + name_of(0));
  write_file(data_ + name_of(1), "");
  const Error error = failure(data_, out_);
  EXPECT_EQ(error.code().value(), ENOENT) << error.to_string();
  EXPECT_EQ(error.path(), data_ + name_of(0));
  EXPECT_FALSE(fs::exists(out_));
}

TEST(RecoverProgressTest, EveryByteThatIsCheckedIsToldAlsoThoseOnlySearchedForTheDataset) {
  const TempFolder folder;
  write_dataset(folder / "data", "ours", 2, 1);
  fs::remove(folder / "data/manifest.dvt");
  const std::string shard = folder / "data" + name_of(1);
  fs::resize_file(shard, fs::file_size(shard) - 64);
  for (const std::string& source : {folder / "data", shard}) {
    std::uint64_t told = 0;
    const RecoverOptions options{.overwrite = true, .progress = [&](std::uint64_t, std::uint64_t bytes) {
                                   told = bytes;
                                   return true;
                                 }};
    const RecoverReport report = recovered(source, folder / (source == shard ? "out.dvt" : "out"), options);
    EXPECT_EQ(told, report.checked_bytes);
  }
}

TEST_F(RecoverErrorTest, SearchingForTheDatasetOfAFileCanBeCancelled) {
  fs::create_directory(data_);
  write_file(data_ + "/a.dvt", noise(3 << 20, 7));
  int calls = 0;
  const RecoverOptions options{.progress = [&](std::uint64_t, std::uint64_t) { return ++calls < 2; }};
  for (const std::string& source : {data_, data_ + "/a.dvt"}) {
    calls = 0;
    EXPECT_EQ(failure(source, out_, options).kind(), ErrorKind::cancelled);
    EXPECT_EQ(calls, 2);
  }
}

TEST_F(RecoverFolderTest, ATargetThatCannotBeLookedAtGivesTheSystemsReason) {
  write_dataset(data_, "ours", 1, 1);
  const std::string shard = data_ + name_of(0);
  EXPECT_EQ(failure(shard, folder_ / std::string(300, 'x')).code().value(), ENAMETOOLONG);
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(failure(shard, folder_ / "loop/out.dvt").code().value(), ELOOP);
  EXPECT_TRUE(failure(shard, folder_ / "loop").is(Errc::already_exists)) << "a link is looked at, not followed";
}

TEST_F(RecoverFolderTest, ATargetThatMayNotBeWrittenIsAnErrorBeforeTheSourceIsSearched) {
  write_dataset(data_, "ours", 1, 1);
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / ".", fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  fs::permissions(folder_ / "closed", kAllMayRead | kAllMaySearch);
  const AsNobody nobody;
  if (nobody.may(folder_ / "closed", W_OK)) GTEST_SKIP() << "all may be written";
  int calls = 0;
  const RecoverOptions options{.progress = [&](std::uint64_t, std::uint64_t) { return ++calls != 0; }};
  const Error error = failure(data_ + name_of(0), folder_ / "closed/out.dvt", options);
  EXPECT_EQ(error.code().value(), EACCES) << error.to_string();
  EXPECT_EQ(error.path(), folder_ / "closed");
  EXPECT_EQ(calls, 0);
}

// A shard without records has some R, which must not become that of all.
TEST_F(RecoverFolderTest, RunsAreThoseOfAShardWithRecords) {
  DatasetWriter writer = DatasetWriter::create(data_, {}).value();
  writer.next_shard().value();
  for (const std::string& record : records_of("ours", {1, 2, 3, 4})) writer.append(as_bytes(record)).value();
  writer.finish().value();
  const std::uint64_t runs = describe_shard(data_ + name_of(1))->info.run_records;
  ASSERT_GT(runs, 1u);
  const auto runs_of_recovered = [&](const std::string& target) {
    recovered(data_, target);
    return describe_shard(target + name_of(1))->info.run_records;
  };
  EXPECT_EQ(runs_of_recovered(folder_ / "by_manifest"), runs);
  fs::remove(data_ + "/manifest.dvt");
  EXPECT_EQ(runs_of_recovered(folder_ / "by_footer"), runs);
}

}  // namespace
}  // namespace dovetail::test
