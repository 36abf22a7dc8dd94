// SPDX-License-Identifier: Apache-2.0
// Conversions by several processes.
#include <algorithm>
#include <thread>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>

#include "tests/convert/part_conversions.h"
#include "tests/support/fails.h"
#include "writer/staging.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

using PartsTest = test::PartsTest;

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
  EXPECT_TRUE(read_dataset(out_).records == all_);
  fs::remove_all(out_);
  wanted.writer.shard.codec = Codec::none;
  ASSERT_TRUE(run_part(wanted, 0, 1));
  EXPECT_NE(merge(out_).value().datasets.front().id, id) << "other bytes, another dataset";
}

TEST_F(PartsTest, NamesThePartThatIsMissing) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 3));
  ASSERT_TRUE(run_part(wanted, 2, 3));
  EXPECT_THAT(merge(out_), Fails(Errc::unfinished).saying("part 1 of 3 is missing"));

  ConvertOptions stopped = wanted;
  stopped.progress = [this](const ConvertProgress& progress) { return progress.records < all_.size() / 6; };
  stopped.jobs = 1;
  ASSERT_FALSE(run_part(stopped, 1, 3));
  ASSERT_TRUE(fs::exists(part_file(1, 3, ".conversion")));
  EXPECT_THAT(merge(out_), Fails().saying("part 1 of 3 is not finished"));
  ASSERT_TRUE(run_part(wanted, 1, 3));
  EXPECT_TRUE(merge(out_));
}

TEST_F(PartsTest, OfOtherOptionsAreRefused) {
  ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  const Files before = files_below(staged_);
  ConvertOptions other = wanted;
  other.writer.shard.record_type = "mine";
  for (const bool resume : {true, false}) {
    other.resume = resume;
    EXPECT_THAT(run_part(other, 1, 2),
                Fails(Errc::state_mismatch).saying("record_type is 'mine' here, but 'tfrecord' there"));
    EXPECT_EQ(files_below(staged_), before);
  }
  other.resume = false;
  ASSERT_TRUE(run_part(other, 0, 2)) << "the only part may change";
  ASSERT_TRUE(run_part(other, 1, 2));
  EXPECT_TRUE(merge(out_));
}

// Two that began at once did not see each other.
TEST_F(PartsTest, OfOtherOptionsAreNotMerged) {
  ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  fs::rename(staged_, folder_ / "first");
  wanted.writer.shard.record_type = "mine";
  ASSERT_TRUE(run_part(wanted, 1, 2));
  fs::copy(folder_ / "first", staged_, fs::copy_options::recursive | fs::copy_options::skip_existing);
  const Files before = files_below(staged_);
  EXPECT_THAT(merge(out_), Fails(Errc::manifest_mismatch).saying("record_type is 'mine' here, but 'tfrecord' there"));
  EXPECT_EQ(files_below(staged_), before);
}

TEST_F(PartsTest, OfTwoCountsAreKeptApart) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  const Files before = files_below(staged_);
  const auto refused = run_part(wanted, 0, 3);
  ASSERT_THAT(refused, Fails(Errc::state_mismatch).saying("conversion here has 2 parts, but this one has 3"));
  EXPECT_THAT(refused.error().path(), HasSubstr(part_prefix(0, 2)));
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::state_mismatch)) << "all at once is one part";
  EXPECT_EQ(files_below(staged_), before);
  ASSERT_TRUE(run_part(wanted, 1, 2));
  ASSERT_TRUE(merge(out_));
  ConvertOptions again = wanted;
  again.writer.shard.overwrite = true;
  EXPECT_TRUE(run_part(again, 0, 3)) << "nothing of the others is left";
}

TEST_F(PartsTest, OfAnotherCountAreDroppedWhereThatIsAskedFor) {
  ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  wanted.resume = false;
  EXPECT_THAT(run_part(wanted, 0, 3), Fails(Errc::state_mismatch)) << "a part drops its own work only";
  ASSERT_TRUE(convert(out_, wanted));
  EXPECT_FALSE(fs::exists(staged_));
}

TEST_F(PartsTest, OfTwoCountsThatAreThereAreNotMerged) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 2));
  fs::copy(part_file(0, 2, ".dvt"), part_file(0, 3, ".dvt"));
  EXPECT_THAT(merge(out_), Fails(Errc::manifest_mismatch));
}

