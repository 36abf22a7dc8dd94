// SPDX-License-Identifier: Apache-2.0
// An indexed TFRecord is a shard like any other: opened, read, verified, planned and delivered.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/convert.h>
#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/record_reader.h>

#include "tests/convert/indexed_files.h"
#include "tests/support/as_nobody.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

class TfrecordShardTest : public IndexedFileTest {
 protected:
  static Records read(const std::string& path) {
    RecordReader reader = RecordReader::open(path).value();
    Records records;
    while (const auto record = reader.next().value()) records.emplace_back(as_chars(*record));
    return records;
  }
};

TEST_F(TfrecordShardTest, GivesTheRecordsInOrder) {
  const Records records = sample_records(700, 3000, 5);
  EXPECT_EQ(read(put_indexed("a", records, {.block_bytes = 2048})), records);
  const Records of_one_size = records_of_size(700, 100);
  EXPECT_EQ(read(put_indexed("b", of_one_size, {.block_bytes = 2048})), of_one_size);
  EXPECT_EQ(read(put_indexed("c", {""})), Records{""});
  EXPECT_EQ(read(put_indexed("d", {})), Records{});
}

TEST_F(TfrecordShardTest, GivesAnyRecord) {
  const Records records = sample_records(700, 3000, 6);
  RecordReader reader = RecordReader::open(put_indexed("a", records, {.block_bytes = 2048})).value();
  for (const std::uint64_t at : {699u, 0u, 350u, 17u}) {
    reader.seek(at).value();
    EXPECT_EQ(as_chars(reader.next().value().value()), records[at]);
  }
}

TEST_F(TfrecordShardTest, IsFoundInFoldersAndByPatterns) {
  put_indexed("b.tfrecord", {"3", "4"});
  put_indexed("a.tfrecord", {"1", "2"});
  const Dataset folder = Dataset::open(folder_.path()).value();
  EXPECT_EQ(folder.records(), 4u);
  EXPECT_EQ(folder.shards()[0].name, "a.tfrecord");
  EXPECT_EQ(Dataset::open(folder_ / "[ab].tfrecord*").value().fingerprint(), folder.fingerprint());
  put("c.tfrecord", {"5"});  // indexing was not completed
  write_file(folder_ / "notes.txt", "not a TFRecord");
  for (const std::string& path : {folder_ / "*.tfrecord", folder_.path()}) {
    EXPECT_THAT(Dataset::open(path), Fails(Errc::not_indexed).saying("dovetail index " + (folder_ / "c.tfrecord")))
        << path;
  }
  EXPECT_THAT(Dataset::open(folder_ / "a.tfrecord.dvi"), Fails(Errc::unknown_format));
}

TEST_F(TfrecordShardTest, IsASourceByItsIndexUnderAnyName) {
  for (const char* const name : {"part-00000", "part-00001", "x"}) put_indexed(name, {name, "2"});
  for (const SourceFormat format : {SourceFormat::detect, SourceFormat::tfrecord, SourceFormat::dovetail}) {
    EXPECT_EQ(read_source(folder_.path(), {.format = format}).value().size(), 6u) << to_string(format);
  }
  fs::remove(folder_ / "part-00001.dvi");
  EXPECT_THAT(read_source(folder_.path(), {.format = SourceFormat::tfrecord}),
              Fails(Errc::not_indexed).in(folder_ / "part-00001"));
  for (const char* const name : {"part-00001", "part-00001.gz"}) {
    fs::remove(folder_ / "part-00001");
    fs::create_symlink("gone", folder_ / name);
    for (const SourceFormat format : {SourceFormat::detect, SourceFormat::tfrecord}) {
      EXPECT_THAT(read_source(folder_.path(), {.format = format}), Fails().in(folder_ / name));
    }
    fs::remove(folder_ / name);
  }
  fs::create_symlink("gone", folder_ / "part-00001");
  fs::create_symlink("gone", folder_ / "part-00001.dvi");
  EXPECT_THAT(read_source(folder_.path()), Fails().in(folder_ / "part-00001"));
  fs::remove(folder_ / "part-00001");
  fs::remove(folder_ / "part-00001.dvi");
  put_indexed("a-1.tfrecord", {"3"});
  put("a-2.tfrecord", {"4"});  // it can be read without an index
  EXPECT_EQ(read_source(folder_.path()).value().size(), 6u);
  write_file(folder_ / "a-2.tfrecord", "");
  EXPECT_THAT(read_source(folder_.path()), Fails().in(folder_ / "a-2.tfrecord"));
  fs::remove(folder_ / "a-2.tfrecord");
  fs::remove(folder_ / "a-1.tfrecord");
  fs::remove(folder_ / "a-1.tfrecord.dvi");
  put_indexed("part-00001", {"2"});
  write_file(folder_ / "part-00001", "");
  for (const SourceFormat format : {SourceFormat::detect, SourceFormat::tfrecord}) {
    EXPECT_THAT(read_source(folder_.path(), {.format = format}), Fails(ErrorKind::damaged));
  }
}

