// SPDX-License-Identifier: Apache-2.0
#include <dovetail/tfrecord_export.h>

#include <fcntl.h>
#include <snappy.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include <dovetail/dataset_writer.h>

#include "format/tfrecord/tfrecord_snappy.h"
#include "tests/convert/conversions.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

// TensorFlow's limit for both, where nobody asks for another.
constexpr std::size_t kTensorFlowBlock = 262'144;

// Decodes as TensorFlow does, with the packaged Snappy.
std::string decode_snappy(std::string_view stream) {
  std::string out;
  while (!stream.empty()) {
    EXPECT_GE(stream.size(), 4u);
    std::size_t length = 0;
    for (int i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(stream[static_cast<std::size_t>(i)]);
    stream.remove_prefix(4);
    if (length > stream.size()) throw std::runtime_error("a block is cut");
    EXPECT_LE(length, kTensorFlowBlock) << "TensorFlow's buffer for a stored block";
    std::string block;
    if (!snappy::Uncompress(stream.data(), length, &block)) throw std::runtime_error("a block does not decode");
    EXPECT_LE(block.size(), kTensorFlowBlock);
    EXPECT_FALSE(block.empty());
    out += block;
    stream.remove_prefix(length);
  }
  return out;
}

TEST(TfrecordSnappyTest, BlocksDoNotDependOnHowBytesCome) {
  const std::string bytes = noise(1'000'000, 1) + prose(1'000'000, 2);
  std::vector<std::byte> once;
  format::TfrecordSnappyEncoder encoder;
  encoder.add(as_bytes(bytes), once);
  encoder.finish(once);
  EXPECT_TRUE(decode_snappy(as_chars(once)) == bytes);
  for (const std::size_t step : {1u, 1000u, 196'608u, 196'609u}) {
    std::vector<std::byte> pieces;
    format::TfrecordSnappyEncoder other;
    for (std::size_t at = 0; at < bytes.size(); at += step)
      other.add(as_bytes(bytes).subspan(at).first(std::min(step, bytes.size() - at)), pieces);
    other.finish(pieces);
    EXPECT_TRUE(pieces == once) << step;
  }
  std::vector<std::byte> nothing;
  format::TfrecordSnappyEncoder empty;
  empty.finish(nothing);
  EXPECT_TRUE(nothing.empty());
}

TEST(TfrecordSnappyTest, LengthsHaveTheirHighestByteFirst) {
  std::vector<std::byte> out;
  format::TfrecordSnappyEncoder encoder;
  encoder.add(as_bytes("abc"), out);
  encoder.finish(out);
  const std::byte expected[] = {std::byte{0}, std::byte{0},   std::byte{0},   std::byte{5},  std::byte{3},
                                std::byte{8}, std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  EXPECT_THAT(out, ::testing::ElementsAreArray(expected)) << "the raw length and one literal of 3 bytes";
}

class TfrecordExportTest : public ConversionTest {
 protected:
  // Records of 0 bytes to more than 1 MiB, some of which compress.
  test::Records records() const {
    test::Records records = sample_records(500, 3000, 61);
    for (const std::size_t size : {std::size_t{262'144}, std::size_t{262'145}, std::size_t{1'500'000}}) {
      records.push_back(noise(size, size));
      records.push_back(prose(size, size));
    }
    records.emplace_back();
    return records;
  }
  std::string packed(std::uint32_t shards) {
    convert(folder_ / "dataset", options({put("a.tfrecord", tfrecord_bytes(records()))}, shards)).value();
    return folder_ / "dataset";
  }
  TfrecordExportOptions exports(const std::string& source, TfrecordCompression compression) const {
    return {.sources = {source}, .compression = compression, .jobs = 2};
  }
  // The records' framing as it was before it was compressed, by means of others than the library's.
  std::string unpacked(const std::vector<std::string>& files, TfrecordCompression compression) {
    std::string framed;
    for (const std::string& file : files) {
      const Bytes bytes = read_file(file);
      if (compression == TfrecordCompression::snappy) {
        framed += decode_snappy(as_chars(bytes));
      } else if (compression == TfrecordCompression::none) {
        framed += as_chars(bytes);
      } else {
        framed += inflate(as_chars(bytes));
      }
    }
    return framed;
  }
};

TEST_F(TfrecordExportTest, GivesTheRecordsBackByteForByte) {
  const std::string dataset = packed(5);
  const std::string expected = tfrecord_bytes(records());
  for (const auto compression :
       {TfrecordCompression::none, TfrecordCompression::gzip, TfrecordCompression::zlib, TfrecordCompression::snappy}) {
    const auto report = export_tfrecords(out_, exports(dataset, compression)).value();
    EXPECT_EQ(report.records, records().size());
    EXPECT_EQ(report.files.size(), 5u);
    EXPECT_TRUE(unpacked(report.files, compression) == expected) << to_string(compression);
    fs::remove_all(out_);
  }
}

TEST_F(TfrecordExportTest, NamesFilesAsTensorFlowDoes) {
  const std::string dataset = packed(2);
  export_tfrecords(out_, exports(dataset, TfrecordCompression::gzip)).value();
  EXPECT_THAT(names_in(out_), ElementsAre("data-00000-of-00002.tfrecord.gz", "data-00001-of-00002.tfrecord.gz"));
  TfrecordExportOptions one = exports(dataset, TfrecordCompression::none);
  one.files = 1;
  const auto report = export_tfrecords(folder_ / "new/all.tfrecord", one).value();
  EXPECT_THAT(report.files, ElementsAre(folder_ / "new/all.tfrecord"));
  EXPECT_TRUE(as_chars(read_file(folder_ / "new/all.tfrecord")) == tfrecord_bytes(records()));
  one.files = 0;
  EXPECT_THAT(export_tfrecords(folder_ / "all.tfrecord", one), Fails(Errc::invalid_option)) << "two files, one name";
}

TEST_F(TfrecordExportTest, ASingleFileIsCompressedAsItsNameSays) {
  TfrecordExportOptions wanted{.sources = {packed(2)}, .files = 1};
  using Named = std::pair<const char*, TfrecordCompression>;
  for (const auto& [name, compression] :
       {Named{"b.tfrecord", TfrecordCompression::none}, Named{"b.tfrecord.gz", TfrecordCompression::gzip},
        Named{"c.tfrecord.GZ", TfrecordCompression::gzip}, Named{"b.tfrecord.zz", TfrecordCompression::zlib},
        Named{"b.tfrecord.snappy", TfrecordCompression::snappy}}) {
    wanted.compression.reset();
    const auto report = export_tfrecords(folder_ / name, wanted).value();
    EXPECT_TRUE(unpacked(report.files, compression) == tfrecord_bytes(records())) << name;
    wanted.compression = TfrecordCompression::none;
    wanted.overwrite = true;
    const auto plain = export_tfrecords(folder_ / name, wanted);
    EXPECT_EQ(plain.has_value(), compression == TfrecordCompression::none) << name;
    EXPECT_TRUE(plain || plain.error().is(Errc::invalid_option)) << name;
  }
  wanted.compression.reset();
  for (const char* const name : {"d.tfrecord.zst", "d.tfrecord.bz2", "d.tfrecord.XZ"}) {
    EXPECT_THAT(export_tfrecords(folder_ / name, wanted),
                Fails(Errc::invalid_option).saying("which TensorFlow does not read; use .gz"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
  }
}

TEST_F(TfrecordExportTest, OptionsOfSourcesAreNotPassedOverForADataset) {
  TfrecordExportOptions wanted = exports(packed(2), TfrecordCompression::none);
  wanted.source.labels = true;
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::invalid_option));
  const SourceOptions kOthers[] = {{.csv = {.delimiter = ';'}}, {.include = {"*"}}, {.exclude = {"x"}}};
  for (const SourceOptions& other : kOthers) {
    wanted.source = other;
    EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::invalid_option));
  }
}

