// SPDX-License-Identifier: Apache-2.0
// Conversions that are stopped and started again.
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>

#include <dovetail/dataset.h>

#include "convert/part_files.h"
#include "tests/convert/conversions.h"
#include "tests/support/fails.h"
#include "tests/support/forked_child.h"
#include "writer/staging.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

constexpr char kFacts[] = "/.dovetail-part-00000-of-00001.conversion";

class ResumeTest : public ConversionTest {
 protected:
  ConvertOptions twelve_shards() { return options({put_tfrecords(5, 400, 21)}, 12); }
  // Cancels once so many records were seen.
  Result<ConvertReport> run_until(ConvertOptions options, std::uint64_t records) const {
    options.progress = [records](const ConvertProgress& progress) { return progress.records < records; };
    return convert(out_, options);
  }
  std::string uninterrupted(const ConvertOptions& options) const {
    const std::string path = folder_ / "whole";
    convert(path, options).value();
    return path;
  }
};

TEST_F(ResumeTest, ContinuesWithTheShardsThatAreMissing) {
  const ConvertOptions wanted = twelve_shards();
  EXPECT_THAT(run_until(wanted, all_.size() * 3 / 4),
              Fails(ErrorKind::cancelled).saying("of 12 shards are finished and kept; run the same command again"));
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_THAT(Dataset::open(staged_), Fails(Errc::unfinished).saying("run the conversion again"));
  EXPECT_THAT(names_in(staged_), Contains(kFacts + 1));

  const ConvertReport report = convert(out_, wanted).value();
  EXPECT_GT(report.kept_shards, 0u);
  EXPECT_LT(report.kept_shards, 12u);
  EXPECT_EQ(report.records, all_.size());
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, NotesOnRecordsTellThatTheyDoNotCountKeptShards) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "{\"x\": 1700000000.25}\n";
  ConvertOptions wanted = options({put("a.jsonl", lines)}, 12);
  wanted.source.records = RecordForm::example;
  ASSERT_FALSE(run_until(wanted, 15'000));
  const ConvertReport report = convert(out_, wanted).value();
  ASSERT_GT(report.kept_shards, 0u);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr(" records (the shards of an earlier call are not counted): ")));
  EXPECT_THAT(convert(folder_ / "whole", wanted).value().notes, ElementsAre(HasSubstr("in 20000 records: ")));
}

TEST_F(ResumeTest, CanBeStoppedAgainAndAgain) {
  const ConvertOptions wanted = twelve_shards();
  std::uint32_t kept = 0;
  int stops = 0;
  for (;; ++stops) {
    ASSERT_LT(stops, 100) << "it never comes to an end";
    const auto report = run_until(wanted, all_.size() / 3);
    if (!report) continue;
    kept = report->kept_shards;
    break;
  }
  EXPECT_GT(stops, 0);
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, AnExceptionOfTheCallerComesBackToHimAndCancels) {
  for (const unsigned jobs : {1u, 4u}) {
    for (const std::optional<std::uint64_t> shuffled :
         {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(3)}) {
      ConvertOptions wanted = twelve_shards();
      wanted.jobs = jobs;
      wanted.shuffle_seed = shuffled;
      wanted.resume = false;
      wanted.progress = [](const ConvertProgress& progress) {
        if (progress.records > 500) throw std::runtime_error("of the caller");
        return true;
      };
      EXPECT_THROW((void)convert(out_, wanted), std::runtime_error) << jobs;
      EXPECT_FALSE(fs::exists(staged_)) << jobs;
    }
  }
}

TEST_F(ResumeTest, GoesOnAlthoughAForkOfTheStoppedOneLives) {
  const auto open = [this] { return detail::Staging::open(out_, detail::FileLock::Access::exclusive, false); };
  auto stopped = open();
  ASSERT_TRUE(stopped);
  const ForkedChild child;
  ASSERT_THAT(open(), Fails(Errc::busy));
  stopped = Error(Errc::closed);
  EXPECT_TRUE(open());
}

TEST_F(ResumeTest, KeepsTheDatasetIdOfTheFirstCall) {
  ConvertOptions wanted = twelve_shards();
  wanted.writer.shard.dataset_id.reset();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  ASSERT_TRUE(convert(out_, wanted));
  const DecodedDataset dataset = read_dataset(out_);  // throws where ids differ
  EXPECT_TRUE(dataset.records == all_);
}