TEST_F(TfrecordShardTest, IsMissedBesideIndexedOnesWhateverIsWrongWithIt) {
  put_indexed("a.tfrecord", {"1", "2"});
  const std::string zeroed = folder_ / "b.tfrecord-00001-of-00002";
  write_file(zeroed, std::string(100, '\0'));
  auto dataset = Dataset::open(folder_.path());
  EXPECT_THAT(dataset, Fails(Errc::not_dovetail).in(zeroed));
  EXPECT_FALSE(verify(folder_.path()));
  fs::remove(zeroed);
  for (const char* const packed : {"b.tfrecord.gz", "train-00001-of-00010.gz"}) {
    write_file(folder_ / packed, gzip(tfrecord_bytes({"3"})));
    EXPECT_FALSE(Dataset::open(folder_.path())) << packed;
    fs::remove(folder_ / packed);
  }
  for (const char* const other : {"a.tfrecord.idx", "a.tfrecord.md5", "notes.gz"}) {
    write_file(folder_ / other, "0 17\n");
  }
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 2u);

  put_indexed("part-00000", {"3"});
  const auto expect_missed = [&](const std::string& sibling) {
    dataset = Dataset::open(folder_.path());
    ASSERT_FALSE(dataset) << "it differs from an indexed file in its number only";
    EXPECT_EQ(dataset.error().path(), folder_ / sibling);
    fs::remove(folder_ / sibling);
  };
  for (const char* const sibling : {"part-00001", "part-2", "part-00001.gz", "part-00001.ZSTD"}) {
    write_file(folder_ / sibling, std::string(100, '\0'));
    expect_missed(sibling);
  }
  fs::create_symlink("gone", folder_ / "part-00001");
  expect_missed("part-00001");
  ASSERT_EQ(::mkfifo((folder_ / "part-00001").c_str(), 0600), 0);
  expect_missed("part-00001");
  fs::create_symlink("gone", folder_ / "other");
  EXPECT_TRUE(Dataset::open(folder_.path()));
  fs::remove(folder_ / "other");

  const std::string locked = folder_ / "locked";
  write_file(locked, "what it holds nobody can tell");
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(locked, fs::perms::none);
  const AsNobody nobody;
  if (nobody.may(locked, R_OK)) GTEST_SKIP() << "this user may read everything";
  dataset = Dataset::open(folder_.path());
  EXPECT_THAT(dataset, Fails(ErrorKind::io).in(locked));
}

