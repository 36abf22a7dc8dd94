// SPDX-License-Identifier: Apache-2.0
// Every kind of damage done to small shards at every place: what was not touched is recovered, in order and alone, and what
// is missing is told.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "tests/format/golden_shards.h"
#include "tests/support/sanitizers.h"
#include "tests/writer/test_files.h"

namespace dovetail {
namespace {

using format::kAlignment;
using format::kBlockHeaderBytes;
using format::test::Bytes;
using format::test::DecodedShard;
using format::test::make_shard;
using format::test::noise;
using format::test::prose;
using format::test::Records;
using format::test::ShardSpec;

constexpr std::size_t kPage = 4096;

// Recovery makes its output durable; in memory that costs nothing.
const bool kInMemory = ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 1) == 0;

/// A part of a file, and where it lies there.
struct Piece {
  std::size_t offset = 0;
  std::size_t bytes = 0;  // without padding
  std::size_t span = 0;
};

struct Sample {
  std::string name;
  Bytes bytes;
  DecodedShard decoded;
  Piece metadata;
  std::vector<Piece> data;
  std::vector<Piece> blocks;  // of all types, in the order of the file

  explicit Sample(std::string sample_name, Bytes file) : name(std::move(sample_name)), bytes(std::move(file)) {
    decoded = format::test::read_shard(bytes).value();
    metadata = piece_at(format::kFileHeaderBytes);
    for (std::size_t at = metadata.offset; at + format::kTrailerBytes < bytes.size(); at += blocks.back().span) {
      blocks.push_back(piece_at(at));
    }
    for (const format::BlockHeader& block : decoded.blocks) data.push_back(piece_at(block.offset));
  }

  Piece piece_at(std::size_t offset) const {
    const auto header = format::decode_block_header(ByteView(bytes).subspan(offset).first<kBlockHeaderBytes>()).value();
    return {offset, static_cast<std::size_t>(kBlockHeaderBytes + header.body_bytes()),
            static_cast<std::size_t>(header.span_bytes())};
  }
  ByteView piece(const Piece& piece) const { return ByteView(bytes).subspan(piece.offset, piece.span); }
};

Sample sample_of(std::string name, const ShardSpec& spec) {
  return Sample(std::move(name), make_shard(spec).bytes);
}

/// Three kinds of blocks, a few hundred bytes.
ShardSpec small_spec() {
  ShardSpec spec;
  spec.codec = Codec::snappy;
  spec.records = {"dove", "tails", "pin", "saw", "", "glue", prose(150, 1), prose(90, 2)};
  return spec;
}

ShardSpec of_pages(std::uint64_t seed) {
  ShardSpec spec;
  spec.run_records = 6;
  for (std::uint64_t i = 0; i < 60; ++i) spec.records.push_back(noise(i * 37 % 700, seed * 1000 + i));
  return spec;
}

/// The same sizes with other bytes.
ShardSpec with_other_bytes(ShardSpec spec) {
  for (std::string& record : spec.records) {
    for (char& c : record) c = static_cast<char>(c ^ 0x15);
  }
  return spec;
}

/// The same dataset and shard number, and nothing else in common.
ShardSpec with_other_sizes(ShardSpec spec) {
  for (std::size_t i = 0; i < spec.records.size(); ++i) spec.records[i] = noise(i * 29 % 90, 7000 + i);
  return spec;
}

std::vector<Sample> layouts() {
  std::vector<Sample> samples;
  for (const format::test::GoldenShard& golden : format::test::golden_shards()) {
    if (golden.name != format::kManifestName) samples.emplace_back(golden.name, golden.bytes);
  }
  samples.push_back(sample_of("small", small_spec()));
  return samples;
}

/// Whether the bytes of a piece, padding aside, are in the file where a block may be.
bool is_in(const Bytes& file, ByteView piece) {
  for (std::size_t at = 0; at + piece.size() <= file.size(); at += kAlignment) {
    if (std::memcmp(&file[at], piece.data(), piece.size()) == 0) return true;
  }
  return false;
}

enum class Claims {
  all,
  /// Records of another version may be among those of the sample; then the report says that something is wrong.
  may_mix_versions,
};

/// Recovers damaged files and compares the outcome with what was not touched.
class Checker {
 public:
  explicit Checker(const Sample& sample) : sample_(sample) {}