TEST_F(ResumeTest, RefusesToContinueWithOtherOptionsAndNamesThem) {
  const ConvertOptions wanted = twelve_shards();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  const Files before = files_below(staged_);
  const auto refuses = [&](auto change, const char* says) {
    ConvertOptions other = wanted;
    change(other);
    const auto refused = convert(out_, other);
    ASSERT_THAT(refused, Fails(Errc::state_mismatch)) << says;
    EXPECT_THAT(refused.error().to_string(), HasSubstr(says));
    EXPECT_THAT(refused.error().to_string(), HasSubstr("--no-resume"));
  };
  refuses([](ConvertOptions& o) { o.shards = 13; }, "shards is '13' here, but '12' there");
  refuses([](ConvertOptions& o) { o.writer.shard.codec = Codec::none; }, "codec is 'none' here, but 'snappy' there");
  refuses([](ConvertOptions& o) { o.shuffle_seed = 3; }, "shuffle_seed is '3' here, but not given there");
  refuses([](ConvertOptions& o) { o.split = {{"a", 0.5}, {"b", 0.5}}; }, "split.0");
  refuses([](ConvertOptions& o) { o.writer.shard.dataset_id = DatasetId{}; }, "dataset_id");
  refuses([](ConvertOptions& o) { o.writer.shard.metadata["a"] = "b"; }, "metadata");
  EXPECT_EQ(files_below(staged_), before) << "a refusal changes nothing";

  ConvertOptions other = wanted;
  other.shards = 13;
  other.resume = false;
  const ConvertReport report = convert(out_, other).value();
  EXPECT_EQ(report.kept_shards, 0u);
  EXPECT_TRUE(read_dataset(out_).records == all_);
}

TEST_F(ResumeTest, TheLimitOfARecordIsOneOfTheOptionsWhereLargerOnesAreSkipped) {
  ConvertOptions wanted = twelve_shards();
  wanted.source.on_error = OnError::skip;
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  ConvertOptions other = wanted;
  other.writer.shard.max_record_bytes = 10'000;
  EXPECT_THAT(convert(out_, other), Fails(Errc::state_mismatch).saying("max_record_bytes is '10000' here"))
      << "shards would leave out different records";
  EXPECT_TRUE(convert(out_, wanted));
}

TEST_F(ResumeTest, RefusesToContinueWithOtherInput) {
  const ConvertOptions wanted = twelve_shards();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  put("src/999.tfrecord", tfrecord_bytes({"new"}));
  EXPECT_THAT(convert(out_, wanted), Fails().saying("input_files is '6' here, but '5' there"));
  fs::remove(folder_ / "src/999.tfrecord");
  fs::last_write_time(folder_ / "src/100.tfrecord", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::state_mismatch).saying("input_times"));
}

TEST_F(ResumeTest, NoticesInputThatIsWrittenMeanwhile) {
  const std::string first = folder_ / "src/100.tfrecord";
  const auto touch = [&] { fs::last_write_time(first, fs::last_write_time(first) + std::chrono::hours(1)); };
  const auto cut = [&] { fs::resize_file(folder_ / "src/104.tfrecord", 0); };
  ConvertOptions wanted = twelve_shards();
  wanted.jobs = 1;
  for (const std::function<void()>& change : {std::function<void()>(touch), std::function<void()>(cut)}) {
    bool changed = false;
    wanted.progress = [&](const ConvertProgress& progress) {
      if (!changed && progress.records > all_.size() / 2) {
        changed = true;
        change();
      }
      return true;
    };
    const auto refused = convert(out_, wanted);
    ASSERT_TRUE(changed);
    EXPECT_THAT(refused, Fails(Errc::file_changed));
    EXPECT_FALSE(fs::exists(staged_)) << "its shards belong to input that is no more";
  }
}

TEST_F(ResumeTest, ShardsThatAreNotWholeAreWrittenAgain) {
  ConvertOptions wanted = twelve_shards();
  wanted.jobs = 1;  // the first shard is written first
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  const std::string shard = staged_ + "/shard-000000.dvt";
  ASSERT_TRUE(fs::exists(shard));
  fs::resize_file(shard, fs::file_size(shard) - 1);
  const std::string foreign = staged_ + "/shard-000011.dvt";
  RecordWriter other = RecordWriter::create(foreign, {.shard_number = 11, .overwrite = true}).value();
  ASSERT_TRUE(other.append(as_bytes("of another dataset")));
  ASSERT_TRUE(other.finish());
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, RemovesWhatAKilledProcessHasLeft) {
  const ConvertOptions wanted = twelve_shards();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  write_file(staged_ + "/.shard-000011.dvt.partial-1-00000000", "half a shard");
  ASSERT_FALSE(run_until(wanted, 1));
  EXPECT_THAT(names_in(staged_), Not(Contains(HasSubstr("partial"))));
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, LeavesNothingWhereItMayNotContinue) {
  ConvertOptions wanted = twelve_shards();
  wanted.resume = false;
  const auto stopped = run_until(wanted, all_.size() * 3 / 4);
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().to_string(), Not(HasSubstr("again")));
  EXPECT_FALSE(fs::exists(staged_));
}