TEST_F(TfrecordShardTest, IsMissedBesideIndexedOnesWhereItsLinkLeadsNowhere) {
  put_indexed("a.tfrecord", {"1", "2"});
  const std::string link = folder_ / "b.tfrecord";
  fs::create_symlink("nowhere", link);
  EXPECT_THAT(Dataset::open(folder_.path()), Fails(ErrorKind::io).in(link));
  fs::remove(link);
  ASSERT_EQ(::mkfifo(link.c_str(), 0600), 0);
  EXPECT_THAT(Dataset::open(folder_.path()), Fails().in(link));
  fs::remove(link);
  fs::create_directory(folder_ / "elsewhere");
  fs::create_directory_symlink("elsewhere", link);  // of a folder, which is not followed
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 2u);
}

TEST_F(TfrecordShardTest, IsComparedWithItsIndexWhereItIsASource) {
  const std::string whole = put_indexed("a.tfrecord", {"1", "2"});
  const std::string cut = put_indexed("b.tfrecord", {"3", "4"});
  const std::string plain = put("c.tfrecord", {"5"});  // without an index, as some converted files are
  ConvertOptions options{
      .sources = {whole, cut, plain}, .from = SourceFormat::tfrecord, .writer = {.shard = {.overwrite = true}}};
  EXPECT_EQ(convert(folder_ / "out", options).value().records, 5u);
  for (const std::uintmax_t bytes : {fs::file_size(cut) / 2, std::uintmax_t{0}}) {
    fs::resize_file(cut, bytes);
    const auto source = RecordSource::open(cut, {});  // by itself, with nothing said of its format
    ASSERT_TRUE(!source || source->format() == SourceFormat::tfrecord);
    EXPECT_THAT(convert(folder_ / "out", options), Fails(Errc::index_mismatch).in(cut).saying("dovetail index " + cut))
        << bytes;
  }
}

// All frames are good, the size and both ends are those that were indexed: its blocks tell.
TEST_F(TfrecordShardTest, IsComparedWithItsIndexBlockByBlockWhereItIsASource) {
  const std::string first(40, '1');
  const std::string last(40, '9');
  const std::string path = put_indexed("a.tfrecord", {first, "aa", "bb", last});
  const std::string index(as_chars(read_file(path + ".dvi")));
  ASSERT_EQ(read_source(path).value(), (std::vector<std::string>{first, "aa", "bb", last}));
  // Two records swapped, one replaced, and two that became one.
  for (const std::vector<std::string>& others : {std::vector<std::string>{first, "bb", "aa", last},
                                                 {first, "aa", "cc", last},
                                                 {first, std::string(2 + 2 + 16, 'x'), last}}) {
    put_indexed("a.tfrecord", others);
    write_file(path + ".dvi", index);
    EXPECT_THAT(read_source(path), Fails(ErrorKind::damaged).in(path));
  }
}

TEST_F(TfrecordShardTest, IsMissedBesideShardsOnceItsIndexIsLost) {
  put("a.tfrecord", {"1", "2"});
  ConvertOptions options{.sources = {folder_ / "a.tfrecord"}};
  convert(folder_ / "packed", options).value();
  fs::create_directory(folder_ / "both");
  fs::copy(folder_ / "packed/shard-000000.dvt", folder_ / "both/a.dvt");
  write_file(folder_ / "both/notes.txt", "not a TFRecord");
  EXPECT_TRUE(verify(folder_ / "both").value().ok());
  fs::copy(folder_ / "a.tfrecord", folder_ / "both/train-00000-of-01024");
  EXPECT_THAT(Dataset::open(folder_ / "both"), Fails(Errc::not_indexed));
  EXPECT_FALSE(verify(folder_ / "both"));
}

TEST_F(TfrecordShardTest, IsMissedInAFolderOfSourcesWhereItsIndexIs) {
  fs::create_directory(folder_ / "src");
  put_indexed("src/a.tfrecord", {"1", "2"});
  put_indexed("src/b.tfrecord", {"3"});
  fs::remove(folder_ / "src/b.tfrecord");
  for (const auto& exclude : {std::vector<std::string>(), std::vector<std::string>{"a.*"}}) {
    SourceOptions options;
    options.exclude = exclude;
    EXPECT_THAT(RecordSource::open(folder_ / "src", options),
                Fails().in(folder_ / "src/b.tfrecord").saying("its index lies here"));
  }
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", folder_ / "src/b.tfrecord");
  EXPECT_FALSE(RecordSource::open(folder_ / "src", {}));
  SourceOptions others;
  others.exclude = {"b.*"};
  EXPECT_TRUE(RecordSource::open(folder_ / "src", others));
}

