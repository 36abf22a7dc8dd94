// SPDX-License-Identifier: Apache-2.0
// Conversions by several processes, and what `merge` makes of them.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <thread>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/convert/conversions.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string work_of(std::uint32_t part, std::uint32_t parts) {
  const auto digits = [](std::uint32_t n) { return std::to_string(100'000 + n).substr(1); };
  return "/.dovetail-part-" + digits(part) + "-of-" + digits(parts);
}

class PartsTest : public test::ConversionTest {
 protected:
  Result<ConvertReport> run_part(ConvertOptions options, std::uint32_t part, std::uint32_t parts) const {
    options.part = ConvertPart{part, parts};
    return convert(out_, options);
  }
  ConvertOptions ten_shards() { return options({put_tfrecords(4, 300, 31)}, 10); }
};

TEST_F(PartsTest, MakeTheSameFilesAsOneProcess) {
  const ConvertOptions wanted = ten_shards();
  convert(folder_ / "whole", wanted).value();
  for (const std::uint32_t parts : {1u, 3u, 4u, 13u}) {
    std::uint64_t records = 0;
    for (std::uint32_t part = parts; part-- != 0;) records += run_part(wanted, part, parts).value().records;
    EXPECT_EQ(records, all_.size());
    EXPECT_FALSE(Dataset::open(out_)) << "parts are no dataset";
    const ConvertReport merged = merge(out_).value();
    EXPECT_EQ(merged.records, all_.size());
    EXPECT_EQ(merged.shards, 10u);
    EXPECT_EQ(files_below(out_), files_below(folder_ / "whole")) << parts << " parts";
    EXPECT_TRUE(verify(out_).value().ok());
    fs::remove_all(out_);
  }
}

TEST_F(PartsTest, AgreeOnAnIdWithoutBeingTold) {
  ConvertOptions wanted = ten_shards();
  wanted.writer.shard.dataset_id.reset();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  // The same files elsewhere: another machine mounts them where it likes.
  fs::create_directory(folder_ / "elsewhere");
  fs::copy(folder_ / "src", folder_ / "elsewhere/src", fs::copy_options::recursive);
  wanted.sources = {folder_ / "elsewhere/src"};
  ASSERT_TRUE(run_part(wanted, 1, 2));
  const DatasetId id = merge(out_).value().datasets.front().id;
  EXPECT_TRUE(test::read_dataset(out_).records == all_);
  fs::remove_all(out_);
  wanted.writer.shard.codec = Codec::none;
  ASSERT_TRUE(run_part(wanted, 0, 1));
  EXPECT_NE(merge(out_).value().datasets.front().id, id) << "other bytes, another dataset";
}

TEST_F(PartsTest, NamesThePartThatIsMissing) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 3));
  ASSERT_TRUE(run_part(wanted, 2, 3));
  const auto refused = merge(out_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::unfinished));
  EXPECT_THAT(refused.error().to_string(), HasSubstr("part 1 of 3 is missing"));

  ConvertOptions stopped = wanted;
  stopped.progress = [n = 0](const ConvertProgress&) mutable { return ++n < 5; };
  stopped.jobs = 1;
  ASSERT_FALSE(run_part(stopped, 1, 3));
  ASSERT_TRUE(fs::exists(out_ + work_of(1, 3)));
  EXPECT_THAT(merge(out_).error().to_string(), HasSubstr("part 1 of 3 is not finished"));
  ASSERT_TRUE(run_part(wanted, 1, 3));
  EXPECT_TRUE(merge(out_));
}

TEST_F(PartsTest, OfOtherOptionsAreNotMerged) {
  ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  wanted.writer.shard.record_type = "mine";
  ASSERT_TRUE(run_part(wanted, 1, 2));
  const auto refused = merge(out_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::manifest_mismatch));
  EXPECT_THAT(refused.error().to_string(), HasSubstr("record_type is 'mine' here and 'tfrecord' there"));
  EXPECT_TRUE(fs::exists(out_ + work_of(0, 2)));
}

