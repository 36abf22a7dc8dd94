// SPDX-License-Identifier: Apache-2.0
// What an index says of a TFRecord file, and which files get one.
#include <dovetail/tfrecord_index.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "format/layout.h"
#include "tests/convert/indexed_files.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class TfrecordIndexTest : public IndexedFileTest {
 protected:
  // The facts of a shard with the same records, except those that only the framing decides.
  ShardInfo as_shard(const Records& records, const TfrecordIndexOptions& options) {
    WriterOptions writer_options{.codec = Codec::none,
                                 .block_bytes = options.block_bytes,
                                 .run_bytes = options.run_bytes,
                                 .run_records = options.run_records,
                                 .overwrite = true};
    auto writer = RecordWriter::create(folder_ / "same.dvt", writer_options).value();
    for (const std::string& record : records) writer.append(as_bytes(record)).value();
    return writer.finish().value();
  }

  void expect_as_shard(const Records& records, const TfrecordIndexOptions& options) {
    const std::string path = put("a.tfrecord", records);
    const ShardInfo found = index_tfrecord(path, options, true).value().shard;
    const ShardInfo shard = as_shard(records, options);
    EXPECT_EQ(found.name, "a.tfrecord");
    EXPECT_EQ(found.records, shard.records);
    EXPECT_EQ(found.blocks, shard.blocks);
    EXPECT_EQ(found.max_block_raw, shard.max_block_raw);
    EXPECT_EQ(found.max_block_records, shard.max_block_records);
    EXPECT_EQ(found.run_records, shard.run_records);
    EXPECT_EQ(found.raw_bytes, shard.raw_bytes);
    EXPECT_EQ(found.min_record_bytes, shard.min_record_bytes);
    EXPECT_EQ(found.max_record_bytes, shard.max_record_bytes);
    EXPECT_EQ(found.fingerprint, shard.fingerprint);
    EXPECT_EQ(found.file_bytes, fs::file_size(path));
    EXPECT_EQ(found.stored_bytes, found.raw_bytes + 16 * found.records);
  }
};

TEST_F(TfrecordIndexTest, CutsBlocksAndRunsAsAShardWithTheSameRecordsDoes) {
  const TfrecordIndexOptions small{.block_bytes = 1024, .run_bytes = 4096};
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    expect_as_shard(sample_records(500, 300, seed), small);
    expect_as_shard(sample_records(500, 3000, seed), small);
    expect_as_shard(sample_records(500, 300, seed), {.block_bytes = 1024, .run_records = 7});
    expect_as_shard(sample_records(500, 300, seed), {});
  }
}

TEST_F(TfrecordIndexTest, TakesFilesWithOneRecordAndOnesOfOneSize) {
  expect_as_shard({"only"}, {});
  expect_as_shard({""}, {});
  expect_as_shard({std::string(3 << 20, 'x')}, {});
  expect_as_shard(records_of_size(1000, 100), {.block_bytes = 1024, .run_bytes = 4096});
}

TEST_F(TfrecordIndexTest, TakesAFileWithoutRecords) {
  const std::string path = put("a.tfrecord", {});
  const TfrecordIndexReport report = index_tfrecord(path).value();
  EXPECT_EQ(report.shard.records, 0u);
  EXPECT_EQ(Dataset::open(path).value().records(), 0u);
  EXPECT_TRUE(verify(path).value().ok());
}

TEST_F(TfrecordIndexTest, ListsBlocksThatFillTheFile) {
  const std::string path = put_indexed("a.tfrecord", sample_records(500, 300, 1), {.block_bytes = 1024});
  const ShardDescription shard = describe_shard(path).value();
  EXPECT_TRUE(shard.tfrecord);
  std::uint64_t offset = 0;
  for (const BlockInfo& block : shard.blocks) {
    EXPECT_EQ(block.offset, offset);
    offset += block.stored_bytes;
  }
  EXPECT_EQ(offset, fs::file_size(path));
  EXPECT_GT(shard.blocks.size(), 10u);
}

