// SPDX-License-Identifier: Apache-2.0
#include "format/messages.h"

#include <functional>
#include <string>

#include "format/layout.h"
#include "format/tfrecord/tfrecord.h"
#include "tests/support/fails.h"

namespace dovetail::format {
namespace {

ShardInfo sample_info() {
  ShardInfo info;
  info.name = "shard-000003.dvt";
  info.records = 10;
  info.blocks = 4;
  info.run_records = 5;
  info.raw_bytes = 100;
  info.stored_bytes = 90;
  info.file_bytes = 1024;
  info.min_record_bytes = 0;
  info.max_record_bytes = 40;
  info.max_block_raw = 60;
  info.max_block_stored = 50;
  info.max_block_records = 5;
  info.fingerprint = 0x0123456789ABCDEFull;
  info.file_id = 0xFEDCBA9876543210ull;
  return info;
}

Footer sample_footer() {
  Footer footer{sample_info(), 640, 0x89ABCDEF};
  footer.info.name.clear();
  footer.info.file_bytes = 0;
  return footer;
}

TEST(MetadataTest, DecodesToWhatWasEncoded) {
  Metadata metadata{"tf.train.Example", "dovetail 1", {{"b", "2"}, {"a", std::string("\0\xFF", 2)}, {"", ""}}};
  EXPECT_EQ(decode_metadata(as_bytes(encode(metadata))).value(), metadata);
  EXPECT_EQ(decode_metadata({}).value(), Metadata{});
}

// Found by messages_fuzz: protobuf had set aside 50 MB for the bytes that the length of an unknown
// field claims.
TEST(MetadataTest, RefusesALengthPastTheEndBeforeAnythingIsAllocatedForIt) {
  const std::string claims_a_gigabyte = "\x7A\x80\x80\x80\x80\x04x";
  for (const auto& failure :
       {decode_metadata(as_bytes(claims_a_gigabyte)).error(), decode_footer(as_bytes(claims_a_gigabyte)).error(),
        decode_shard_info(as_bytes(claims_a_gigabyte)).error(),
        decode_tfrecord_facts(as_bytes(claims_a_gigabyte)).error()}) {
    EXPECT_TRUE(failure.is(Errc::bad_message));
    EXPECT_NE(failure.to_string().find("a length past the end"), std::string::npos) << failure.to_string();
  }
}

TEST(MetadataTest, KeepsASchemaAsText) {
  const Metadata metadata{"", "", {{"a", "1"}}, "label:i64"};
  EXPECT_EQ(decode_metadata(as_bytes(encode(metadata))).value(), metadata);
  EXPECT_EQ(encode(metadata).substr(8), "\x22\x09label:i64");
  // What no reader can parse is kept all the same: a newer writer may know more.
  EXPECT_EQ(decode_metadata(as_bytes(encode(Metadata{"", "", {}, "\xFF?"}))).value().schema, "\xFF?");
}

TEST(MetadataTest, WritesKeysInOrder) {
  const Metadata metadata{"", "", {{"b", "2"}, {"a", "1"}}};
  EXPECT_EQ(encode(metadata),
            "\x1A\x06\x0A\x01"
            "a\x12\x01"
            "1\x1A\x06\x0A\x01"
            "b\x12\x01"
            "2");
}

TEST(MetadataTest, RefusesAKeyThatIsThereTwice) {
  const std::string one = encode(Metadata{"", "", {{"a", "1"}}});
  EXPECT_TRUE(decode_metadata(as_bytes(one)));
  EXPECT_THAT(decode_metadata(as_bytes(one + one)), test::Fails(Errc::bad_message));
}

TEST(MetadataTest, ToleratesFieldsItDoesNotKnow) {
  // Field 100, a varint; field 101, three bytes.
  const std::string unknown = std::string("\xA0\x06\x07", 3) + std::string("\xAA\x06\x03xyz", 6);
  const Metadata metadata{"text", "", {}};
  EXPECT_EQ(decode_metadata(as_bytes(unknown + encode(metadata) + unknown)).value(), metadata);
}

TEST(MetadataTest, RefusesMoreThanItsLimit) {
  const std::string text(kMaxMetadataBytes, 'x');
  EXPECT_THAT(decode_metadata(as_bytes(encode(Metadata{text, "", {}}))), test::Fails(Errc::bad_message));
}

TEST(MetadataTest, RefusesDeepNesting) {
  // Unknown groups inside each other: a parser without a limit would follow them down.
  for (const std::size_t depth : {10u, 17u, 100000u}) {
    const std::string nested = std::string(depth, '\x0B' + 8 * 4) + std::string(depth, '\x0C' + 8 * 4);
    EXPECT_EQ(decode_metadata(as_bytes(nested)).has_value(), depth <= 16) << depth;
  }
}

TEST(FooterTest, DecodesToWhatWasEncoded) {
  EXPECT_EQ(decode_footer(as_bytes(encode(sample_footer()))).value(), sample_footer());
  Footer empty;
  empty.index_offset = 128;
  empty.info.run_records = 1;
  EXPECT_EQ(decode_footer(as_bytes(encode(empty))).value(), empty);
}

TEST(FooterTest, RefusesANameASizeAndAMissingIndex) {
  const auto refuses = [](const std::function<void(Footer&)>& change) {
    Footer footer = sample_footer();
    change(footer);
    EXPECT_THAT(decode_footer(as_bytes(encode(footer))), test::Fails(Errc::bad_message));
  };
  refuses([](Footer& footer) { footer.info.name = "x"; });
  refuses([](Footer& footer) { footer.info.file_bytes = 1; });
  refuses([](Footer& footer) { footer.index_offset = 0; });
  EXPECT_FALSE(decode_footer({}));
}

TEST(ShardInfoTest, DecodesToWhatWasEncoded) {
  EXPECT_EQ(decode_shard_info(as_bytes(encode(sample_info()))).value(), sample_info());
}

TEST(ShardInfoTest, HoldsTheLargestShard) {
  ShardInfo info;
  info.name = "x";
  info.records = kMaxShardRecords;
  info.blocks = kMaxShardBlocks;
  info.run_records = kMaxRunRecords;
  info.raw_bytes = std::uint64_t{kMaxShardBlocks} * kMaxSharedBlockBytes;
  info.stored_bytes = info.raw_bytes;
  info.file_bytes = kMaxFileBytes;
  info.max_record_bytes = kMaxSharedBlockBytes;
  info.max_block_raw = kMaxSharedBlockBytes;
  info.max_block_stored = kMaxSharedBlockBytes + 4 * kMaxBlockRecords;
  info.max_block_records = kMaxBlockRecords;
  EXPECT_EQ(decode_shard_info(as_bytes(encode(info))).value(), info);
}

struct Contradiction {
  std::string name;
  void (*change)(ShardInfo&);
};

void PrintTo(const Contradiction& value, std::ostream* os) {
  *os << value.name;
}

TEST(ShardInfoTest, ANameMayBeAsLongAsAPath) {
  ShardInfo info = sample_info();
  info.name = std::string(kMaxShardNameBytes, 'x');
  EXPECT_EQ(decode_shard_info(as_bytes(encode(info))).value().name, info.name);
}

class ShardInfoContradictionTest : public ::testing::TestWithParam<Contradiction> {};

TEST_P(ShardInfoContradictionTest, IsRefusedWithAReason) {
  ShardInfo info = sample_info();
  GetParam().change(info);
  const auto result = decode_shard_info(as_bytes(encode(info)));
  ASSERT_THAT(result, test::Fails(Errc::bad_message));
  EXPECT_FALSE(result.error().detail().empty());
}

const Contradiction kContradictions[] = {
    {"NoName", [](ShardInfo& info) { info.name.clear(); }},
    {"ZeroByteInName", [](ShardInfo& info) { info.name = std::string("a\0b", 3); }},
    {"NameTooLong", [](ShardInfo& info) { info.name = std::string(kMaxShardNameBytes + 1, 'x'); }},
    {"EntryTooLong", [](ShardInfo& info) { info.name = std::string(kMaxManifestEntryBytes, 'x'); }},
    {"NoFileSize", [](ShardInfo& info) { info.file_bytes = 0; }},
    {"FileTooLarge", [](ShardInfo& info) { info.file_bytes = kMaxFileBytes + 1; }},
    {"NoRunLength", [](ShardInfo& info) { info.run_records = 0; }},
    {"RunTooLong", [](ShardInfo& info) { info.run_records = kMaxRunRecords + 1; }},
    {"RunShorterThanABlock", [](ShardInfo& info) { info.run_records = 4; }},
    {"RecordsWithoutBlocks", [](ShardInfo& info) { info.blocks = 0; }},
    {"BlocksWithoutRecords", [](ShardInfo& info) { info.records = 0; }},
    {"MoreBlocksThanRecords", [](ShardInfo& info) { info.blocks = 11; }},
    {"TooManyBlocks", [](ShardInfo& info) { info.blocks = std::uint64_t{kMaxShardBlocks} + 1; }},
    {"BlocksTooSmallForTheRecords", [](ShardInfo& info) { info.max_block_records = 2; }},
    {"NoRecordsInTheLargestBlock", [](ShardInfo& info) { info.max_block_records = 0; }},
    {"BlockLargerThanTheShard", [](ShardInfo& info) { info.max_block_records = 11; }},
    {"MinimumAboveMaximum", [](ShardInfo& info) { info.min_record_bytes = 41; }},
    {"RecordsTooSmallForTheBytes", [](ShardInfo& info) { info.max_record_bytes = 9; }},
    {"RecordsTooLargeForTheBytes", [](ShardInfo& info) { info.min_record_bytes = 11; }},
    {"RecordLargerThanItsBlock", [](ShardInfo& info) { info.max_block_raw = 39; }},
    {"BlockOfMoreBytesThanTheShard", [](ShardInfo& info) { info.max_block_raw = 101; }},
    {"BlocksTooSmallForTheBytes", [](ShardInfo& info) { info.max_block_stored = 22; }},
    {"StoredBlockLargerThanTheShard", [](ShardInfo& info) { info.max_block_stored = 91; }},
    {"RecordCountThatWraps", [](ShardInfo& info) { info.records = ~0ull; }},
    {"ByteCountThatWraps", [](ShardInfo& info) { info.raw_bytes = ~0ull; }},
};

INSTANTIATE_TEST_SUITE_P(All, ShardInfoContradictionTest, ::testing::ValuesIn(kContradictions),
                         [](const auto& instance) { return instance.param.name; });

TfrecordFacts sample_facts() {
  TfrecordFacts facts{sample_info(), 0x89ABCDEFu};
  facts.info.file_bytes = facts.info.raw_bytes + facts.info.records * kTfrecordFrameBytes;
  facts.info.stored_bytes = facts.info.file_bytes;
  facts.info.max_block_stored = 100;
  return facts;
}

TEST(TfrecordFactsTest, DecodeToWhatWasEncoded) {
  EXPECT_EQ(decode_tfrecord_facts(as_bytes(encode(sample_facts()))).value(), sample_facts());
}

TEST(TfrecordFactsTest, AreRefusedWhereFramesAndRecordsAreNotTheFile) {
  const auto refuses = [](auto change) {
    TfrecordFacts facts = sample_facts();
    change(facts.info);
    EXPECT_THAT(decode_tfrecord_facts(as_bytes(encode(facts))), test::Fails(Errc::bad_message));
  };
  refuses([](ShardInfo& info) { info.name.clear(); });
  refuses([](ShardInfo& info) { ++info.file_bytes; });
  refuses([](ShardInfo& info) { --info.stored_bytes; });
  refuses([](ShardInfo& info) { info.file_bytes = info.stored_bytes = info.file_bytes + 1; });
  refuses([](ShardInfo& info) { info.file_bytes = info.stored_bytes = info.raw_bytes - 1; });
  refuses([](ShardInfo& info) { ++info.records; });
}

TEST(MessageTest, EveryTruncationAndEveryFlippedBitParsesOrFailsCleanly) {
  const std::string good = encode(sample_info());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto result = decode_shard_info(as_bytes(std::string_view(good).substr(0, size)));
    if (!result) {
      ASSERT_THAT(result, test::Fails(Errc::bad_message));
    }
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const auto result = decode_shard_info(as_bytes(bad));
    if (!result) {
      ASSERT_THAT(result, test::Fails(Errc::bad_message));
    }
  }
}

}  // namespace
}  // namespace dovetail::format