  void check(const Bytes& damaged, Claims claims = Claims::all) {
    ++count_;
    const std::string source = folder_ / "s.dvt";
    const std::string target = folder_ / "out.dvt";
    test::write_file(source, as_chars(damaged));
    const auto report = recover(source, target, {.overwrite = true});

    std::vector<bool> untouched;
    for (const Piece& piece : sample_.data) {
      untouched.push_back(is_in(damaged, ByteView(sample_.bytes).subspan(piece.offset, piece.bytes)));
    }
    if (!report) {
      EXPECT_TRUE(report.error().is(Errc::not_dovetail)) << report.error().to_string();
      EXPECT_EQ(std::count(untouched.begin(), untouched.end(), true), 0);
      return;
    }
    const auto verdict = verify(target, 1);
    ASSERT_TRUE(verdict) << verdict.error().to_string();
    EXPECT_TRUE(verdict->ok()) << verdict->damaged.front().reason;
    const DecodedShard out = test::read_shard_file(target);
    EXPECT_EQ(out.records.size(), report->records);
    EXPECT_LE(report->checked_bytes, 9 * report->source_bytes);

    Records wanted;
    std::vector<bool> saved;
    for (std::size_t b = 0; b < untouched.size(); ++b) {
      const format::BlockHeader& block = sample_.decoded.blocks[b];
      saved.insert(saved.end(), block.records, untouched[b]);
      for (std::uint32_t i = 0; untouched[b] && i < block.records; ++i) {
        wanted.push_back(sample_.decoded.records[block.first_record + i]);
      }
    }
    if (claims == Claims::may_mix_versions) {
      EXPECT_TRUE(out.records == wanted || !report->ok());
      return;
    }
    EXPECT_TRUE(out.records == wanted) << out.records.size() << " records instead of " << wanted.size();
    compare_regions(saved, *report);
    if (is_in(damaged, ByteView(sample_.bytes).subspan(sample_.metadata.offset, sample_.metadata.bytes))) {
      EXPECT_EQ(out.metadata.record_type, sample_.decoded.metadata.record_type);
      EXPECT_EQ(out.metadata.user, sample_.decoded.metadata.user);
    }
  }

  std::size_t count() const { return count_; }

 private:
  // Each record is either saved or in one region; those behind the last region only where nothing tells how many there were.
  void compare_regions(const std::vector<bool>& saved, const RecoverReport& report) {
    std::vector<int> lost(saved.size(), 0);
    for (const LostRegion& region : report.lost) {
      EXPECT_FALSE(region.reason.empty());
      EXPECT_LE(region.first_record, region.end_record);
      for (std::uint64_t i = region.first_record; i < region.end_record; ++i) {
        ASSERT_LT(i, lost.size());
        ++lost[i];
      }
    }
    std::size_t told = saved.size();
    if (report.expected_records) {
      EXPECT_EQ(*report.expected_records, saved.size());
    } else {
      EXPECT_FALSE(report.ok());
      while (told > 0 && !saved[told - 1] && lost[told - 1] == 0) --told;
    }
    for (std::size_t i = 0; i < told; ++i) ASSERT_EQ(lost[i], saved[i] ? 0 : 1) << "record " << i;
  }

  const Sample& sample_;
  const test::TempFolder folder_;
  std::size_t count_ = 0;
};

/// Runs one kind of damage over layouts, and stops at the first case that fails.
void for_each(const std::vector<Sample>& samples, const std::function<void(const Sample&, Checker&)>& damage) {
  std::size_t count = 0;
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    Checker checker(sample);
    damage(sample, checker);
    if (::testing::Test::HasFailure()) return;
    count += checker.count();
  }
  std::printf("%zu damaged files\n", count);
}

// For loops over cases: says which one failed and ends them.
#define CHECK_CASE(checker, bytes, where)        \
  {                                              \
    SCOPED_TRACE(::testing::Message() << where); \
    (checker).check(bytes);                      \
    if (::testing::Test::HasFailure()) return;   \
  }

Bytes::iterator at(Bytes& bytes, std::size_t offset) {
  return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
}

TEST(RecoverMatrixTest, AnUndamagedShardLosesNothing) {
  for (const Sample& sample : layouts()) {
    SCOPED_TRACE(sample.name);
    const test::TempFolder folder;
    test::write_file(folder / "s.dvt", as_chars(sample.bytes));
    const auto report = recover(folder / "s.dvt", folder / "out.dvt");
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->lost, std::vector<LostRegion>());
    EXPECT_EQ(report->records, sample.decoded.records.size());
    const DecodedShard out = test::read_shard_file(folder / "out.dvt");
    EXPECT_EQ(out.records, sample.decoded.records);
    EXPECT_EQ(out.tail.footer.info.fingerprint, sample.decoded.tail.footer.info.fingerprint);
    EXPECT_EQ(out.tail.footer.info.run_records, sample.decoded.tail.footer.info.run_records);
    EXPECT_EQ(out.header.shard_number, sample.decoded.header.shard_number);
    EXPECT_NE(out.header.dataset_id, sample.decoded.header.dataset_id);
  }
}