// A folder that another process removes just then is made again.
TEST_F(PartsTest, FoldersThatComeAndGoAreTakenOrBusy) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread != 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int taken = 0; taken != 50;) {
        const auto access = thread == 0 ? detail::FileLock::Access::exclusive : detail::FileLock::Access::shared;
        auto staging = detail::Staging::open(out_, access, false);
        if (!staging) {
          EXPECT_THAT(staging, Fails(Errc::busy));
          if (!staging.error().is(Errc::busy)) return;
          std::this_thread::yield();
          continue;
        }
        ++taken;
        EXPECT_TRUE(fs::exists(staged_ + "/.dovetail-lock")) << "where the next one looks for it";
        staging->remove_if_empty();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(fs::exists(staged_));
}

TEST_F(PartsTest, OnePartIsConvertedByOneProcessAtATime) {
  const ConvertOptions wanted = ten_shards();
  ASSERT_TRUE(run_part(wanted, 0, 2));
  const auto folder = detail::OutputFolder::open(staged_).value();
  const auto held = detail::FileLock::take(*folder, part_prefix(1, 2) + ".lock", detail::FileLock::Access::exclusive);
  EXPECT_THAT(run_part(wanted, 1, 2), Fails(Errc::busy));
  EXPECT_TRUE(run_part(wanted, 0, 2)) << "another one is none of its business";
}

// What is dropped of a part are the shards of its own range, as it was then.
TEST_F(PartsTest, APartThatIsDroppedLeavesTheOthersAlone) {
  const ConvertOptions wanted = ten_shards();
  for (std::uint32_t part = 0; part != 3; ++part) ASSERT_TRUE(run_part(wanted, part, 3));
  const Files before = files_below(staged_);
  ConvertOptions stopped = wanted;
  stopped.resume = false;
  stopped.progress = [](const ConvertProgress& progress) { return progress.records == 0; };
  ASSERT_FALSE(run_part(stopped, 1, 3));
  Files others = before;
  std::erase_if(others, [](const auto& file) {
    return file.first.starts_with(part_prefix(1, 3)) || file.first == "shard-000003.dvt" ||
           file.first == "shard-000004.dvt" || file.first == "shard-000005.dvt";
  });
  EXPECT_EQ(files_below(staged_), others);
  ASSERT_TRUE(run_part(wanted, 1, 3));
  EXPECT_EQ(files_below(staged_), before);
  for (const std::uint32_t part : {0u, 1u, 2u}) ASSERT_FALSE(run_part(stopped, part, 3));
  EXPECT_FALSE(fs::exists(staged_)) << "the last one takes the folder along";
}

TEST_F(PartsTest, CountTheirOwnSkipsOnly) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += i % 3 == 0 || i > 2500 ? "{\"bad\":\n" : "{\"i\": " + std::to_string(i) + "}\n";
  ConvertOptions wanted = options({put("a.jsonl", text), put("b.jsonl.gz", gzip(text)), put("c.tar", "no tar")}, 10);
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
      fs::remove_all(staged_);
    }
    fs::remove_all(folder_ / "whole");
  }
}

// With a fact of its manifest replaced, or added where `old` is empty; of all its records only the
// first `most`.
void rewrite_part(const std::string& path, const std::string& old, const std::string& text, std::size_t most = ~0ull) {
  RecordReader reader = RecordReader::open(path).value();
  Records records;
  while (const auto record = reader.next().value()) records.emplace_back(as_chars(*record));
  records.resize(std::min(records.size(), most));
  ASSERT_NE(records.front().find(old), std::string::npos);
  records.front().replace(records.front().find(old), old.size(), text);
  WriterOptions options{.dataset_id = reader.shard().dataset_id,
                        .shard_number = 0xFFFFFFFD,
                        .record_type = "dovetail.Part",
                        .overwrite = true};
  RecordWriter writer = RecordWriter::create(path, options).value();
  for (const std::string& record : records) writer.append(as_bytes(record)).value();
  writer.finish().value();
}