TEST_F(TfrecordIndexTest, KeepsBlocksOfTinyRecordsSmallInTheFile) {
  const std::string path = put_indexed("a.tfrecord", Records(100'000, ""), {.block_bytes = 4096});
  const ShardDescription shard = describe_shard(path).value();
  EXPECT_EQ(shard.info.max_block_stored, 8192u);
  EXPECT_EQ(shard.info.max_block_records, 512u);
}

TEST_F(TfrecordIndexTest, IsTheSameForTheSameFile) {
  const Records records = sample_records(500, 300, 1);
  fs::create_directory(folder_ / "other");
  const std::string a = put_indexed("a.tfrecord", records);
  const std::string b = put_indexed("other/a.tfrecord", records);
  EXPECT_EQ(read_file(a + ".dvi"), read_file(b + ".dvi"));
}

TEST_F(TfrecordIndexTest, KeepsAnIndexThatFitsAndReplacesOneThatDoesNot) {
  const std::string path = put_indexed("a.tfrecord", sample_records(50, 300, 1));
  EXPECT_TRUE(index_tfrecord(path).value().kept);
  EXPECT_TRUE(index_tfrecord(path, {.run_records = 3}).value().kept);
  EXPECT_FALSE(index_tfrecord(path, {.run_records = 3}, true).value().kept);
  put("a.tfrecord", sample_records(60, 300, 2));
  const TfrecordIndexReport report = index_tfrecord(path).value();
  EXPECT_FALSE(report.kept);
  EXPECT_EQ(report.shard.records, 60u);
  EXPECT_EQ(Dataset::open(path).value().records(), 60u);
}

TEST_F(TfrecordIndexTest, ReplacesAnIndexThatIsOlderThanItsFile) {
  Records records = records_of_size(100, 50);
  const std::string path = put_indexed("a.tfrecord", records);
  std::swap(records[50], records[51]);  // size and ends are as they were
  put("a.tfrecord", records);
  fs::last_write_time(path, fs::last_write_time(path + ".dvi") + std::chrono::seconds(1));
  EXPECT_FALSE(index_tfrecord(path).value().kept);
  EXPECT_TRUE(verify(path).value().ok());
}

TEST_F(TfrecordIndexTest, LeavesAGoodIndexAloneForDaliToo) {
  const std::string path = put_indexed("a.tfrecord", sample_records(50, 300, 1), {.run_records = 7});
  const TfrecordIndexReport report = index_tfrecord(path, {.write_dali_index = folder_ / "a.idx"}).value();
  EXPECT_TRUE(report.kept);
  EXPECT_EQ(report.shard.run_records, 7u);
  EXPECT_TRUE(index_tfrecord(path, {.check_dali_index = folder_ / "a.idx"}).value().kept);
  EXPECT_EQ(describe_shard(path).value().info.run_records, 7u);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.idx", "a.tfrecord", "a.tfrecord.dvi"));
}

TEST_F(TfrecordIndexTest, ReplacesADamagedIndex) {
  const std::string path = put_indexed("a.tfrecord", sample_records(50, 300, 1));
  fs::resize_file(path + ".dvi", 100);
  EXPECT_FALSE(Dataset::open(path));
  EXPECT_FALSE(index_tfrecord(path).value().kept);
  EXPECT_EQ(Dataset::open(path).value().records(), 50u);
}

TEST_F(TfrecordIndexTest, RefusesCutAndDamagedFilesByPlaceAndLeavesNoIndex) {
  const std::string whole = tfrecord_bytes({"first", "second", "third"});
  const std::string path = folder_ / "a.tfrecord";
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    if (bytes == 21 || bytes == 43) continue;  // a file that ends between records has fewer
    write_file(path, std::string_view(whole).substr(0, bytes));
    const Error error = error_of(path);
    // One byte may be a text.
    const Errc unlike = bytes == 1 ? Errc::unknown_format : Errc::malformed_input;
    EXPECT_TRUE(error.is(Errc::truncated) || error.is(unlike)) << bytes << ": " << error.to_string();
    EXPECT_EQ(error.path(), path);
    EXPECT_FALSE(fs::exists(path + ".dvi"));
  }
  for (std::size_t at = 21; at < 43; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write_file(path, damaged);
    EXPECT_THAT(error_of(path), Fails(Errc::tfrecord_checksum).at(21u)) << at;
    EXPECT_FALSE(fs::exists(path + ".dvi"));
  }
}

TEST_F(TfrecordIndexTest, SaysWhatToDoWithCompressedFilesAndShards) {
  const std::string path = folder_ / "a.tfrecord.gz";
  write_file(path, gzip(tfrecord_bytes({"first"})));
  EXPECT_THAT(error_of(path).to_string(), HasSubstr("dovetail convert"));
  write_file(path, test::zlib(tfrecord_bytes({"first"})));
  EXPECT_THAT(error_of(path).to_string(), HasSubstr("compressed (zlib)"));
  write_file(path, "just text\n");
  EXPECT_TRUE(error_of(path).is(Errc::unknown_format));
  for (const std::string& other : {path, folder_ / "other"}) {
    write_file(other, 'X' + tfrecord_bytes({"first"}));
    const Error damaged = error_of(other);
    EXPECT_TRUE(damaged.is(other == path ? Errc::malformed_input : Errc::unknown_format)) << damaged.to_string();
    EXPECT_THAT(damaged.to_string(), Not(HasSubstr("--from"))) << "which `dovetail index` does not have";
  }
  auto writer = RecordWriter::create(folder_ / "a.dvt").value();
  writer.append(as_bytes("record")).value();
  writer.finish().value();
  EXPECT_THAT(error_of(folder_ / "a.dvt").to_string(), HasSubstr("already packed"));
  EXPECT_EQ(error_of(folder_ / "missing").kind(), ErrorKind::io);
}

TEST_F(TfrecordIndexTest, RefusesOptionsOutOfRange) {
  const std::string path = put("a.tfrecord", {"first"});
  EXPECT_THAT(error_of(path, {.block_bytes = 1}).to_string(), HasSubstr("block_bytes = 1"));
  EXPECT_THAT(error_of(path, {.run_bytes = 0}).to_string(), HasSubstr("run_bytes = 0"));
}

TEST_F(TfrecordIndexTest, StopsWhenItIsAskedTo) {
  const std::string path = put("a.tfrecord", sample_records(500, 3000, 1));
  EXPECT_THAT(error_of(path, {.progress = [](std::uint64_t, std::uint64_t) { return false; }}),
              Fails(ErrorKind::cancelled));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.tfrecord"));
}

TEST_F(TfrecordIndexTest, IndexesSeveralFilesAsEachAlone) {
  std::vector<TfrecordToIndex> files;
  for (std::uint32_t i = 0; i < 5; ++i) {
    files.push_back({put(std::to_string(i) + ".tfrecord", sample_records(10 * i, 300, i)), {.run_records = i + 1}});
  }
  files[3].options.write_dali_index = folder_ / "3.idx";
  std::uint64_t bytes = 0;
  const auto progress = [&](std::uint64_t, std::uint64_t so_far) {
    EXPECT_GE(so_far, bytes);
    bytes = so_far;
    return true;
  };
  const TfrecordIndexJobs jobs{.jobs = 3, .progress = progress};
  const std::vector<TfrecordIndexReport> reports = index_tfrecords(files, jobs).value();
  ASSERT_EQ(reports.size(), files.size());
  EXPECT_TRUE(fs::exists(folder_ / "3.idx"));
  std::uint64_t all_bytes = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    all_bytes += fs::file_size(files[i].path);
    EXPECT_EQ(reports[i].index, files[i].path + ".dvi");
    EXPECT_EQ(reports[i].shard.records, 10 * i);
    EXPECT_EQ(reports[i].shard.run_records, i + 1);
    EXPECT_TRUE(index_tfrecords({files[i]}, {}).value().front().kept);
  }
  EXPECT_EQ(bytes, all_bytes);
  EXPECT_THAT(index_tfrecords({}, {}).value(), ::testing::IsEmpty());
}

