// SPDX-License-Identifier: Apache-2.0
// TFRecord files as sources: plain, gzip and zlib, whole, cut and damaged.
#include <dovetail/record_source.h>

#include <string>

#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

const SourceOptions kTfrecord{.format = SourceFormat::tfrecord};

class TfrecordSourceTest : public SourceFileTest {
 protected:
  const Records records_ = sample_records(40, 60, 1);
  const std::string plain_ = tfrecord_bytes(records_);
};

TEST_F(TfrecordSourceTest, TellsPlainGzipAndZlibByContent) {
  const std::pair<std::string, Compression> kinds[] = {
      {plain_, Compression::none}, {test::gzip(plain_), Compression::gzip}, {test::zlib(plain_), Compression::zlib}};
  for (const auto& [bytes, compression] : kinds) {
    for (const SourceOptions& options : {SourceOptions{}, kTfrecord}) {
      RecordSource source = RecordSource::open(put(bytes), options).value();
      EXPECT_EQ(source.format(), SourceFormat::tfrecord);
      EXPECT_EQ(source.files(), 1u);
      EXPECT_EQ(source.input_bytes(), bytes.size());
      ASSERT_TRUE(source.next());
      EXPECT_EQ(source.compression(), compression) << to_string(compression);
      EXPECT_EQ(source.file(), path_);
      EXPECT_EQ(read_source(path_, options).value(), records_);
    }
  }
}

TEST_F(TfrecordSourceTest, KeepsRecordsAsTheyAreAndSaysSo) {
  EXPECT_THAT(RecordSource::open(put(plain_), {.records = RecordForm::example}),
              Fails(Errc::invalid_option).saying("leave out --records: a record stays as it is"));
}

// 0x8B1F and 0x88B1F are lengths whose first bytes are those of gzip; 0x9C78 begins like zlib.
TEST_F(TfrecordSourceTest, IsNotMisledByLengthsThatLookLikeCompression) {
  for (const std::size_t size : {0x8B1Fu, 0x88B1Fu, 0x9C78u, 0x0178u}) {
    const Records records = {std::string(size, 'x'), "second"};
    EXPECT_EQ(read_source(put(tfrecord_bytes(records))).value(), records) << size;
  }
}

TEST_F(TfrecordSourceTest, ReadsRecordsLargerThanEveryBuffer) {
  const Records records = {noise(3 << 20, 1), "", prose(5 << 20, 2), noise(1 << 20, 3)};
  const std::string bytes = tfrecord_bytes(records);
  EXPECT_TRUE(read_source(put(bytes)).value() == records);
  EXPECT_TRUE(read_source(put(test::gzip(bytes))).value() == records);
  EXPECT_TRUE(read_source(put(test::zlib(bytes))).value() == records);
}

TEST_F(TfrecordSourceTest, ReadsConcatenatedGzipMembers) {
  const std::size_t middle = plain_.size() / 2;  // inside a record
  const std::string members =
      test::gzip(plain_.substr(0, middle)) + test::gzip("") + test::gzip(plain_.substr(middle)) + test::gzip("");
  EXPECT_EQ(read_source(put(members)).value(), records_);
}

TEST_F(TfrecordSourceTest, ReadsAFileWithoutRecordsOnlyWhereToldThatItIsOne) {
  for (const std::string& empty : {std::string(), test::gzip(""), test::zlib("")}) {
    EXPECT_THAT(read_source(put(empty), kTfrecord).value(), IsEmpty());
    EXPECT_THAT(RecordSource::open(path_), Fails(Errc::unknown_format));
  }
}

TEST_F(TfrecordSourceTest, NeverTakesACutPlainFileForAWholeOne) {
  std::size_t boundary = 0;
  std::size_t next = 0;
  for (std::size_t cut = 0; cut < plain_.size(); ++cut) {
    if (next < records_.size() && cut == boundary + records_[next].size() + 16) {
      boundary = cut;
      ++next;
    }
    const auto read = read_source(put(std::string_view(plain_).substr(0, cut)), kTfrecord);
    if (cut == boundary) {
      EXPECT_EQ(read.value().size(), next);
      continue;
    }
    EXPECT_THAT(read, Fails(Errc::truncated).of(ErrorKind::damaged).in(path_).at(boundary)) << cut;
  }
}

TEST_F(TfrecordSourceTest, NeverTakesACutCompressedFileForAWholeOne) {
  const std::size_t middle = plain_.size() / 3;
  const std::string first_member = test::gzip(plain_.substr(0, middle));
  const std::string gzip = first_member + test::gzip(plain_.substr(middle));
  for (const std::string& bytes : {gzip, test::zlib(plain_)}) {
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto read = read_source(put(std::string_view(bytes).substr(0, cut)), kTfrecord);
      ASSERT_THAT(read, Fails(Errc::truncated).in(path_)) << cut;
      EXPECT_LE(read.error().offset().value(), cut);
      EXPECT_THAT(read, Fails().saying("record ")) << cut;
    }
  }
}

TEST_F(TfrecordSourceTest, TakesAMemberBoundaryBetweenRecordsForAnEnd) {
  EXPECT_EQ(read_source(put(test::gzip(plain_))).value(), records_);
  EXPECT_EQ(read_source(put(test::gzip(plain_) + test::gzip(plain_))).value().size(), 2 * records_.size());
}