TEST_F(TfrecordShardTest, IsNotItsIndexByAnotherName) {
  put_indexed("a.tfrecord", {"1", "2"});
  fs::create_directory(folder_ / "other");
  fs::copy(folder_ / "a.tfrecord.dvi", folder_ / "other/x.dvt");
  EXPECT_THAT(verify(folder_ / "other/x.dvt"), Fails(Errc::unknown_format));
}

TEST_F(TfrecordShardTest, IsMissedWhereOnlyItsIndexIsThere) {
  put_indexed("a.tfrecord", {"1", "2"});
  const std::string gone = put_indexed("b.tfrecord", {"3", "4"});
  fs::remove(gone);
  EXPECT_THAT(Dataset::open(folder_.path()), Fails().in(gone).saying("only its index " + gone + ".dvi exists"));
  const VerifyReport report = verify(folder_.path()).value();
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_THAT(report.unreadable[0].detail(), HasSubstr("only its index " + gone + ".dvi exists"));
}

TEST_F(TfrecordShardTest, IsMissedWhereDovetailsOwnFileHasTakenItsPlace) {
  const std::string path = put_indexed("a.tfrecord", {"1", "2"});
  DatasetWriter packed = DatasetWriter::create(folder_ / "packed").value();
  packed.append(as_bytes("3")).value();
  packed.finish().value();
  fs::create_directory(folder_ / "files");
  for (const std::string& own : {path + ".dvi", folder_ / "packed/manifest.dvt", folder_ / "packed/shard-000000.dvt"}) {
    const std::string overwritten = folder_ / "files/b.tfrecord";
    for (const bool indexed : {false, true}) {
      fs::remove_all(folder_ / "files");
      fs::create_directory(folder_ / "files");
      for (const char* const end : {"", ".dvi"}) fs::copy_file(path + end, folder_ / "files/a.tfrecord" + end);
      fs::copy_file(own, overwritten);
      if (indexed) fs::copy_file(path + ".dvi", overwritten + ".dvi");
      SCOPED_TRACE(own + (indexed ? " with an index" : ""));
      EXPECT_THAT(Dataset::open(folder_ / "files"), Fails(ErrorKind::damaged).in(overwritten));
      const auto verdict = verify(folder_ / "files");
      EXPECT_TRUE(!verdict || !verdict->ok());
      EXPECT_THAT(read_source(folder_ / "files"), Fails(ErrorKind::damaged).in(overwritten));
      if (!indexed) continue;
      EXPECT_THAT(RecordSource::open(overwritten), Fails(ErrorKind::damaged));
    }
  }
}

TEST_F(TfrecordShardTest, DamageOfItsIndexIsToldOfThat) {
  const std::string path = put_indexed("a.tfrecord", {"1", "2"});
  const std::string index = path + ".dvi";
  const std::string whole(as_chars(read_file(index)));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, whole.size() - 1}) {
    write_file(index, whole.substr(0, bytes));
    const VerifyReport report = verify(folder_.path()).value();
    ASSERT_EQ(report.damaged.size(), 1u) << bytes;
    EXPECT_EQ(report.damaged[0].file, index) << bytes;
    EXPECT_THAT(RecordSource::open(folder_ / "*.tfrecord"), Fails(ErrorKind::damaged).in(index)) << bytes;
  }
}