TEST_F(TfrecordIndexTest, ReturnsTheErrorOfTheFirstOfSeveralFilesThatHasOne) {
  std::vector<TfrecordToIndex> files;
  for (const char* name : {"a", "b", "c", "d"}) {
    files.push_back({put(std::string(name) + ".tfrecord", sample_records(20, 300, 1))});
  }
  for (const int damaged : {1, 3}) fs::resize_file(files[static_cast<std::size_t>(damaged)].path, 100);
  for (const unsigned jobs : {1u, 4u}) {
    EXPECT_THAT(index_tfrecords(files, {.jobs = jobs}), Fails(ErrorKind::damaged).in(files[1].path));
    EXPECT_TRUE(fs::exists(files[0].path + ".dvi"));
  }
  EXPECT_THAT(index_tfrecords(files, {.jobs = 1025}), Fails(Errc::invalid_option).saying("jobs = 1025"));
  const auto cancel = [](std::uint64_t, std::uint64_t) { return false; };
  const TfrecordToIndex whole{put("e.tfrecord", sample_records(20, 300, 1))};
  EXPECT_THAT(index_tfrecords({whole}, {.progress = cancel}), Fails(ErrorKind::cancelled));
}

TEST_F(TfrecordIndexTest, WritesTheIndexThatDaliReads) {
  const std::string path = put("a.tfrecord", {"first", "", "third one"});
  index_tfrecord(path, {.write_dali_index = folder_ / "a.idx"}).value();
  const Bytes text = read_file(folder_ / "a.idx");
  EXPECT_EQ(as_chars(text), "0 21\n21 16\n37 25\n");
  index_tfrecord(path, {.check_dali_index = folder_ / "a.idx"}).value();
}