TEST(RecoverMatrixTest, AFileThatIsCutAnywhereGivesItsWholeBlocks) {
  for_each(layouts(), [](const Sample& sample, Checker& checker) {
    const std::size_t step = sample.bytes.size() > 16'000 || testing::kSanitized ? 61 : 1;
    for (std::size_t size = 0; size < sample.bytes.size(); size += step) {
      CHECK_CASE(checker, Bytes(sample.bytes.begin(), sample.bytes.begin() + static_cast<std::ptrdiff_t>(size)), size);
    }
  });
}

TEST(RecoverMatrixTest, TheHeaderOfACutIndexTellsHowManyRecordsThereWere) {
  const Sample sample = sample_of("small", small_spec());
  const test::TempFolder folder;
  const std::size_t index = sample.decoded.tail.footer.index_offset;
  test::write_file(folder / "s.dvt", as_chars(sample.bytes).substr(0, index + kBlockHeaderBytes + 1));
  const auto report = recover(folder / "s.dvt", folder / "out.dvt");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->expected_records, sample.decoded.records.size());
  EXPECT_EQ(report->records, sample.decoded.records.size());
  ASSERT_EQ(report->lost.size(), 1u);
  EXPECT_EQ(report->lost[0].offset, index);
}

TEST(RecoverMatrixTest, FlippedBitsCostTheirBlockAtMost) {
  for_each(layouts(), [](const Sample& sample, Checker& checker) {
    if (sample.bytes.size() > 16'000) return;
    Bytes bytes = sample.bytes;
    const bool every_bit = sample.bytes.size() < 2000 && !testing::kSanitized;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += every_bit ? 1 : 7) {
      const std::byte mask = std::byte{1} << (bit % 8);
      bytes[bit / 8] ^= mask;
      CHECK_CASE(checker, bytes, "bit " << bit);
      bytes[bit / 8] ^= mask;
    }
  });
}

TEST(RecoverMatrixTest, PagesOfZerosCostTheBlocksThatTheyTouch) {
  std::vector<Sample> samples = layouts();
  samples.push_back(sample_of("pages", of_pages(1)));
  for_each(samples, [](const Sample& sample, Checker& checker) {
    for (std::size_t begin = 0; begin < sample.bytes.size(); begin += kAlignment) {
      Bytes bytes = sample.bytes;
      std::fill_n(at(bytes, begin), std::min(kPage, bytes.size() - begin), std::byte{0});
      CHECK_CASE(checker, bytes, "page at " << begin);
    }
  });
}

TEST(RecoverMatrixTest, StalePagesAreNotTakenForTheFile) {
  ShardSpec other_number = of_pages(2);
  other_number.shard_number = 4;
  const Sample sample = sample_of("pages", of_pages(1));
  const std::size_t end_parts = sample.blocks[sample.blocks.size() - 2].offset;
  const struct {
    const char* name;
    ShardSpec spec;
    bool same_id;
  } others[] = {{"another shard", other_number, false},
                {"the same shard with other bytes", with_other_bytes(of_pages(1)), true},
                {"the same shard with other records", of_pages(3), true},
                {"the same shard with other sizes", with_other_sizes(of_pages(1)), true}};
  Checker checker(sample);
  for (const auto& other : others) {
    const Bytes stale = make_shard(other.spec).bytes;
    for (std::size_t begin = 0; begin < std::min(sample.bytes.size(), stale.size()); begin += kPage) {
      const std::size_t size = std::min({kPage, sample.bytes.size() - begin, stale.size() - begin});
      Bytes bytes = sample.bytes;
      std::copy_n(stale.begin() + static_cast<std::ptrdiff_t>(begin), size, at(bytes, begin));
      SCOPED_TRACE(::testing::Message() << other.name << ", page at " << begin);
      // Where the index itself is of the other version, nothing tells the blocks in its page apart.
      const bool index_is_touched = begin + size > end_parts;
      checker.check(bytes, other.same_id && index_is_touched ? Claims::may_mix_versions : Claims::all);
      if (HasFailure()) return;
    }
  }
}