// Every byte of an index is covered by a checksum, or is padding.
TEST_F(TfrecordShardTest, EveryChangedByteOfItsIndexIsDamage) {
  const std::string path = put_indexed("a.tfrecord", {"1", "2"});
  const std::string index = path + ".dvi";
  const std::string whole(as_chars(read_file(index)));
  std::size_t good = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    write_file(index, changed);
    const auto report = verify(path);
    ASSERT_TRUE(report) << at << ": " << report.error().to_string();
    ASSERT_EQ(report->damaged.size(), 1u) << at;
    EXPECT_EQ(report->damaged[0].file, index) << at;
    EXPECT_EQ(report->damaged[0].end_record, 0u) << at;
    good += report->records == 2 ? 1 : 0;
  }
  EXPECT_GT(good, 0u) << "what lies in the padding costs no record";
}

TEST_F(TfrecordShardTest, CountsAShardWithAnIndexBesideItOnce) {
  auto writer = RecordWriter::create(folder_ / "a.dvt").value();
  writer.append(as_bytes("1")).value();
  writer.finish().value();
  write_file(folder_ / "a.dvt.dvi", "");
  put_indexed("b.dvt", {"2"});
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 2u);
}

TEST_F(TfrecordShardTest, IsMissedWhereAShardHasTakenItsPlace) {
  put_indexed("a.tfrecord", {"1", "2"});
  auto writer = RecordWriter::create(folder_ / "x.dvt").value();
  writer.append(as_bytes("3")).value();
  writer.finish().value();
  fs::rename(folder_ / "x.dvt", folder_ / "a.tfrecord");
  for (const std::string& path : {folder_ / "a.tfrecord", folder_.path()}) {
    EXPECT_THAT(Dataset::open(path), Fails(Errc::index_mismatch));
    const auto verdict = verify(path);
    EXPECT_TRUE(!verdict || !verdict->ok());
  }
  EXPECT_FALSE(RecordReader::open(folder_ / "a.tfrecord"));
  fs::remove(folder_ / "a.tfrecord.dvi");
  EXPECT_EQ(Dataset::open(folder_ / "a.tfrecord").value().records(), 1u);
}

TEST_F(TfrecordShardTest, IsNotTakenForAShardByItsIndex) {
  const std::string path = put_indexed("a.tfrecord", {"1", "2"});
  fs::create_directory(folder_ / "other");
  fs::copy_file(path + ".dvi", folder_ / "other/a.dvt");
  for (const std::string& other : {folder_ / "other", folder_ / "other/a.dvt"}) {
    EXPECT_THAT(Dataset::open(other), Fails(Errc::unknown_format));
  }
}

TEST_F(TfrecordShardTest, LiesBesideShards) {
  put_indexed("a.tfrecord", {"1", "2"});
  auto writer = RecordWriter::create(folder_ / "b.dvt").value();
  writer.append(as_bytes("3")).value();
  writer.finish().value();
  EXPECT_EQ(Dataset::open(folder_.path()).value().records(), 3u);
  EXPECT_TRUE(verify(folder_.path()).value().ok());
  EXPECT_EQ(verify(folder_.path()).value().records, 3u);
}

TEST_F(TfrecordShardTest, IsNoneOnceTheFileHasChanged) {
  const Records records = records_of_size(20, 50);
  const std::string path = put_indexed("a", records);
  const auto expect_stale = [&](std::string_view bytes) {
    write_file(path, bytes);
    const auto dataset = Dataset::open(path);
    ASSERT_THAT(dataset, Fails(Errc::index_mismatch));
    EXPECT_THAT(dataset.error().to_string(), HasSubstr("run `dovetail index " + path));
  };
  const std::string bytes = tfrecord_bytes(records);
  expect_stale(bytes + tfrecord_bytes({"more"}));
  expect_stale(bytes.substr(0, 66 * 10));
  expect_stale(tfrecord_bytes(records_of_size(10, 116)));
  write_file(path, bytes);
  EXPECT_TRUE(Dataset::open(path));
}