TEST_F(TfrecordSourceTest, RefusesBytesBehindTheCompressedStream) {
  const std::string zlib = test::zlib(plain_);
  const std::string gzip = test::gzip(plain_);
  const std::pair<std::string, std::size_t> cases[] = {
      {zlib + zlib, zlib.size()}, {zlib + '\0', zlib.size()}, {gzip + '\0', gzip.size()}, {gzip + "more", gzip.size()}};
  for (const auto& [bytes, offset] : cases) {
    EXPECT_THAT(read_source(put(bytes)), Fails(Errc::decompression).at(offset).saying("record 40: bytes"));
  }
}

TEST_F(TfrecordSourceTest, ReturnsNoOtherRecordsForAnyFlippedBit) {
  for (const std::string& bytes : {plain_, test::gzip(plain_), test::zlib(plain_)}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
      const auto read = read_source(put(damaged), kTfrecord);
      if (read) {
        EXPECT_EQ(*read, records_) << "byte " << i;  // a time or system in the gzip header: nothing that matters
        EXPECT_LT(i, 10u);
      } else {
        EXPECT_THAT(read, Fails(ErrorKind::damaged).in(path_));
        EXPECT_TRUE(read.error().offset().has_value());
      }
    }
  }
}

TEST_F(TfrecordSourceTest, GivesGoodRecordsBeforeTheDamage) {
  std::string damaged = tfrecord_bytes({"one", "two", "three"});
  damaged[19 + 12] = 'x';
  RecordSource source = RecordSource::open(put(damaged)).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "one");
  const auto failed = source.next();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().to_string(),
            path_ +
                ":19: TFRecord checksum mismatch: record 1: the CRC of its bytes does not match; "
                "`convert --on-error skip` leaves such records out");
  EXPECT_THAT(source.next(), Fails(Errc::tfrecord_checksum)) << "the first failure is final";
}

TEST_F(TfrecordSourceTest, NoSkippingIsAdvisedWhereTheRestOfTheFileIsLost) {
  std::string damaged = tfrecord_bytes({"one", "two", "three"});
  damaged[19] ^= 1;  // the length of the second, so where the third begins is unknown
  RecordSource source = RecordSource::open(put(damaged)).value();
  EXPECT_EQ(as_chars(source.next().value().value()), "one");
  const auto failed = source.next();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().to_string().find("--on-error"), std::string::npos) << failed.error().to_string();
}

TEST_F(TfrecordSourceTest, SkipsRecordsWhoseBytesAreDamagedWhereAsked) {
  std::string damaged = tfrecord_bytes({"one", "two", "three", "four"});
  damaged[19 + 12] = 'x';
  damaged[2 * 19 + 21 - 1] ^= 1;  // the CRC of the third
  for (const std::string& bytes : {damaged, test::gzip(damaged), snappy_blocks(damaged, 7)}) {
    RecordSource source =
        RecordSource::open(put(bytes), {.format = SourceFormat::tfrecord, .on_error = OnError::skip}).value();
    EXPECT_EQ(as_chars(source.next().value().value()), "one");
    EXPECT_EQ(as_chars(source.next().value().value()), "four");
    EXPECT_FALSE(source.next().value());
    EXPECT_EQ(source.skipped(), 2u);
  }
  damaged[0] ^= 1;
  RecordSource lost =
      RecordSource::open(put(damaged), {.format = SourceFormat::tfrecord, .on_error = OnError::skip}).value();
  EXPECT_FALSE(lost.next().value()) << "without a length there is no next record";
  EXPECT_EQ(lost.skipped(), 1u);
}

TEST_F(TfrecordSourceTest, RefusesRecordsAboveTheLimit) {
  put(tfrecord_bytes({"four", "fiver"}));
  EXPECT_THAT(read_source(path_, {.max_record_bytes = 4}), Fails(Errc::record_too_large).at(20u));
}

TEST_F(TfrecordSourceTest, KnowsWhereEachRecordLies) {
  RecordSource source = RecordSource::open(put(tfrecord_bytes({"a", "bc", ""}))).value();
  std::vector<std::uint64_t> offsets;
  while (source.next().value()) {
    offsets.push_back(source.offset());
    EXPECT_EQ(source.consumed_bytes(), source.offset());
  }
  EXPECT_THAT(offsets, ElementsAre(0, 17, 35));
  EXPECT_EQ(source.consumed_bytes(), source.input_bytes()) << "at the end";
}

TEST_F(TfrecordSourceTest, SpreadsACompressedFileEvenlyOverItsRecords) {
  const std::string plain = tfrecord_bytes(Records(1000, prose(1000, 4)));
  for (const std::string& bytes : {test::gzip(plain), snappy_blocks(plain, 30'000)}) {
    RecordSource source = RecordSource::open(put(bytes)).value();
    std::uint64_t number = 0;
    std::uint64_t last = 0;
    while (source.next().value()) {
      EXPECT_GE(source.consumed_bytes(), last);
      last = source.consumed_bytes();
      EXPECT_NEAR(static_cast<double>(last) / static_cast<double>(source.input_bytes()),
                  static_cast<double>(number) / 1000, 0.05);
      ++number;
    }
    EXPECT_EQ(number, 1000u);
  }
}

}  // namespace
}  // namespace dovetail::test