TEST(RecoverMatrixTest, DroppedSwappedAndRepeatedBlocksCostNoOthers) {
  for_each(layouts(), [](const Sample& sample, Checker& checker) {
    const auto join = [&](const std::vector<Piece>& pieces) {
      Bytes bytes(sample.bytes.begin(), sample.bytes.begin() + format::kFileHeaderBytes);
      for (const Piece& piece : pieces) {
        const ByteView block = sample.piece(piece);
        bytes.insert(bytes.end(), block.begin(), block.end());
      }
      bytes.insert(bytes.end(), sample.bytes.end() - format::kTrailerBytes, sample.bytes.end());
      return bytes;
    };
    for (std::size_t i = 0; i < sample.blocks.size(); ++i) {
      for (std::size_t j = 0; j < sample.blocks.size(); ++j) {
        std::vector<Piece> dropped = sample.blocks;
        dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
        if (i != j) dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
        CHECK_CASE(checker, join(dropped), i << " and " << j << " dropped");
        std::vector<Piece> swapped = sample.blocks;
        std::swap(swapped[i], swapped[j]);
        CHECK_CASE(checker, join(swapped), i << " and " << j << " swapped");
        std::vector<Piece> repeated = sample.blocks;
        repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(j), sample.blocks[i]);
        CHECK_CASE(checker, join(repeated), i << " repeated before " << j);
        std::vector<Piece> covered = sample.blocks;
        covered[j] = sample.blocks[i];
        CHECK_CASE(checker, join(covered), i << " in place of " << j);
      }
    }
  });
}

TEST(RecoverMatrixTest, BlocksOfOtherFilesAreLeftOut) {
  ShardSpec base = small_spec();
  base.records.resize(7);
  ShardSpec single;
  single.records = {"the only record"};
  for (const ShardSpec& spec : {base, single, of_pages(1)}) {
    const Sample sample = sample_of("sample", spec);
    ShardSpec other_number = with_other_bytes(spec);
    other_number.shard_number = 9;
    Checker checker(sample);
    for (const ShardSpec& other_spec : {other_number, with_other_bytes(spec), with_other_sizes(spec)}) {
      const Sample other = sample_of("other", other_spec);
      for (std::size_t i = 0; i < sample.blocks.size(); ++i) {
        for (std::size_t j = 0; j < other.blocks.size(); ++j) {
          const ByteView block = other.piece(other.blocks[j]);
          const Piece& place = sample.blocks[i];
          Bytes inserted = sample.bytes;
          inserted.insert(at(inserted, place.offset), block.begin(), block.end());
          CHECK_CASE(checker, inserted, "block " << j << " of the other file before " << i);
          Bytes replaced = sample.bytes;
          replaced.erase(at(replaced, place.offset), at(replaced, place.offset + place.span));
          replaced.insert(at(replaced, place.offset), block.begin(), block.end());
          CHECK_CASE(checker, replaced, "block " << j << " of the other file in place of " << i);
          if (place.offset + block.size() > sample.bytes.size()) continue;
          Bytes covered = sample.bytes;
          std::copy(block.begin(), block.end(), at(covered, place.offset));
          CHECK_CASE(checker, covered, "block " << j << " of the other file over " << i);
        }
      }
      Bytes other_head = sample.bytes;
      std::copy_n(other.bytes.begin(), format::kFileHeaderBytes, other_head.begin());
      CHECK_CASE(checker, other_head, "the other file's header");
      Bytes other_end = sample.bytes;
      std::copy_n(other.bytes.end() - format::kTrailerBytes, format::kTrailerBytes,
                  other_end.end() - format::kTrailerBytes);
      if (other_spec.shard_number != spec.shard_number) CHECK_CASE(checker, other_end, "the other file's trailer");
    }
  }
}

TEST(RecoverMatrixTest, BytesThatAreDroppedOrInsertedCostTheBlocksThatTheyTouch) {
  for_each(layouts(), [](const Sample& sample, Checker& checker) {
    for (std::size_t place = 0; place <= sample.bytes.size(); place += kAlignment) {
      for (const std::size_t size : {kAlignment, kPage}) {
        Bytes shorter = sample.bytes;
        shorter.erase(at(shorter, place), at(shorter, std::min(place + size, shorter.size())));
        CHECK_CASE(checker, shorter, size << " bytes dropped at " << place);
        Bytes longer = sample.bytes;
        longer.insert(at(longer, place), size, std::byte{0xAB});
        CHECK_CASE(checker, longer, size << " bytes inserted at " << place);
      }
    }
  });
}