TEST_F(TfrecordExportTest, TellsWhatWasSkipped) {
  TfrecordExportOptions wanted = exports(put("a.jsonl", "{}\n{bad\n{}\n{worse\n"), TfrecordCompression::none);
  wanted.source.on_error = OnError::skip;
  wanted.files = 3;
  const auto report = export_tfrecords(out_, wanted).value();
  EXPECT_EQ(report.records, 2u);
  EXPECT_EQ(report.skipped, 2u);
  EXPECT_EQ(report.first_skipped.size(), 2u);
}

TEST_F(TfrecordExportTest, SourcesWithoutARecordAreRefusedAsByAConversion) {
  const std::string bad = put("bad.jsonl", "{bad\n{worse\n");
  TfrecordExportOptions wanted = exports(bad, TfrecordCompression::none);
  wanted.from = SourceFormat::jsonl;
  wanted.source.on_error = OnError::skip;
  const auto skipped_all = export_tfrecords(out_, wanted);
  EXPECT_THAT(skipped_all, Fails(Errc::empty_input).in(bad).saying("no record in any source; skipped 2, the first"));
  ConvertOptions converted = options({bad}, 1);
  converted.from = SourceFormat::jsonl;
  converted.source.on_error = OnError::skip;
  EXPECT_EQ(skipped_all.error().to_string(), convert(folder_ / "dataset", converted).error().to_string());

  TfrecordExportOptions empty = exports(put("empty.tfrecord", ""), TfrecordCompression::none);
  empty.from = SourceFormat::tfrecord;
  EXPECT_THAT(export_tfrecords(out_, empty), Fails(Errc::empty_input).saying("no record in any source"));
  EXPECT_FALSE(fs::exists(out_)) << "nothing is left behind";
}