TEST_F(ResumeTest, LeavesNothingAfterDamageHoweverMuchIsFinished) {
  ConvertOptions wanted = twelve_shards();
  std::string damaged = tfrecord_bytes(sample_records(300, 900, 3));
  damaged[damaged.size() - 10] ^= 1;
  wanted.sources.push_back(put("damaged", damaged));
  for (const unsigned jobs : {1u, 4u}) {
    wanted.jobs = jobs;
    EXPECT_THAT(convert(out_, wanted), Fails(ErrorKind::damaged));
    EXPECT_FALSE(fs::exists(staged_));
  }
}

TEST_F(ResumeTest, ReportsTheFirstDamageOfTheInputForAnyNumberOfJobs) {
  std::string good = tfrecord_bytes(sample_records(2000, 900, 4));
  std::string damaged = good;
  damaged[damaged.size() - 10] ^= 1;
  std::vector<std::string> sources;
  for (int i = 0; i < 8; ++i) sources.push_back(put("a" + std::to_string(i), i >= 2 ? damaged : good));
  for (const unsigned jobs : {1u, 2u, 8u}) {
    ConvertOptions wanted = options(sources, 16);
    wanted.jobs = jobs;
    EXPECT_THAT(convert(out_, wanted), Fails().in(folder_ / "a2")) << jobs << " jobs";
  }
}

TEST_F(ResumeTest, AnOlderDatasetStaysUntilItIsReplaced) {
  ConvertOptions wanted = twelve_shards();
  ASSERT_TRUE(convert(out_, options({put("old.txt", "old\n")}, 2)));
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::already_exists));
  wanted.writer.shard.overwrite = true;
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  EXPECT_THAT(read_dataset(out_).records, ElementsAre("old"));
  const ConvertReport report = convert(out_, wanted).value();
  EXPECT_GT(report.kept_shards, 0u);
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
  ASSERT_TRUE(convert(out_, options({folder_ / "old.txt"}, 2)).has_error());
  ConvertOptions small = options({folder_ / "old.txt"}, 2);
  small.writer.shard.overwrite = true;
  ASSERT_TRUE(convert(out_, small));
  EXPECT_THAT(names_in(out_), ElementsAre("manifest.dvt", "shard-000000.dvt", "shard-000001.dvt"))
      << "shards beyond the new ones go";
}

// Killed when the dataset had its place, and all that was left to do was to remove the marks and
// what it replaced.
TEST_F(ResumeTest, SucceedsWhereItWasStoppedOnceTheDatasetWasPublished) {
  ConvertOptions whole = twelve_shards();
  whole.writer.shard.dataset_id.reset();
  ConvertOptions split = whole;
  split.split = {{"train", 0.7}, {"val", 0.3}};
  for (ConvertOptions wanted : {whole, split}) {
    for (const bool replaces : {false, true}) {
      if (replaces) convert(out_, options({put("old.txt", "old\n")}, 2)).value();
      if (replaces) fs::rename(out_, folder_ / "replaced");
      wanted.writer.shard.overwrite = replaces;
      ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
      fs::copy_file(staged_ + kFacts, folder_ / "spec");
      const ConvertReport first = convert(out_, wanted).value();
      const Files before = files_below(out_);
      const auto kill = [&] {
        fs::copy_file(folder_ / "spec", out_ + kFacts, fs::copy_options::overwrite_existing);
        if (!replaces) return;
        fs::copy(folder_ / "replaced", staged_, fs::copy_options::recursive);
        mark_as_exchanged();
      };
      kill();
      ConvertOptions other = wanted;
      other.shards = 5;
      other.writer.shard.overwrite = false;
      EXPECT_THAT(convert(out_, other), Fails(Errc::already_exists)) << "another conversion";
      EXPECT_EQ(files_below(out_), before);
      EXPECT_FALSE(fs::exists(staged_)) << "which finishes the first one all the same";

      kill();
      const auto again = convert(out_, wanted).value();
      EXPECT_EQ(again.records, first.records);
      EXPECT_EQ(again.shards, 12u);
      EXPECT_EQ(again.kept_shards, 12u);
      EXPECT_EQ(again.input_bytes, first.input_bytes);
      EXPECT_EQ(again.files, first.files);
      EXPECT_EQ(again.datasets.size(), first.datasets.size());
      EXPECT_EQ(again.datasets.front().id, first.datasets.front().id);
      EXPECT_EQ(files_below(out_), before);
      EXPECT_FALSE(fs::exists(staged_));
      for (const char* name : {"out", "spec", "replaced"}) fs::remove_all(folder_ / name);
    }
  }
}

