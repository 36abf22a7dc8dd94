// SPDX-License-Identifier: Apache-2.0
// Damage of every kind done to small whole files: it is reported, or it has changed nothing.
#include <algorithm>
#include <string>

#include "format/crc32c/crc32c.h"
#include "format/endian.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"

namespace dovetail::format {
namespace {

using test::Bytes;
using test::DecodedShard;
using test::make_shard;
using test::prose;
using test::read_shard;
using test::SampleShard;
using test::ShardSpec;

/// Two blocks with tables, one of one size, one compressed.
TEST(CorruptionTest, EveryFlippedBitIsReportedUnlessItIsPadding) {
  const SampleShard shard = make_shard(test::small_spec());
  const DecodedShard good = read_shard(shard.bytes).value();
  const std::vector<bool> padding = test::padding_of(good, shard.bytes.size());
  Bytes bytes = shard.bytes;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto decoded = read_shard(bytes);
    ASSERT_EQ(decoded.has_value(), padding[bit / 8]) << "bit " << bit;
    if (decoded) {
      ASSERT_EQ(decoded->records, good.records);
    } else {
      ASSERT_THAT(decoded, test::Fails(ErrorKind::damaged));
    }
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

TEST(CorruptionTest, EveryShorterFileIsReported) {
  const Bytes bytes = make_shard(test::small_spec()).bytes;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = read_shard(ByteView(bytes).first(size));
    ASSERT_THAT(decoded, test::Fails(ErrorKind::damaged)) << size;
    if (size >= kFileHeaderBytes) {
      ASSERT_THAT(decoded, test::Fails(Errc::unfinished));
    }
  }
}

TEST(CorruptionTest, EveryMissingPieceIsReported) {
  const Bytes bytes = make_shard(test::small_spec()).bytes;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kAlignment) {
    for (std::size_t end = begin + kAlignment; end <= bytes.size(); end += kAlignment) {
      Bytes cut = bytes;
      cut.erase(cut.begin() + static_cast<std::ptrdiff_t>(begin), cut.begin() + static_cast<std::ptrdiff_t>(end));
      ASSERT_FALSE(read_shard(cut)) << begin << " to " << end;
    }
  }
}

TEST(CorruptionTest, AnythingAppendedIsReported) {
  const Bytes bytes = make_shard(test::small_spec()).bytes;
  Bytes longer = bytes;
  longer.insert(longer.end(), 64, std::byte{0});
  EXPECT_THAT(read_shard(longer), test::Fails(Errc::unfinished));
  Bytes twice = bytes;
  twice.insert(twice.end(), bytes.begin(), bytes.end());
  EXPECT_THAT(read_shard(twice), test::Fails(Errc::bad_length));
}

/// Copies the bytes of one block over another of the same size.
void copy_block(const DecodedShard& from_shard, ByteView from, std::size_t from_block, const DecodedShard& to_shard,
                Bytes& to, std::size_t to_block) {
  const BlockHeader& source = from_shard.blocks[from_block];
  const BlockHeader& target = to_shard.blocks[to_block];
  ASSERT_EQ(source.span_bytes(), target.span_bytes());
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source.offset), source.span_bytes(),
              to.begin() + static_cast<std::ptrdiff_t>(target.offset));
}

TEST(CorruptionTest, SwappedRepeatedAndForeignBlocksAreReported) {
  ShardSpec spec{.records = {"aaaa", "bbbb", "cccc", "dddd"}};
  const SampleShard shard = make_shard(spec);
  const DecodedShard good = read_shard(shard.bytes).value();
  spec.shard_number = 4;
  const SampleShard other = make_shard(spec);
  const DecodedShard other_good = read_shard(other.bytes).value();

  Bytes repeated = shard.bytes;
  copy_block(good, shard.bytes, 0, good, repeated, 1);
  EXPECT_THAT(read_shard(repeated), test::Fails(Errc::misplaced_block));
  Bytes swapped = repeated;
  copy_block(good, shard.bytes, 1, good, swapped, 0);
  EXPECT_THAT(read_shard(swapped), test::Fails(Errc::misplaced_block));
  Bytes foreign = shard.bytes;
  copy_block(other_good, other.bytes, 1, good, foreign, 1);
  EXPECT_THAT(read_shard(foreign), test::Fails(Errc::misplaced_block));
}