TEST_F(PartsTest, OfTwoCountsAreKeptApart) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  const Files before = files_below(out_);
  const auto refused = run_part(wanted, 0, 3);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::state_mismatch)) << refused.error().to_string();
  EXPECT_THAT(refused.error().detail(), HasSubstr("a conversion of 2 parts, and this one has 3"));
  EXPECT_EQ(refused.error().path(), out_ + work_of(0, 2));
  EXPECT_TRUE(convert(out_, wanted).error().is(Errc::state_mismatch)) << "all at once is one part";
  EXPECT_EQ(files_below(out_), before);
  ASSERT_TRUE(run_part(wanted, 1, 2));
  ASSERT_TRUE(merge(out_));
  ConvertOptions again = wanted;
  again.writer.shard.overwrite = true;
  EXPECT_TRUE(run_part(again, 0, 3)) << "nothing of the others is left";
}

TEST_F(PartsTest, OfTwoCountsThatAreThereAreNotMerged) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 2));
  fs::copy(out_ + work_of(0, 2), out_ + work_of(0, 3), fs::copy_options::recursive);
  EXPECT_TRUE(merge(out_).error().is(Errc::manifest_mismatch));
}

// Whoever begins first, and both at once: never are there parts of two counts.
TEST_F(PartsTest, OfTwoCountsThatBeginAtOnceAreKeptApart) {
  const ConvertOptions wanted = options({put("a.txt", "one\ntwo\n")}, 6);
  for (int round = 0; round != 20; ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (const std::uint32_t parts : {2u, 3u}) {
      threads.emplace_back([&, parts] { good += run_part(wanted, 0, parts) ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 1);
    EXPECT_NE(fs::exists(out_ + work_of(0, 2)), fs::exists(out_ + work_of(0, 3)));
    fs::remove_all(out_);
  }
}

TEST_F(PartsTest, CountTheirOwnSkipsOnly) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += i % 3 == 0 || i > 2500 ? "{\"bad\":\n" : "{\"i\": " + std::to_string(i) + "}\n";
  ConvertOptions wanted =
      options({put("a.jsonl", text), put("b.jsonl.gz", test::gzip(text)), put("c.tar", "no tar")}, 10);
  wanted.from = SourceFormat::jsonl;
  wanted.source.on_error = OnError::skip;
  for (const bool shuffled : {false, true}) {
    if (shuffled) wanted.shuffle_seed = 5;
    const ConvertReport whole = convert(folder_ / "whole", wanted).value();
    EXPECT_GT(whole.skipped, 2000u);
    for (const std::uint32_t parts : {1u, 3u, 13u}) {
      std::uint64_t skipped = 0;
      for (std::uint32_t part = 0; part != parts; ++part) skipped += run_part(wanted, part, parts).value().skipped;
      EXPECT_EQ(skipped, whole.skipped) << parts << (shuffled ? " parts, shuffled" : " parts");
      fs::remove_all(out_);
    }
    fs::remove_all(folder_ / "whole");
  }
}

TEST_F(PartsTest, NothingToMergeIsAnError) {
  EXPECT_EQ(merge(folder_ / "missing").error().kind(), ErrorKind::io);
  fs::create_directory(out_);
  EXPECT_TRUE(merge(out_).error().is(Errc::empty_input));
}

TEST_F(PartsTest, MergeGoesOnWhereItWasKilled) {
  const ConvertOptions wanted = ten_shards();
  convert(folder_ / "whole", wanted).value();
  for (std::uint32_t moved = 0; moved <= 10; ++moved) {
    for (std::uint32_t part = 0; part != 2; ++part) ASSERT_TRUE(run_part(wanted, part, 2));
    for (std::uint32_t shard = 0; shard != moved; ++shard) {
      const std::string name = "/shard-00000" + std::to_string(shard) + ".dvt";
      fs::rename(out_ + work_of(shard < 5 ? 0 : 1, 2) + name, out_ + name);
    }
    test::write_file(out_ + "/.manifest.dvt.partial-1-00000000", "half a manifest");
    EXPECT_FALSE(Dataset::open(out_));
    ASSERT_TRUE(merge(out_)) << moved << " shards had their names";
    EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
    if (moved == 10) break;
    fs::remove_all(out_);
  }
  // Killed after the manifest had its name, before the parts were gone.
  fs::copy(folder_ / "whole", folder_ / "again", fs::copy_options::recursive);
  fs::remove_all(out_);
  ASSERT_TRUE(run_part(wanted, 0, 1));
  for (const std::string& name : test::names_in(folder_ / "again")) {
    fs::rename(folder_ / "again/" + name, out_ + '/' + name);
  }
  ASSERT_TRUE(merge(out_));
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

TEST_F(PartsTest, MergeFinishesARemovalThatWasKilled) {
  ConvertOptions split = ten_shards();
  split.split = {{"train", 0.7}, {"val", 0.3}};
  ConvertOptions whole = split;
  whole.split.clear();
  const auto empty_but_for = [](const std::string& work, std::initializer_list<std::string> kept) {
    for (const std::string& name : test::names_in(work)) {
      if (std::find(kept.begin(), kept.end(), name) == kept.end()) fs::remove_all(work + '/' + name);
    }
  };
  for (const ConvertOptions& wanted : {whole, split}) {
    for (std::uint32_t part = 0; part != 3; ++part) ASSERT_TRUE(run_part(wanted, part, 3));
    fs::copy(out_, folder_ / "parts", fs::copy_options::recursive);
    const ConvertReport merged = merge(out_).value();
    const Files dataset = files_below(out_);
    // Of the parts below `left` something is left, and of the last of them perhaps nothing but its manifest, or the lock.
    for (std::uint32_t left = 1; left <= 3; ++left) {
      for (const std::string& last :
           {std::string(), std::string("part-0000") + std::to_string(left - 1) + "-of-00003.dvt"}) {
        if (last.empty() && left == 1 && !wanted.split.empty()) continue;  // nobody can tell what it was a part of
        for (std::uint32_t part = 0; part != left; ++part) {
          fs::copy(folder_ / ("parts" + work_of(part, 3)), out_ + work_of(part, 3), fs::copy_options::recursive);
        }
        empty_but_for(out_ + work_of(left - 1, 3), {"lock", last});
        const auto again = merge(out_);
        ASSERT_TRUE(again) << left << " parts left: " << again.error().to_string();
        EXPECT_EQ(again->records, merged.records);
        EXPECT_EQ(again->shards, merged.shards);
        ASSERT_EQ(again->datasets.size(), merged.datasets.size());
        EXPECT_EQ(again->datasets.back().shards, merged.datasets.back().shards);
        EXPECT_EQ(files_below(out_), dataset);
        EXPECT_THAT(test::names_in(out_), Not(Contains(HasSubstr(".dovetail"))));
      }
    }
    fs::remove_all(out_);
    fs::remove_all(folder_ / "parts");
  }
}

TEST_F(PartsTest, PartsOfAnotherDatasetThanTheOneThatIsThereAreNotRemoved) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, wanted));
  ConvertOptions other = options({put("other.txt", "one\ntwo\n")}, 10);  // of the same dataset id
  other.writer.shard.overwrite = true;
  ASSERT_TRUE(run_part(other, 0, 2));
  const Files before = files_below(out_);
  EXPECT_TRUE(merge(out_, true).error().is(Errc::unfinished));
  ASSERT_TRUE(run_part(other, 1, 2));
  fs::remove(out_ + "/shard-000003.dvt");
  fs::remove_all(out_ + work_of(1, 2));
  EXPECT_TRUE(merge(out_, true).error().is(Errc::unfinished));
  EXPECT_TRUE(fs::exists(out_ + work_of(0, 2) + "/part-00000-of-00002.dvt"));
  EXPECT_EQ(files_below(out_).size(), before.size() - 1);
}