TEST_F(ResumeTest, GoesOnAfterShardsOfAWholePartWereRemoved) {
  const ConvertOptions wanted = twelve_shards();
  ConvertOptions as_part = wanted;
  as_part.part = ConvertPart{0, 1};
  ASSERT_TRUE(convert(out_, as_part));
  for (const char* shard : {"/shard-000000.dvt", "/shard-000007.dvt"}) fs::remove(staged_ + shard);
  const auto again = convert(out_, wanted).value();
  EXPECT_EQ(again.records, all_.size());
  EXPECT_EQ(again.kept_shards, 10u);
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, SaysToRunAgainWhereOnlyTheNameIsMissing) {
  ConvertOptions wanted = twelve_shards();
  bool in_the_way = false;
  wanted.progress = [&](const ConvertProgress& progress) {
    if (progress.records == all_.size() && !std::exchange(in_the_way, true)) put("out/notes.txt", "mine");
    return true;
  };
  const auto refused = convert(out_, wanted);
  ASSERT_TRUE(in_the_way);
  EXPECT_THAT(refused, Fails(Errc::already_exists).in(out_ + "/notes.txt"));
  EXPECT_THAT(names_in(out_), ElementsAre("notes.txt"));
  fs::remove(out_ + "/notes.txt");
  EXPECT_EQ(convert(out_, wanted)->kept_shards, 12u);
  EXPECT_EQ(files_below(out_), files_below(uninterrupted(wanted)));
}

TEST_F(ResumeTest, WhatIsStagedIsAsPrivateAsTheTarget) {
  fs::create_directory(out_);
  fs::permissions(out_, fs::perms::owner_all);
  const ConvertOptions wanted = twelve_shards();
  ASSERT_FALSE(run_until(wanted, all_.size() / 2));
  EXPECT_EQ(fs::status(staged_).permissions(), fs::perms::owner_all);
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_EQ(fs::status(out_).permissions(), fs::perms::owner_all);
}

TEST_F(ResumeTest, ShardsOfAKilledWriterAreNotDroppedUnasked) {
  const ConvertOptions wanted = twelve_shards();
  convert(folder_ / "whole", wanted).value();
  put("out.partial/.dovetail-lock", "");
  fs::copy_file(folder_ / "whole/shard-000000.dvt", staged_ + "/shard-000000.dvt");
  const Files before = files_below(staged_);
  for (const std::optional<ConvertPart> part : {std::optional<ConvertPart>(), std::optional(ConvertPart{0, 2})}) {
    ConvertOptions any = wanted;
    any.part = part;
    EXPECT_THAT(convert(out_, any), Fails(Errc::already_exists).saying("dovetail recover " + staged_));
    EXPECT_EQ(files_below(staged_), before);
  }
  ConvertOptions dropping = wanted;
  dropping.resume = false;
  EXPECT_TRUE(convert(out_, dropping));
}

TEST_F(ResumeTest, NoDatasetOfASplitOpensBeforeAllAreWhole) {
  ConvertOptions wanted = twelve_shards();
  wanted.split = {{"train", 0.7}, {"val", 0.3}};
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  for (const char* name : {"", "/train", "/val", "/train/"}) {
    EXPECT_THAT(Dataset::open(staged_ + name), Fails(Errc::unfinished)) << name;
  }
}

// They have their names already, and a folder that a pattern for finished ones may match.
TEST_F(ResumeTest, NoPatternForFoldersFindsShardsThatAreStaged) {
  const ConvertOptions wanted = twelve_shards();
  convert(folder_ / "out2", wanted).value();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  const auto both = Dataset::open(folder_ / "o*/shard-*.dvt").value();
  EXPECT_EQ(both.records(), all_.size());
  EXPECT_TRUE(Dataset::open(staged_ + "/shard-*.dvt")) << "who names the folder gets them";
  fs::remove_all(staged_);
  fs::rename(folder_ / "out2", staged_);
  convert(folder_ / "out2", wanted).value();
  fs::rename(folder_ / "out2", out_);
  for (const char* beside : {"out.partial", "out.replaced"}) {  // an old dataset that was exchanged just now
    if (std::string(beside) != "out.partial") fs::rename(staged_, folder_ / beside);
    write_file(out_ + "/.dovetail-lock", "");
    EXPECT_EQ(Dataset::open(folder_ / "o*/shard-*.dvt")->records(), all_.size()) << beside;
    fs::remove(out_ + "/.dovetail-lock");
    EXPECT_EQ(Dataset::open(folder_ / "o*/shard-*.dvt")->records(), 2 * all_.size()) << "a name that anybody may give";
  }
}