/// One of many kinds of damage, at a random place; all but flipped bits in units in which disks and file systems lose bytes.
void damage_at_random(Bytes& bytes, const Bytes& foreign, format::test::Draws& draws) {
  if (bytes.size() < kPage / 2) return;
  const std::size_t unit = draws.below(2) == 0 ? kAlignment : 512;
  const std::size_t size = std::min(bytes.size() / 2, unit * (1 + draws.below(8)));
  const std::size_t begin = draws.below((bytes.size() - size) / kAlignment + 1) * kAlignment;
  const std::size_t other = draws.below((bytes.size() - size) / kAlignment + 1) * kAlignment;
  const Bytes piece(at(bytes, begin), at(bytes, begin + size));
  switch (draws.below(8)) {
    case 0:
      bytes[draws.below(bytes.size())] ^= std::byte{1} << draws.below(8);
      break;
    case 1:
      std::fill_n(at(bytes, begin), size, std::byte{0});
      break;
    case 2:
      bytes.erase(at(bytes, begin), at(bytes, begin + size));
      break;
    case 3:
      bytes.insert(at(bytes, begin), size, static_cast<std::byte>(draws.below(256)));
      break;
    case 4:
      bytes.insert(at(bytes, other), piece.begin(), piece.end());
      break;
    case 5:
      std::copy(piece.begin(), piece.end(), at(bytes, other));
      break;
    case 6:
      bytes.resize(draws.below(8) == 0 ? begin : bytes.size() - size);
      break;
    case 7:
      std::copy_n(foreign.begin() + static_cast<std::ptrdiff_t>(std::min(begin, foreign.size() - size)), size,
                  at(bytes, other));
      break;
  }
}

/// Whether more headers in a file are another file's than its own: then it is rather that one.
bool is_mostly_foreign(const Bytes& bytes, std::uint64_t file_id) {
  std::int64_t own = 0;
  for (std::size_t place = 0; place + kBlockHeaderBytes <= bytes.size(); place += kAlignment) {
    const auto header = format::decode_block_header(ByteView(bytes).subspan(place).first<kBlockHeaderBytes>());
    if (header) own += header->file_id == file_id ? 1 : -1;
  }
  return own <= 3;  // the ends of a file count as well
}

TEST(RecoverMatrixTest, SeveralDamagesAtOnceCostNoMoreThanTheyTouch) {
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  format::test::Draws draws(seed);
  ShardSpec foreign_spec = of_pages(5);
  foreign_spec.shard_number = 8;
  const Bytes foreign = make_shard(foreign_spec).bytes;
  std::vector<Sample> samples;
  samples.push_back(sample_of("pages", of_pages(1)));
  for (Sample& sample : layouts()) {
    if (sample.bytes.size() > kPage && sample.bytes.size() < foreign.size()) samples.push_back(std::move(sample));
  }
  for_each(samples, [&](const Sample& sample, Checker& checker) {
    for (int i = 0; i < (testing::kSanitized ? 500 : 4000); ++i) {
      Bytes bytes = sample.bytes;
      const std::uint64_t damages = 1 + draws.below(6);
      for (std::uint64_t k = 0; k < damages; ++k) damage_at_random(bytes, foreign, draws);
      if (is_mostly_foreign(bytes, sample.decoded.tail.trailer.file_id)) continue;
      CHECK_CASE(checker, bytes, "seed " << seed << ", case " << i);
    }
  });
}

TEST(RecoverMatrixTest, AnUnfinishedFileLosesOnlyWhatIsDamagedInIt) {
  const Sample whole = sample_of("small", small_spec());
  const std::size_t data_end = whole.data.back().offset + whole.data.back().span;
  Checker checker(whole);
  Bytes bytes = whole.bytes;
  bytes.resize(data_end);
  CHECK_CASE(checker, bytes, "nothing");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x40};
    CHECK_CASE(checker, bytes, "byte " << i);
    bytes[i] ^= std::byte{0x40};
  }
  for (const Piece& piece : whole.blocks) {
    if (piece.offset >= data_end) continue;
    Bytes dropped = bytes;
    dropped.erase(at(dropped, piece.offset), at(dropped, piece.offset + piece.span));
    CHECK_CASE(checker, dropped, "block at " << piece.offset << " dropped");
  }
}

}  // namespace
}  // namespace dovetail