// Of the same size and with the same ends: only reading can tell.
TEST_F(TfrecordShardTest, IsNeverReadAsTheFileThatItReplaces) {
  Records records = records_of_size(100, 50);
  const std::string path = put_indexed("a", records, {.block_bytes = 1024});
  std::swap(records[50], records[51]);
  put("a", records);
  const VerifyReport report = verify(path).value();
  ASSERT_EQ(report.damaged.size(), 1u);
  EXPECT_THAT(report.damaged[0].reason, HasSubstr("not those that were indexed"));
  EXPECT_LE(report.damaged[0].first_record, 50u);
  EXPECT_GT(report.damaged[0].end_record, 51u);
  records[50] = std::string(40, 'x');
  records[51] = std::string(60, 'x');
  put("a", records);
  EXPECT_THAT(verify(path).value().damaged[0].reason, HasSubstr("the file is not the one that was indexed"));
}

TEST_F(TfrecordShardTest, EveryFlippedBitIsDamageInItsOwnBlock) {
  const Records records = sample_records(6, 20, 3);
  const std::string path = put_indexed("a", records, {.run_records = 2});
  const std::string bytes = tfrecord_bytes(records);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(path, damaged);
    const VerifyReport report = verify(path).value();
    ASSERT_EQ(report.damaged.size(), 1u) << "bit " << bit;
    // At the ends of the file the index as a whole no longer fits.
    const bool at_ends = bit / 8 < 16 || bit / 8 >= bytes.size() - 16;
    ASSERT_EQ(report.records, at_ends ? 0u : 4u) << "bit " << bit;
  }
}

/// The rows of an epoch, by id, and the order of the ids.
struct Delivered {
  std::vector<std::uint64_t> order;
  std::map<std::uint64_t, std::string> rows;
  friend bool operator==(const Delivered&, const Delivered&) = default;
};

class TfrecordDeliveryTest : public TfrecordShardTest {
 protected:
  // The same records as TFRecords and as a dataset.
  void put_both(std::size_t files, std::size_t records, std::size_t most, bool of_one_size) {
    const TfrecordIndexOptions options{.block_bytes = 4096, .run_records = 16};
    DatasetWriterOptions written{
        .shard = {.codec = Codec::none, .block_bytes = options.block_bytes, .run_records = options.run_records},
        .shard_bytes = 0};
    fs::create_directory(folder_ / "tfr");
    auto writer = DatasetWriter::create(folder_ / "dvt", written).value();
    for (std::size_t file = 0; file < files; ++file) {
      const Records some =
          of_one_size ? records_of_size(records + file, most) : sample_records(records + file, most, file + 1);
      put_indexed("tfr/" + std::to_string(file) + ".tfrecord", some, options);
      for (const std::string& record : some) writer.append(as_bytes(record)).value();
      writer.next_shard().value();
    }
    writer.finish().value();
  }

  static ReaderOptions options(std::uint32_t rank, std::uint32_t world) {
    return {.ranks = {.rank = rank, .world = world},
            .plan = {.batch = 8, .tail = Tail::pad, .open_runs = 4, .pool = 32},
            .epochs = 1,
            .decode_threads = 2};
  }

  static Delivered deliver(const std::string& path, const ReaderOptions& options) {
    BatchReader reader = BatchReader::open(Dataset::open(path).value(), options).value();
    Delivered delivered;
    for (const Batch& batch : reader.epoch()) {
      for (std::uint32_t row = 0; row < batch.rows(); ++row) {
        delivered.order.push_back(batch.ids()[row]);
        if (batch.status()[row] == RowStatus::first) delivered.rows[batch.ids()[row]] = as_chars(batch.row(row));
      }
    }
    return delivered;
  }

  // Kernels and sandboxes may forbid io_uring.
  static bool can_use(StorageKind storage, const std::string& path) {
    ReaderOptions how = options(0, 1);
    how.storage = storage;
    return BatchReader::open(Dataset::open(path).value(), how).has_value();
  }