TEST_F(PartsTest, AShardThatIsGoneIsNamed) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  fs::remove(out_ + work_of(0, 1) + "/shard-000003.dvt");
  const auto refused = merge(out_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::unfinished));
  EXPECT_THAT(refused.error().path(), HasSubstr("shard-000003.dvt"));
  EXPECT_THAT(test::names_in(out_), SizeIs(1)) << "nothing was moved";
}

TEST_F(PartsTest, DoNotReplaceADatasetUnasked) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(convert(out_, options({put("old.txt", "old\n")}, 1)));
  EXPECT_TRUE(run_part(wanted, 0, 1).error().is(Errc::already_exists));
  ConvertOptions asked = wanted;
  asked.writer.shard.overwrite = true;
  ASSERT_TRUE(run_part(asked, 0, 1));
  EXPECT_TRUE(merge(out_).error().is(Errc::already_exists));
  EXPECT_THAT(test::read_dataset(out_).records, ElementsAre("old"));
  ASSERT_TRUE(merge(out_, true));
  EXPECT_TRUE(test::read_dataset(out_).records == all_);
}

TEST_F(PartsTest, ALockThatAnotherProcessHoldsOnTheTargetIsTold) {
  fs::create_directory(out_);
  const int held = ::open(out_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const auto refused = run_part(ten_shards(), 0, 2);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::busy)) << refused.error().to_string();
  EXPECT_THAT(refused.error().detail(), HasSubstr("another process holds a lock on the folder"));
  EXPECT_EQ(refused.error().path(), out_);
  EXPECT_THAT(test::names_in(out_), SizeIs(0));
  // One that is let go soon is waited for.
  std::thread other([held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::close(held);
  });
  EXPECT_TRUE(run_part(ten_shards(), 0, 2));
  other.join();
}