TEST(CorruptionTest, TheEndOfAnotherFileIsReported) {
  ShardSpec spec = test::small_spec();
  const SampleShard shard = make_shard(spec);
  spec.shard_number = 4;
  const SampleShard other = make_shard(spec);
  const DecodedShard good = read_shard(shard.bytes).value();
  ASSERT_EQ(shard.bytes.size(), other.bytes.size());
  Bytes mixed = shard.bytes;
  const auto tail = static_cast<std::ptrdiff_t>(good.tail.footer.index_offset);
  std::copy(other.bytes.begin() + tail, other.bytes.end(), mixed.begin() + tail);
  EXPECT_THAT(read_shard(mixed), test::Fails(Errc::misplaced_block));
}

/// A file that an attacker edits: checksums are made good again after every change.
class ForgedFile {
 public:
  explicit ForgedFile(const ShardSpec& spec) : good_(make_shard(spec).bytes), shard_(read_shard(good_).value()) {}

  std::size_t size() const { return good_.size(); }
  Bytes with(const std::vector<std::pair<std::size_t, std::byte>>& changes) const {
    Bytes bytes = good_;
    for (const auto& [at, value] : changes) bytes[at] = value;
    seal_structure(bytes, 0);
    seal_block(bytes, kFileHeaderBytes, encode(shard_.metadata).size());
    for (const BlockHeader& block : shard_.blocks) seal_block(bytes, block.offset, block.body_bytes());
    const std::uint64_t index = shard_.tail.footer.index_offset;
    seal_block(bytes, index, shard_.index.size() * kIndexEntryBytes);
    Footer footer = shard_.tail.footer;
    footer.info.file_bytes = 0;
    const std::uint64_t footer_bytes = encode(footer).size();
    const std::uint64_t footer_offset = shard_.tail.trailer.footer_offset;
    // The checksum of the index is the last field of the message.
    std::copy_n(bytes.data() + index + block_header::kPayloadCrc, sizeof(std::uint32_t),
                bytes.data() + footer_offset + kBlockHeaderBytes + footer_bytes - sizeof(std::uint32_t));
    seal_block(bytes, footer_offset, footer_bytes);
    seal_structure(bytes, bytes.size() - kTrailerBytes);
    return bytes;
  }

 private:
  static void seal_structure(Bytes& bytes, std::uint64_t offset) {
    store_le(bytes.data() + offset + 60, crc32c(ByteView(bytes).subspan(offset, 60)));
  }
  static void seal_block(Bytes& bytes, std::uint64_t offset, std::uint64_t body_bytes) {
    const ByteView body = ByteView(bytes).subspan(offset + kBlockHeaderBytes, body_bytes);
    store_le(bytes.data() + offset + block_header::kPayloadCrc, crc32c(body));
    seal_structure(bytes, offset);
  }

  Bytes good_;
  DecodedShard shard_;
};

TEST(ForgedFileTest, NoSingleByteLeadsOutOfTheFile) {
  const ForgedFile file(test::small_spec());
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x3F, 0x40, 0x7F, 0x80, 0xC0, 0xFF}) {
      const auto decoded = read_shard(file.with({{at, static_cast<std::byte>(value)}}));
      if (!decoded) {
        ASSERT_THAT(decoded, test::Fails(ErrorKind::damaged));
      }
    }
  }
}

TEST(ForgedFileTest, NoCombinationOfBytesLeadsOutOfTheFile) {
  const ForgedFile file(test::small_spec());
  test::Draws draws(7);
  for (int round = 0; round < 10000; ++round) {
    std::vector<std::pair<std::size_t, std::byte>> changes;
    for (std::uint64_t change = draws.below(6) + 1; change > 0; --change) {
      changes.emplace_back(draws.below(file.size()), static_cast<std::byte>(draws.below(256)));
    }
    const auto decoded = read_shard(file.with(changes));
    if (!decoded) {
      ASSERT_THAT(decoded, test::Fails(ErrorKind::damaged)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace dovetail::format