TEST_F(TfrecordExportTest, CutsADatasetIntoAnyNumberOfFiles) {
  const std::string dataset = packed(3);
  for (const std::uint32_t files : {1u, 2u, 7u, 1000u}) {
    TfrecordExportOptions wanted = exports(dataset, TfrecordCompression::none);
    wanted.files = files;
    const auto report = export_tfrecords(out_, wanted).value();
    EXPECT_EQ(report.files.size(), files);
    EXPECT_TRUE(unpacked(report.files, TfrecordCompression::none) == tfrecord_bytes(records()));
    fs::remove_all(out_);
  }
}

TEST_F(TfrecordExportTest, ADatasetWithoutShardsIsOneEmptyFile) {
  const std::string dataset = folder_ / "dataset";
  ASSERT_THAT(DatasetWriter::create(dataset, {}).value().finish().value().shards, IsEmpty());
  const auto report = export_tfrecords(out_, exports(dataset, TfrecordCompression::none)).value();
  EXPECT_THAT(names_in(out_), ElementsAre("data-00000-of-00001.tfrecord"));
  ASSERT_THAT(report.files, SizeIs(1));
  EXPECT_EQ(fs::file_size(report.files[0]), 0u);
  EXPECT_EQ(report.records, 0u);
  EXPECT_TRUE(export_tfrecords(folder_ / "all.tfrecord", exports(dataset, TfrecordCompression::none)));
}

TEST_F(TfrecordExportTest, TakesOtherSourcesToo) {
  TfrecordExportOptions lines = exports(put("a.txt", "one\n\nthree"), TfrecordCompression::gzip);
  const auto report = export_tfrecords(out_, lines).value();
  EXPECT_EQ(report.records, 3u);
  EXPECT_EQ(unpacked(report.files, TfrecordCompression::gzip), tfrecord_bytes({"one", "", "three"}));
  fs::remove_all(out_);
  TfrecordExportOptions many = exports(put_tfrecords(4, 100, 62), TfrecordCompression::zlib);
  many.files = 3;
  EXPECT_EQ(unpacked(export_tfrecords(out_, many).value().files, TfrecordCompression::zlib), tfrecord_bytes(all_));
}