TEST_F(ResumeTest, WhatIsKeptOfAConversionCanBeReadAgainOrIsRefused) {
  fs::create_directory(out_);
  const auto folder = detail::OutputFolder::open(out_).value();
  const detail::PartFiles part({0, 1});
  constexpr std::size_t kMost = std::size_t{64} << 20;
  for (const std::size_t bytes : {kMost, kMost + 1}) {
    detail::ConversionSpec spec;
    spec.add("here.source.0", std::string(bytes - std::string("here.source.0 \n").size(), 'x'));
    const auto kept = part.write_spec(folder, spec);
    EXPECT_EQ(kept.has_value(), bytes == kMost);
    EXPECT_TRUE(kept || kept.error().is(Errc::invalid_option));
    if (!kept) {
      EXPECT_THAT(kept, Fails().saying("name folders"));
    }
    const auto read = part.read_spec(*folder);
    ASSERT_TRUE(read && *read) << "that of before stays";
    EXPECT_EQ((**read)["here.source.0"].size(), kMost - 15);
  }
}

TEST_F(ResumeTest, OneProcessAtATime) {
  const ConvertOptions wanted = twelve_shards();
  {
    const auto taken = detail::Staging::open(out_, detail::FileLock::Access::exclusive, false).value();
    EXPECT_THAT(convert(out_, wanted), Fails(Errc::busy));
  }
  EXPECT_TRUE(convert(out_, wanted));
}

TEST_F(ResumeTest, AnUnreadableDescriptionIsSaidAndNotRemoved) {
  const ConvertOptions wanted = twelve_shards();
  ASSERT_FALSE(run_until(wanted, all_.size() * 3 / 4));
  write_file(staged_ + kFacts, "damaged");
  const Files before = files_below(staged_);
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::bad_message));
  EXPECT_EQ(files_below(staged_), before);
}

TEST_F(ResumeTest, AStagingFolderThatIsALinkIsRefusedAndNothingBehindItTouched) {
  put("victim/shard-000000.dvt", "precious");
  put("victim/notes.txt", "precious");
  fs::create_directory_symlink(folder_ / "victim", staged_);
  const Files before = files_below(folder_ / "victim");
  for (const bool resume : {true, false}) {
    ConvertOptions wanted = twelve_shards();
    wanted.resume = resume;
    EXPECT_THAT(convert(out_, wanted), Fails(Errc::already_exists).in(staged_));
    EXPECT_EQ(files_below(folder_ / "victim"), before);
  }
  EXPECT_THAT(merge(out_), Fails(Errc::already_exists));
  EXPECT_EQ(files_below(folder_ / "victim"), before);
}

TEST_F(ResumeTest, WhatNoConversionMakesIsNeitherRemovedNorFollowed) {
  put("victim/shard-000000.dvt", "precious");
  const Files before = files_below(folder_ / "victim");
  const auto refuses = [&](const std::string& name) {
    ConvertOptions wanted = twelve_shards();
    wanted.resume = false;
    EXPECT_THAT(convert(out_, wanted), Fails(Errc::already_exists).in(staged_ + name)) << name;
    EXPECT_TRUE(fs::exists(staged_ + name));
    EXPECT_EQ(files_below(folder_ / "victim"), before);
  };
  put("out.partial/shard-000000.dvt", "of somebody who has no lock");
  refuses("");
  put("out.partial/.dovetail-lock", "");
  put("out.partial/notes.txt", "mine");
  refuses("/notes.txt");
  EXPECT_TRUE(fs::exists(staged_ + "/shard-000000.dvt")) << "nothing is removed before all was looked at";
  fs::remove(staged_ + "/notes.txt");
  put("out.partial/train/notes.txt", "mine");
  refuses("/train/notes.txt");
  fs::remove(staged_ + "/train/notes.txt");
  fs::create_directory_symlink(folder_ / "victim", staged_ + "/val");
  refuses("/val");
  fs::remove(staged_ + "/val");
  ConvertOptions dropping = twelve_shards();
  dropping.resume = false;
  EXPECT_TRUE(convert(out_, dropping));
  EXPECT_EQ(names_in(out_).size(), 13u);
}

}  // namespace
}  // namespace dovetail::test