TEST_F(TfrecordIndexTest, WritesNoIndexInPlaceOfItsFile) {
  const std::string path = put("a.tfrecord", {"first", "second"});
  fs::create_symlink(path, folder_ / "link");
  for (const std::string& target : {path, folder_ / "link", path + ".dvi"}) {
    index_tfrecord(path).value();
    const Bytes before = read_file(target);
    EXPECT_TRUE(error_of(path, {.write_dali_index = target}).is(Errc::invalid_option)) << target;
    EXPECT_TRUE(read_file(target) == before) << target;
  }
}

TEST_F(TfrecordIndexTest, NamesTheLineOfADaliIndexThatDisagrees) {
  const std::string path = put("a.tfrecord", {"first", "", "third one"});
  const std::string index = folder_ / "a.idx";
  const auto message = [&](std::string_view text) {
    write_file(index, text);
    const Error error = error_of(path, {.check_dali_index = index});
    EXPECT_THAT(error, Fails(Errc::index_mismatch).in(index));
    EXPECT_FALSE(fs::exists(path + ".dvi"));
    return error.detail();
  };
  EXPECT_THAT(message("0 21\n21 17\n37 25\n"), HasSubstr("line 2"));
  EXPECT_THAT(message("0 21\n22 16\n37 25\n"), HasSubstr("offset 22 and 16 bytes, the record offset 21 and 16"));
  EXPECT_THAT(message("0 21\n21 16\n"), HasSubstr("line 3 of the DALI index: it is missing"));
  EXPECT_THAT(message("0 21\n21 16\n37 25\n62 16\n"), HasSubstr("no more records"));
  EXPECT_THAT(message("0 21\n21\n37 25\n"), HasSubstr("it must be an offset and a size"));
  EXPECT_THAT(message("0 21\n21 16 \n"), HasSubstr("it must be an offset and a size"));
  write_file(index, "0 21\r\n21 16\r\n37 25");
  EXPECT_TRUE(index_tfrecord(path, {.check_dali_index = index}));
}

TEST_F(TfrecordIndexTest, TheFilesOfAFolderAreNamedAsAShellExpandsThem) {
  const std::string folder = folder_ / "a b";
  fs::create_directory(folder);
  for (const std::string& path : {folder, folder + '/'}) {
    EXPECT_THAT(index_tfrecord(path), Fails(Errc::unknown_format).saying("as with '" + folder + "/'*.tfrecord"));
  }
}

}  // namespace
}  // namespace dovetail::test