  void expect_equal_delivery() {
    EXPECT_EQ(Dataset::open(folder_ / "tfr").value().fingerprint(),
              Dataset::open(folder_ / "dvt").value().fingerprint());
    for (const StorageKind storage : {StorageKind::pread, StorageKind::io_uring_direct}) {
      if (!can_use(storage, folder_ / "dvt")) continue;
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        ReaderOptions how = options(rank, 2);
        how.storage = storage;
        const Delivered expected = deliver(folder_ / "dvt", how);
        EXPECT_FALSE(expected.rows.empty());
        EXPECT_EQ(deliver(folder_ / "tfr", how), expected);
      }
    }
  }
};

TEST_F(TfrecordDeliveryTest, DeliversTheSameAsAConvertedDataset) {
  put_both(5, 150, 1500, false);
  expect_equal_delivery();
}

TEST_F(TfrecordDeliveryTest, DeliversRecordsOfOneSizeTheSame) {
  put_both(5, 150, 1024, true);
  expect_equal_delivery();
}

TEST_F(TfrecordDeliveryTest, DeliversLargeRecordsStraightIntoTheirRows) {
  put_both(3, 20, 100'000, false);
  expect_equal_delivery();
}

TEST_F(TfrecordDeliveryTest, DeliversTinyRecords) {
  put_both(2, 2000, 3, false);
  expect_equal_delivery();
}

TEST_F(TfrecordDeliveryTest, KeepsTheCountWhereRecordsAreDamaged) {
  for (const std::size_t most : {std::size_t{200}, std::size_t{40'000}}) {
    put_both(2, 50, most, most == 200);
    const std::string path = folder_ / "tfr/0.tfrecord";
    std::string bytes(as_chars(read_file(path)));
    const std::vector<BlockInfo> blocks = describe_shard(path).value().blocks;
    const BlockInfo block =
        *std::find_if(blocks.begin() + 1, blocks.end(), [](const BlockInfo& at) { return at.raw_bytes > 100; });
    bytes[block.offset + 12 + 20] = static_cast<char>(bytes[block.offset + 12 + 20] ^ 1);
    write_file(path, bytes);

    ReaderOptions how = options(0, 1);
    how.on_damage = OnDamage::empty;
    const Delivered expected = deliver(folder_ / "dvt", how);
    const Delivered delivered = deliver(folder_ / "tfr", how);
    EXPECT_EQ(delivered.order, expected.order);
    EXPECT_EQ(delivered.rows.size(), expected.rows.size() - block.records);
    for (const auto& [id, row] : delivered.rows) EXPECT_EQ(row, expected.rows.at(id));

    how.on_damage = OnDamage::fail;
    BatchReader reader = BatchReader::open(Dataset::open(folder_ / "tfr").value(), how).value();
    Result<std::optional<Batch>> batch = reader.next();
    while (batch && *batch) batch = reader.next();
    EXPECT_THAT(batch, Fails(Errc::tfrecord_checksum).in(path).at(block.offset));
    fs::remove_all(folder_ / "tfr");
    fs::remove_all(folder_ / "dvt");
  }
}

TEST_F(TfrecordDeliveryTest, TakesPartInAManifestlessDatasetThatResumes) {
  put_both(3, 100, 500, false);
  ReaderOptions how = options(0, 1);
  const Delivered whole = deliver(folder_ / "tfr", how);
  BatchReader first = BatchReader::open(Dataset::open(folder_ / "tfr").value(), how).value();
  State state;
  for (int i = 0; i < 5; ++i) state = first.next().value().value().state();
  how.state = state;
  const Delivered rest = deliver(folder_ / "tfr", how);
  EXPECT_EQ(rest.order, std::vector<std::uint64_t>(whole.order.begin() + 5 * 8, whole.order.end()));
}

}  // namespace
}  // namespace dovetail::test