// With a fact of its manifest replaced, or added where `old` is empty.
void rewrite_part(const std::string& path, const std::string& old, const std::string& text) {
  RecordReader reader = RecordReader::open(path).value();
  test::Records records;
  while (const auto record = reader.next().value()) records.emplace_back(as_chars(*record));
  ASSERT_NE(records.front().find(old), std::string::npos);
  records.front().replace(records.front().find(old), old.size(), text);
  WriterOptions options;
  options.dataset_id = reader.shard().dataset_id;
  options.record_type = "dovetail.Part";
  options.overwrite = true;  // and of shard number 0, as all part manifests had their part's number once
  RecordWriter writer = RecordWriter::create(path, options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  writer.finish().value();
}

TEST_F(PartsTest, NamesOfASplitInAPartManifestStayBelowTheTarget) {
  ConvertOptions wanted = ten_shards();
  wanted.split = {{"train", 0.7}, {"val", 0.3}};
  ASSERT_TRUE(run_part(wanted, 0, 1));
  const std::string path = out_ + work_of(0, 1) + "/part-00000-of-00001.dvt";
  std::string now = "split.1 val\n";
  for (const std::string& name : {folder_ / "absolute", std::string("../above"), std::string(".."), std::string("a/b"),
                                  std::string("train"), std::string(), std::string("lock")}) {
    const std::string text = "split.1 " + name + '\n';
    rewrite_part(path, now, text);
    now = text;
    const auto refused = merge(out_);
    ASSERT_FALSE(refused) << name;
    EXPECT_TRUE(refused.error().is(Errc::bad_message)) << refused.error().to_string();
    EXPECT_EQ(refused.error().path(), path);
    EXPECT_THAT(test::names_in(out_), SizeIs(1));
  }
  EXPECT_FALSE(fs::exists(folder_ / "absolute"));
  EXPECT_FALSE(fs::exists(folder_ / "above"));
  rewrite_part(path, now, "split.1 val\n");
  EXPECT_TRUE(merge(out_)) << "as it was";
}

TEST_F(PartsTest, ACountOfPartsThatNoConversionHasIsRefusedAtOnce) {
  fs::create_directories(out_ + "/.dovetail-part-00000-of-4294967295");
  const auto refused = merge(out_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(Errc::manifest_mismatch)) << refused.error().to_string();
  EXPECT_THAT(refused.error().path(), HasSubstr(".dovetail-part-00000-of-4294967295"));
  fs::remove_all(out_);
  fs::create_directories(out_ + "/.dovetail-part-00001-of-100000");
  EXPECT_THAT(merge(out_).error().to_string(), HasSubstr("part 0 of 100000 is missing"));
}

TEST_F(PartsTest, AManifestOfAPartIsCheckedLikeAllData) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  const std::string path = out_ + work_of(0, 1) + "/part-00000-of-00001.dvt";
  const test::Bytes bytes = test::read_file(path);
  for (std::size_t at = 0; at < bytes.size(); at += 13) {
    if (bytes[at] == std::byte{0}) continue;  // perhaps padding, which no checksum covers
    std::string damaged(as_chars(bytes));
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    test::write_file(path, damaged);
    const auto merged = merge(out_);
    if (merged) FAIL() << "a changed byte at " << at << " was not noticed";
    if (merged.error().kind() != ErrorKind::damaged) FAIL() << at << ": " << merged.error().to_string();
  }
}

}  // namespace
}  // namespace dovetail
