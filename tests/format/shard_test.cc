// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/shard_decoder.h"
#include "format/shard_encoder.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::DecodedShard;
using test::make_shard;
using test::noise;
using test::prose;
using test::read_shard;
using test::Records;
using test::SampleShard;
using test::ShardSpec;

TEST(ShardTest, GivesBackWhatWasPutIn) {
  const Records cases[] = {
      {},
      {""},
      {"a"},
      {"abc", "def", "ghi", "jkl", "mno"},
      {"a", "", "bcd", prose(500, 1), noise(70, 2), "", ""},
      {prose(70000, 3), noise(70000, 4), "x"},
  };
  for (const Records& records : cases) {
    for (const Codec codec : {Codec::none, Codec::snappy, Codec::zstd}) {
      ShardSpec spec{.records = records, .codec = codec};
      const SampleShard shard = make_shard(spec);
      const DecodedShard decoded = read_shard(shard.bytes).value();
      EXPECT_EQ(decoded.records, records);
      EXPECT_EQ(decoded.metadata, spec.metadata);
      EXPECT_EQ(decoded.header.dataset_id, test::sample_dataset_id());
      EXPECT_EQ(decoded.header.shard_number, 3u);
      EXPECT_EQ(decoded.tail.footer.info, shard.info);
      EXPECT_EQ(shard.info.file_bytes, shard.bytes.size());
    }
  }
}

TEST(ShardTest, GivesBackRandomRecordsInRandomBlocks) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Draws draws(seed);
    ShardSpec spec{.codec = static_cast<Codec>(draws.below(3)),
                   .run_records = 1 + draws.below(20),
                   .block_records = static_cast<std::uint32_t>(1 + draws.below(10))};
    const bool fixed_size = draws.below(4) == 0;
    const std::size_t largest = draws.below(300);
    for (std::uint64_t i = draws.below(60); i > 0; --i) {
      const std::size_t size = fixed_size ? largest : draws.below(largest + 1);
      spec.records.push_back(draws.below(2) == 0 ? noise(size, draws.next()) : prose(size, draws.next()));
    }
    const SampleShard shard = make_shard(spec);
    const auto decoded = read_shard(shard.bytes);
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    ASSERT_EQ(decoded->records, spec.records);
    ASSERT_EQ(decoded->tail.footer.info, shard.info);
  }
}

TEST(ShardTest, CountsWhatItHolds) {
  ShardSpec spec{.records = {"abc", "defgh", "", "i", "jk"}};
  const ShardInfo info = make_shard(spec).info;
  EXPECT_EQ(info.records, 5u);
  EXPECT_EQ(info.blocks, 3u);
  EXPECT_EQ(info.run_records, 4u);
  EXPECT_EQ(info.raw_bytes, 11u);
  EXPECT_EQ(info.stored_bytes, 11u + 16u);  // two blocks have tables
  EXPECT_EQ(info.min_record_bytes, 0u);
  EXPECT_EQ(info.max_record_bytes, 5u);
  EXPECT_EQ(info.max_block_raw, 8u);
  EXPECT_EQ(info.max_block_stored, 16u);
  EXPECT_EQ(info.max_block_records, 2u);
  EXPECT_EQ(info.file_id, make_file_id(test::sample_dataset_id(), 3));
  EXPECT_EQ(info.name, "");
}

TEST(ShardTest, PutsEveryStructureAtAMultipleOf64) {
  ShardSpec spec{.records = {noise(1, 1), noise(64, 2), noise(65, 3), noise(127, 4), noise(128, 5)},
                 .block_records = 1};
  const SampleShard shard = make_shard(spec);
  const DecodedShard decoded = read_shard(shard.bytes).value();
  for (const BlockHeader& block : decoded.blocks) EXPECT_EQ(block.offset % kAlignment, 0u);
  EXPECT_EQ(shard.bytes.size() % kAlignment, 0u);
  const std::vector<bool> padding = test::padding_of(decoded, shard.bytes.size());
  for (std::size_t i = 0; i < padding.size(); ++i) {
    if (!padding[i]) continue;
    ASSERT_EQ(shard.bytes[i], std::byte{0}) << i;
  }
}

TEST(ShardTest, IsSmallWhenItIsEmpty) {
  ShardSpec spec{.metadata = {}};
  const SampleShard shard = make_shard(spec);
  // File header, empty metadata block, empty index, footer of one line, trailer.
  EXPECT_EQ(shard.bytes.size(), 64u + 64u + 64u + 128u + 64u);
  EXPECT_EQ(read_shard(shard.bytes).value().records, Records{});
}

TEST(ShardTest, FingerprintDoesNotDependOnCodecBlocksRunsOrPlace) {
  ShardSpec spec;
  for (std::uint64_t i = 0; i < 40; ++i) spec.records.push_back(prose(i * 3, i));
  const std::uint64_t fingerprint = make_shard(spec).info.fingerprint;
  spec.codec = Codec::snappy;
  spec.block_records = 7;
  spec.run_records = 13;
  spec.shard_number = 8;
  EXPECT_EQ(make_shard(spec).info.fingerprint, fingerprint);
  std::swap(spec.records[1], spec.records[2]);
  EXPECT_NE(make_shard(spec).info.fingerprint, fingerprint);
}

TEST(ShardTest, FingerprintTellsWhereRecordsEnd) {
  RecordFingerprint left, right, none;
  left.add(as_bytes("ab"));
  left.add(as_bytes("c"));
  right.add(as_bytes("a"));
  right.add(as_bytes("bc"));
  EXPECT_NE(left.value(), right.value());
  EXPECT_EQ(left.value() >> 32, right.value() >> 32);
  EXPECT_EQ(left.value() >> 32, crc32c(as_bytes("abc")));
  EXPECT_EQ(none.value(), 0u);
  none.add({});
  EXPECT_NE(none.value(), 0u);
}

TEST(ShardEncoderTest, RefusesMetadataAboveTheLimit) {
  for (const std::size_t size : {std::size_t{kMaxMetadataBytes}, std::size_t{kMaxMetadataBytes} + 1}) {
    ShardEncoder encoder(test::sample_dataset_id(), 0);
    Bytes out;
    EXPECT_THAT(encoder.begin(Metadata{"", "", {{"k", std::string(size, 'x')}}}, out),
                test::Fails(Errc::invalid_option));
    EXPECT_TRUE(out.empty());
  }
}

TEST(ShardEncoderTest, GivesTheSameFileWhereverTheCallerClearsTheOutput) {
  ShardSpec spec{.records = {"abc", "de", "f", prose(300, 1)}};
  const SampleShard whole = make_shard(spec);
  Bytes pieces, out;
  const auto take = [&] {
    pieces.insert(pieces.end(), out.begin(), out.end());
    out.clear();
  };
  ShardEncoder encoder(test::sample_dataset_id(), spec.shard_number);
  encoder.begin(spec.metadata, out).value();
  take();
  for (std::size_t i = 0; i < spec.records.size(); i += 2) {
    encoder.add(test::encode_records({spec.records[i], spec.records[i + 1]}, Codec::none), out).value();
    take();
  }
  encoder.finish(spec.run_records, whole.info.fingerprint, out);
  take();
  EXPECT_EQ(pieces, whole.bytes);
}

}  // namespace
}  // namespace dovetail::format
