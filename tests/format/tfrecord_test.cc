// SPDX-License-Identifier: Apache-2.0
#include "format/tfrecord/tfrecord.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fails.h"
#include "tests/support/tfrecords.h"

namespace dovetail::format {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using test::Records;
using test::tfrecord_bytes;

constexpr std::uint32_t kNoLimit = 0xFFFFFFFF;

std::string bytes_of(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

/// Feeds `bytes` in pieces of `piece` bytes and collects records; gives the first failure,
/// `finish()` included.
Result<Records> scan(std::string_view bytes, std::size_t piece, std::uint32_t limit = kNoLimit,
                     std::uint64_t* failed_at = nullptr) {
  TfrecordScanner scanner(limit);
  Records records;
  const auto failed = [&](const Error& error) {
    if (failed_at != nullptr) *failed_at = scanner.record_offset();
    return error;
  };
  for (std::size_t begin = 0;; begin += piece) {
    for (;;) {
      const auto record = scanner.next();
      if (!record) return failed(record.error());
      if (!*record) break;
      records.emplace_back(as_chars(**record));
    }
    if (begin >= bytes.size()) break;
    scanner.feed(as_bytes(bytes.substr(begin, piece)));
  }
  if (const auto whole = scanner.finish(); !whole) return failed(whole.error());
  return records;
}

// Made with TensorFlow's own definition of the format: masked CRC32C of the length, then of the
// bytes.
const std::string kEmptyRecord = bytes_of({0, 0, 0, 0, 0, 0, 0, 0, 0x29, 0x03, 0x98, 0x07, 0xD8, 0xEA, 0x82, 0xA2});
const std::string kFooRecord =
    bytes_of({3, 0, 0, 0, 0, 0, 0, 0, 0xB0, 0x99, 0x49, 0x0E, 'f', 'o', 'o', 0x61, 0x8A, 0xBE, 0xFE});

TEST(TfrecordTest, EncodesTheGoldenBytes) {
  EXPECT_EQ(tfrecord_bytes({""}), kEmptyRecord);
  EXPECT_EQ(tfrecord_bytes({"foo"}), kFooRecord);
}

TEST(TfrecordTest, DecodesTheGoldenBytes) {
  EXPECT_THAT(scan(kEmptyRecord + kFooRecord + kEmptyRecord, 7).value(), ElementsAre("", "foo", ""));
}

TEST(TfrecordTest, HeaderAndFooterAreCheckedBeforeTheyAreBelieved) {
  std::array<std::byte, kTfrecordHeaderBytes> header;
  encode_tfrecord_header(~std::uint64_t{0}, header);
  EXPECT_EQ(decode_tfrecord_header(header), ~std::uint64_t{0});
  header[0] ^= std::byte{1};
  EXPECT_EQ(decode_tfrecord_header(header), std::nullopt);
  std::array<std::byte, kTfrecordFooterBytes> footer;
  encode_tfrecord_footer(as_bytes("foo"), footer);
  EXPECT_TRUE(check_tfrecord_footer(as_bytes("foo"), footer));
  EXPECT_FALSE(check_tfrecord_footer(as_bytes("fop"), footer));
}

TEST(TfrecordScannerTest, GivesTheSameRecordsHoweverTheBytesAreDivided) {
  Records records;
  for (std::uint64_t i = 0; i < 60; ++i) records.push_back(test::noise(i % 8 == 0 ? 0 : i * 7 % 41, i));
  const std::string bytes = tfrecord_bytes(records);
  for (std::size_t piece = 1; piece <= bytes.size(); piece += 1 + piece / 16) {
    ASSERT_EQ(scan(bytes, piece).value(), records) << "pieces of " << piece;
  }
}

TEST(TfrecordScannerTest, FindsNothingInNothing) {
  EXPECT_THAT(scan("", 1).value(), IsEmpty());
}

TEST(TfrecordScannerTest, TellsACleanEndFromACutAtEveryByte) {
  const Records records = {"foo", "", std::string(100, 'x'), "end"};
  const std::string bytes = tfrecord_bytes(records);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    // The last boundary at or before the cut is where the cut record begins.
    Records whole;
    std::size_t boundary = 0;
    for (const std::string& record : records) {
      const std::size_t end = boundary + record.size() + 16;
      if (end > cut) break;
      boundary = end;
      whole.push_back(record);
    }
    for (const std::size_t piece : {1u, 5u, 1000u}) {
      std::uint64_t offset = 0;
      const auto scanned = scan(std::string_view(bytes).substr(0, cut), piece, kNoLimit, &offset);
      if (cut == boundary) {
        EXPECT_EQ(scanned.value(), whole) << cut;
        continue;
      }
      ASSERT_THAT(scanned, test::Fails(Errc::truncated)) << cut;
      EXPECT_EQ(offset, boundary) << cut;
      EXPECT_THAT(scanned, test::Fails().saying("record " + std::to_string(whole.size()))) << cut;
    }
  }
}

TEST(TfrecordScannerTest, DetectsEveryFlippedBit) {
  const std::string bytes = tfrecord_bytes({"foo", "quite another"});
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    std::uint64_t offset = 0;
    EXPECT_THAT(scan(damaged, 9, kNoLimit, &offset), test::Fails(Errc::tfrecord_checksum)) << "bit " << bit;
    EXPECT_EQ(offset, bit / 8 < 19 ? 0u : 19u) << "bit " << bit;
  }
}

TEST(TfrecordScannerTest, RefusesRecordsAboveTheLimitBeforeTheirBytes) {
  EXPECT_THAT(scan(kFooRecord, 100, 3).value(), ElementsAre("foo"));
  EXPECT_THAT(scan(kFooRecord.substr(0, 12), 100, 2),
              test::Fails(Errc::record_too_large).saying("record 0 has 3 bytes; the limit is 2"));
}

// A header may be valid and still lie: memory follows the bytes that came, not those that are
// promised.
TEST(TfrecordScannerTest, AllocatesNothingForAPromise) {
  std::array<std::byte, kTfrecordHeaderBytes> header;
  encode_tfrecord_header(kNoLimit, header);
  EXPECT_THAT(scan(std::string(as_chars(header)) + "short", 4), test::Fails(Errc::truncated));
  encode_tfrecord_header(std::uint64_t{kNoLimit} + 1, header);
  EXPECT_THAT(scan(as_chars(header), 4), test::Fails(Errc::record_too_large));
}

TEST(TfrecordScannerTest, KeepsItsFirstFailure) {
  std::string damaged = kFooRecord + kFooRecord;
  damaged[12] = 'g';
  TfrecordScanner scanner(kNoLimit);
  scanner.feed(as_bytes(damaged));
  EXPECT_THAT(scanner.next(), test::Fails(Errc::tfrecord_checksum));
  EXPECT_THAT(scanner.next(), test::Fails(Errc::tfrecord_checksum));
  EXPECT_THAT(scanner.finish(), test::Fails(Errc::tfrecord_checksum));
  EXPECT_EQ(scanner.records(), 0u);
}

}  // namespace
}  // namespace dovetail::format