TEST_F(TfrecordExportTest, RefusesOptionsOutOfRange) {
  TfrecordExportOptions wanted = exports(packed(2), TfrecordCompression::none);
  wanted.jobs = 1025;
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::invalid_option).saying("jobs = 1025"));
  wanted.jobs = 1024;
  wanted.files = 100'000;
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::invalid_option).saying("files = 100000"));
}

TEST_F(TfrecordExportTest, TakesTheOptionsOfAConversion) {
  ConvertOptions convert{.sources = {"a"}, .from = SourceFormat::lines, .shards = 7, .jobs = 3};
  convert.source.sample = 0.5;
  convert.writer.shard.max_record_bytes = 100;
  convert.writer.shard.overwrite = true;
  const TfrecordExportOptions taken = export_options(convert);
  EXPECT_THAT(taken.sources, ElementsAre("a"));
  EXPECT_EQ(taken.from, SourceFormat::lines);
  EXPECT_EQ(taken.source.sample, 0.5);
  EXPECT_EQ(taken.source.max_record_bytes, 100u);
  EXPECT_EQ(taken.files, 7u);
  EXPECT_TRUE(taken.overwrite);
  EXPECT_EQ(taken.jobs, 3u);
}

TEST_F(TfrecordExportTest, LeavesNothingAfterAFailure) {
  const std::string dataset = packed(4);
  const std::string shard = dataset + "/shard-000002.dvt";
  std::string damaged(as_chars(read_file(shard)));
  damaged[damaged.size() / 2] ^= 1;
  write_file(shard, damaged);
  EXPECT_THAT(export_tfrecords(out_, exports(dataset, TfrecordCompression::none)), Fails(ErrorKind::damaged).in(shard));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TfrecordExportTest, CanBeCancelled) {
  TfrecordExportOptions wanted = exports(packed(4), TfrecordCompression::none);
  wanted.progress = [](const ConvertProgress&) { return false; };
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(ErrorKind::cancelled));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(TfrecordExportTest, GivesTheCallersExceptionBackAndLeavesNothing) {
  TfrecordExportOptions wanted = exports(packed(4), TfrecordCompression::none);
  wanted.jobs = 3;
  wanted.progress = [](const ConvertProgress&) -> bool { throw std::runtime_error("of the caller"); };
  EXPECT_THROW((void)export_tfrecords(out_, wanted), std::runtime_error);
  EXPECT_FALSE(fs::exists(out_));
}

// Killed when two of four files had their names.
TEST_F(TfrecordExportTest, WhatAKilledOneHasLeftIsNotTakenForAll) {
  TfrecordExportOptions wanted = exports(packed(4), TfrecordCompression::gzip);
  const auto whole = export_tfrecords(out_, wanted).value();
  const Files files = files_below(out_);
  for (const int file : {2, 3}) {
    const std::string name = "data-0000" + std::to_string(file) + "-of-00004.tfrecord.gz";
    fs::rename(out_ + '/' + name, out_ + "/." + name + ".partial-7-0123abcd");
  }
  const std::string partial = out_ + "/.data-00002-of-00004.tfrecord.gz.partial-7-0123abcd";
  for (const SourceFormat format : {SourceFormat::detect, SourceFormat::tfrecord, SourceFormat::folder}) {
    EXPECT_THAT(convert(folder_ / "again", {.sources = {out_}, .from = format}),
                Fails(Errc::unfinished).in(partial).saying("an export with --overwrite"))
        << to_string(format);
  }
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::already_exists));
  // What somebody else is still writing stays. What is left of an export to another number of files
  // goes, too.
  const std::string busy = out_ + "/.data-00000-of-00004.tfrecord.gz.partial-8-0123abcd";
  const std::string other = out_ + "/.data-00000-of-00005.tfrecord.gz.partial-9-0123abcd";
  for (const std::string& path : {busy, other}) write_file(path, "begun");
  const int held = ::open(busy.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  wanted.overwrite = true;
  ASSERT_TRUE(export_tfrecords(out_, wanted));
  EXPECT_TRUE(fs::exists(busy));
  EXPECT_FALSE(fs::exists(other));
  ::close(held);
  fs::remove(busy);
  EXPECT_EQ(files_below(out_), files) << "the partial files went with it";
  EXPECT_EQ(convert(folder_ / "again", {.sources = {out_}}).value().records, whole.records);
}