TEST_F(PartsTest, AreRecoveredFromTheirFolder) {
  const ConvertOptions wanted = ten_shards();
  for (const bool damaged : {false, true}) {
    ASSERT_TRUE(run_part(wanted, 0, 2));
    const std::string manifest = part_file(0, 2, ".dvt");
    EXPECT_EQ(describe_shard(manifest)->shard_number, 0xFFFFFFFDu);
    if (damaged) fs::resize_file(staged_ + "/shard-000000.dvt", fs::file_size(staged_ + "/shard-000000.dvt") - 1);
    const RecoverReport saved = recover(staged_, folder_ / "saved").value();
    EXPECT_EQ(saved.shards.size(), 5u);
    const Records records = read_dataset(folder_ / "saved").records;
    ASSERT_GT(records.size(), 300u);
    EXPECT_TRUE(std::equal(records.begin(), records.end(), all_.begin())) << "of part 0 all, and nothing else";
    EXPECT_THAT(recover(manifest, folder_ / "alone.dvt"), Fails(Errc::unknown_format));
    EXPECT_FALSE(Dataset::open(manifest)) << "facts are no records";
    EXPECT_THAT(Dataset::open(staged_), Fails(Errc::unfinished));
    const detail::Staging taken = detail::Staging::open(out_, detail::FileLock::Access::shared, false).value();
    EXPECT_THAT(recover(staged_, folder_ / "again"), Fails(Errc::unfinished)) << "somebody is at work there";
    fs::remove_all(folder_ / "saved");
    fs::remove_all(staged_);
  }
}

TEST_F(PartsTest, NamesOfASplitInAPartManifestStayBelowTheTarget) {
  ConvertOptions wanted = ten_shards();
  wanted.split = {{"train", 0.7}, {"val", 0.3}};
  ASSERT_TRUE(run_part(wanted, 0, 1));
  const std::string path = part_file(0, 1, ".dvt");
  std::string now = "split.1 val\n";
  for (const std::string& name : {folder_ / "absolute", std::string("../above"), std::string(".."), std::string("a/b"),
                                  std::string("train"), std::string()}) {
    const std::string text = "split.1 " + name + '\n';
    rewrite_part(path, now, text);
    now = text;
    EXPECT_THAT(merge(out_), Fails(Errc::bad_message).in(path)) << name;
    EXPECT_FALSE(fs::exists(out_));
  }
  EXPECT_FALSE(fs::exists(folder_ / "absolute"));
  EXPECT_FALSE(fs::exists(folder_ / "above"));
  rewrite_part(path, now, "split.1 val\n");
  EXPECT_TRUE(merge(out_)) << "as it was";
}

TEST_F(PartsTest, AManifestWithoutADatasetIsRefused) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  const std::string path = part_file(0, 1, ".dvt");
  rewrite_part(path, "", "", 1);
  EXPECT_THAT(merge(out_), Fails(Errc::bad_message).saying("it has no dataset").in(path));
  EXPECT_TRUE(fs::exists(staged_ + "/shard-000000.dvt")) << "nothing was renamed";
}

TEST_F(PartsTest, ACountOfPartsThatNoConversionHasIsRefusedAtOnce) {
  put("out.partial/.dovetail-lock", "");
  put("out.partial/.dovetail-part-00000-of-4294967295.dvt", "");
  const auto refused = merge(out_);
  ASSERT_THAT(refused, Fails(Errc::manifest_mismatch));
  EXPECT_THAT(refused.error().path(), HasSubstr(".dovetail-part-00000-of-4294967295"));
  fs::remove(staged_ + "/.dovetail-part-00000-of-4294967295.dvt");
  put("out.partial/.dovetail-part-00001-of-100000.dvt", "");
  EXPECT_THAT(merge(out_), Fails().saying("part 0 of 100000 is missing"));
}

TEST_F(PartsTest, AManifestOfAPartIsCheckedLikeAllData) {
  ASSERT_TRUE(run_part(ten_shards(), 0, 1));
  const std::string path = part_file(0, 1, ".dvt");
  const Bytes bytes = read_file(path);
  for (std::size_t at = 0; at < bytes.size(); at += 13) {
    if (bytes[at] == std::byte{0}) continue;  // perhaps padding, which no checksum covers
    std::string damaged(as_chars(bytes));
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write_file(path, damaged);
    const auto merged = merge(out_);
    if (merged) FAIL() << "a changed byte at " << at << " was not noticed";
    if (merged.error().kind() != ErrorKind::damaged) FAIL() << at << ": " << merged.error().to_string();
  }
}

}  // namespace
}  // namespace dovetail::test
