// SPDX-License-Identifier: Apache-2.0
// TFRecords as TensorFlow writes them with SNAPPY, compressed here with the packaged library:
// blocks of any size, cut, damaged and hostile.
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/convert/source_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

const SourceOptions kAsTfrecord{.format = SourceFormat::tfrecord};

class SnappySourceTest : public SourceFileTest {
 protected:
  Error error_of(std::string_view bytes) { return test::error_of(put(bytes), kAsTfrecord); }
};

TEST_F(SnappySourceTest, ReadsBlocksThatEndAnywhere) {
  const Records records = sample_records(200, 400, 5);
  const std::string plain = tfrecord_bytes(records);
  for (const std::size_t block : {1u, 2u, 11u, 12u, 13u, 100u, 4096u, 262144u}) {
    const auto read = read_source(put(snappy_blocks(plain, block)), kAsTfrecord);
    EXPECT_EQ(read.value(), records) << block;
  }
}

TEST_F(SnappySourceTest, IsFoundByContent) {
  // 0 and 1 begin with bytes that Snappy repeats, 70'000 does not fit what is looked at.
  for (const std::size_t size : {0u, 1u, 300u, 70'000u, 3'000'000u}) {
    const Records records = {noise(size, 1), prose(size, 2), std::string(size, 'x')};
    const std::string plain = tfrecord_bytes(records);
    for (const std::size_t block : {std::size_t{12}, std::size_t{262144}, plain.size()}) {
      RecordSource source = RecordSource::open(put(snappy_blocks(plain, block))).value();
      EXPECT_EQ(source.format(), SourceFormat::tfrecord);
      EXPECT_EQ(source.compression(), Compression::snappy);
      EXPECT_TRUE(read_source(std::move(source)).value() == records) << size << ' ' << block;
    }
  }
}

// TensorFlow itself writes a record above 256 KiB as one block, which it then cannot read.
TEST_F(SnappySourceTest, ReadsBlocksLargerThanTensorFlowCan) {
  const Records records = {prose(5 << 20, 3), "small", noise(2 << 20, 4)};
  const std::string plain = tfrecord_bytes(records);
  EXPECT_TRUE(read_source(put(snappy_blocks(plain, plain.size()))).value() == records);
}

TEST_F(SnappySourceTest, FindsEveryCutThatIsNotAtTheEndOfABlockAndARecord) {
  const std::string plain = tfrecord_bytes({"one", prose(300, 1)});
  const std::string bytes = snappy_blocks(plain, 100);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto read = read_source(put(bytes.substr(0, size)), kAsTfrecord);
    ASSERT_THAT(read, Fails(ErrorKind::damaged).in(path_)) << size;
    EXPECT_TRUE(read.error().offset().has_value());
  }
  EXPECT_THAT(read_source(put(""), kAsTfrecord).value(), IsEmpty());
}

TEST_F(SnappySourceTest, InventsNoRecordFromDamage) {
  const Records records = sample_records(20, 60, 7);
  const std::string bytes = snappy_blocks(tfrecord_bytes(records), 256);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    RecordSource source = RecordSource::open(put(damaged), kAsTfrecord).value();
    std::size_t number = 0;
    for (;;) {
      const auto record = source.next();
      if (!record) {
        EXPECT_THAT(record, Fails(ErrorKind::damaged));
        break;
      }
      if (!*record) break;
      ASSERT_LT(number, records.size());
      EXPECT_EQ(as_chars(**record), records[number++]) << "byte " << i;
    }
  }
}

TEST_F(SnappySourceTest, RefusesLengthsThatCannotBe) {
  // A whole file so that what follows is taken for a block: a length of 1 GiB and more.
  const std::string good = snappy_blocks(tfrecord_bytes({"x"}), 100);
  EXPECT_THAT(error_of(good + std::string("\x40\0\0\1", 4) + "more"), Fails(Errc::bad_length).saying("1073741825"));
  // Three bytes that claim to decode to 256 MiB.
  EXPECT_THAT(error_of(good + std::string("\0\0\0\7\x80\x80\x80\x80\1\0x", 11)),
              Fails(Errc::bad_length).saying("268435456"));
}

}  // namespace
}  // namespace dovetail::test