TEST_F(TfrecordExportTest, LimitsRecordsOfADatasetToo) {
  TfrecordExportOptions wanted = exports(packed(2), TfrecordCompression::none);
  wanted.source.max_record_bytes = 1'499'999;
  const auto refused = export_tfrecords(out_, wanted);
  ASSERT_THAT(refused, Fails(Errc::record_too_large));
  EXPECT_THAT(refused.error().path(), HasSubstr("/dataset/shard-00000"));
  EXPECT_FALSE(fs::exists(out_));
  wanted.source.max_record_bytes = 1'500'000;
  EXPECT_TRUE(export_tfrecords(out_, wanted));
}

// Of another count or in another compression, they would give records twice.
TEST_F(TfrecordExportTest, NeverStandsBesideAnother) {
  TfrecordExportOptions wanted = exports(packed(3), TfrecordCompression::none);
  wanted.overwrite = true;
  export_tfrecords(out_, wanted).value();
  for (const char* const other :
       {"notes.txt", "data-1.tfrecord", "more-00000-of-00001.tfrecord", "data-00000-of-00002.tfrecord-old",
        "data-00000-of-00002.tfrecord.zst", "data-00000-of-00003.tfrecord.dvi"}) {
    write_file(out_ + '/' + other, "mine");
  }
  const Files files = files_below(out_);
  for (const auto& [count, compression] :
       {std::pair{2u, TfrecordCompression::none}, {3u, TfrecordCompression::gzip}, {1u, TfrecordCompression::none}}) {
    wanted.files = count;
    wanted.compression = compression;
    EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::already_exists).in(out_ + "/data-00000-of-00003.tfrecord"));
    EXPECT_EQ(files_below(out_), files);
  }
  wanted.files = 0;
  wanted.compression = TfrecordCompression::none;
  EXPECT_TRUE(export_tfrecords(out_, wanted));
  EXPECT_EQ(files_below(out_), files);
}

TEST_F(TfrecordExportTest, ReplacesNoSource) {
  export_tfrecords(out_, exports(packed(2), TfrecordCompression::none)).value();
  fs::remove_all(folder_ / "dataset");  // so that `out_` is all that its folder holds
  const Files files = files_below(out_);
  const std::string file = out_ + "/data-00000-of-00002.tfrecord";
  for (const auto& [source, target] :
       {std::pair{out_, out_}, {out_ + "/../out", out_}, {file, out_}, {file, file}, {folder_.path(), out_}}) {
    TfrecordExportOptions wanted = exports(source, TfrecordCompression::none);
    wanted.overwrite = true;
    wanted.files = target == out_ ? 2 : 1;
    EXPECT_THAT(export_tfrecords(target, wanted), Fails(Errc::invalid_option)) << source;
    EXPECT_EQ(files_below(out_), files);
  }
}

TEST_F(TfrecordExportTest, DoesNotReplaceFilesUnasked) {
  TfrecordExportOptions wanted = exports(packed(2), TfrecordCompression::none);
  put("out/data-00001-of-00002.tfrecord", "mine");
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::already_exists));
  EXPECT_THAT(names_in(out_), ElementsAre("data-00001-of-00002.tfrecord"));
  wanted.overwrite = true;
  EXPECT_TRUE(export_tfrecords(out_, wanted));
  wanted.files = 100'000;
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(Errc::invalid_option));
  wanted.sources = {folder_ / "missing"};
  wanted.files = 0;
  EXPECT_THAT(export_tfrecords(out_, wanted), Fails(ErrorKind::io));
}

}  // namespace
}  // namespace dovetail::test
