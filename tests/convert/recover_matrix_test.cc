// SPDX-License-Identifier: Apache-2.0
// Every kind of damage done to small shards at every place: what was not touched is recovered, in
// order and alone, and what is missing is told.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "tests/damage/damaged_files.h"
#include "tests/support/cases.h"
#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

using format::kAlignment;
using format::kBlockHeaderBytes;
using Sample = SampleFile;

// Recovery makes its output durable; in memory that costs nothing.
const bool kInMemory = ::access("/dev/shm", W_OK) == 0 && ::setenv("TMPDIR", "/dev/shm", 1) == 0;

/// Whether the bytes of a piece, padding aside, are in the file where a block may be.
bool is_in(const Bytes& file, ByteView piece) {
  for (std::size_t at = 0; at + piece.size() <= file.size(); at += kAlignment) {
    if (std::memcmp(&file[at], piece.data(), piece.size()) == 0) return true;
  }
  return false;
}

enum class Claims {
  all,
  /// Records of another version may be among those of the sample; then the report says that
  /// something is wrong.
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
    write_file(source, as_chars(damaged));
    const auto report = recover(source, target, {.overwrite = true});

    std::vector<bool> untouched;
    for (const Piece& piece : sample_.data) {
      untouched.push_back(is_in(damaged, ByteView(sample_.bytes).subspan(piece.offset, piece.bytes)));
    }
    if (!report) {
      EXPECT_THAT(report, ::testing::AnyOf(Fails(Errc::not_dovetail), Fails(Errc::foreign_file)));
      EXPECT_EQ(std::count(untouched.begin(), untouched.end(), true), 0);
      return;
    }
    const auto verdict = verify(target, 1);
    ASSERT_TRUE(verdict) << verdict.error().to_string();
    EXPECT_TRUE(verdict->ok()) << verdict->damaged.front().reason;
    const DecodedShard out = read_shard_file(target);
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
  /// Checks each file that it gets, every fifth under a sanitizer, up to the first that fails.
  Take take() {
    return [this](const Bytes& damaged, const std::string& what) {
      if (kSanitized && ++given_ % 5 != 0) return true;
      SCOPED_TRACE(what);
      check(damaged);
      return !::testing::Test::HasFailure();
    };
  }

 private:
  // Each record is either saved or in one region; those behind the last region only where nothing
  // tells how many there were.
  void compare_regions(const std::vector<bool>& saved, const RecoverReport& report) {
    std::vector<int> lost(saved.size(), 0);
    for (const LostRange& region : report.lost) {
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
  const TempFolder folder_;
  std::size_t given_ = 0;
  std::size_t count_ = 0;
};

void print_count(std::size_t count) {
  std::printf("%zu damaged files\n", count);
}

/// Runs one kind of damage over layouts, and stops at the first case that fails.
void for_each(const std::vector<Sample>& samples, const std::function<void(const Sample&, const Take&)>& damage) {
  std::size_t count = 0;
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    Checker checker(sample);
    damage(sample, checker.take());
    if (::testing::Test::HasFailure()) return;
    count += checker.count();
  }
  print_count(count);
}

TEST(RecoverMatrixTest, AnUndamagedShardLosesNothing) {
  for (const Sample& sample : layouts()) {
    SCOPED_TRACE(sample.name);
    const TempFolder folder;
    write_file(folder / "s.dvt", as_chars(sample.bytes));
    const auto report = recover(folder / "s.dvt", folder / "out.dvt");
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_EQ(report->lost, std::vector<LostRange>());
    EXPECT_EQ(report->records, sample.decoded.records.size());
    const DecodedShard out = read_shard_file(folder / "out.dvt");
    EXPECT_EQ(out.records, sample.decoded.records);
    EXPECT_EQ(out.tail.footer.info.fingerprint, sample.decoded.tail.footer.info.fingerprint);
    EXPECT_EQ(out.tail.footer.info.run_records, sample.decoded.tail.footer.info.run_records);
    EXPECT_EQ(out.header.shard_number, sample.decoded.header.shard_number);
    EXPECT_NE(out.header.dataset_id, sample.decoded.header.dataset_id);
  }
}

TEST(RecoverMatrixTest, AFileThatIsCutAnywhereGivesItsWholeBlocks) {
  for_each(layouts(), [](const Sample& sample, const Take& take) {
    cut(sample.bytes, sample.bytes.size() > 16'000 || kSanitized ? 61 : 1, take);
  });
}

TEST(RecoverMatrixTest, TheHeaderOfACutIndexTellsHowManyRecordsThereWere) {
  const Sample sample = sample_of("small", small_spec());
  const TempFolder folder;
  const std::size_t index = sample.decoded.tail.footer.index_offset;
  write_file(folder / "s.dvt", as_chars(sample.bytes).substr(0, index + kBlockHeaderBytes + 1));
  const auto report = recover(folder / "s.dvt", folder / "out.dvt");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->expected_records, sample.decoded.records.size());
  EXPECT_EQ(report->records, sample.decoded.records.size());
  ASSERT_EQ(report->lost.size(), 1u);
  EXPECT_EQ(report->lost[0].offset, index);
}

TEST(RecoverMatrixTest, FlippedBitsCostTheirBlockAtMost) {
  for_each(layouts(), [](const Sample& sample, const Take& take) {
    if (sample.bytes.size() > 16'000) return;
    const bool every_bit = sample.bytes.size() < 2000 && !kSanitized;
    flip_bits(sample.bytes, every_bit ? 1 : 7, take);
  });
}

TEST(RecoverMatrixTest, PagesOfZerosCostTheBlocksThatTheyTouch) {
  std::vector<Sample> samples = layouts();
  samples.push_back(sample_of("pages", of_pages(1)));
  for_each(samples, [](const Sample& sample, const Take& take) { zero_pages(sample.bytes, kPage, kAlignment, take); });
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
  print_count(checker.count());
}

TEST(RecoverMatrixTest, DroppedSwappedAndRepeatedBlocksCostNoOthers) {
  for_each(layouts(), [](const Sample& sample, const Take& take) { move_blocks(sample, take); });
}

TEST(RecoverMatrixTest, BlocksOfOtherFilesAreLeftOut) {
  ShardSpec base = small_spec();
  base.records.resize(7);
  ShardSpec single{.records = {"the only record"}};
  std::size_t count = 0;
  for (const ShardSpec& spec : {base, single, of_pages(1)}) {
    const Sample sample = sample_of("sample", spec);
    ShardSpec other_number = with_other_bytes(spec);
    other_number.shard_number = 9;
    Checker checker(sample);
    const Take take = checker.take();
    for (const ShardSpec& other_spec : {other_number, with_other_bytes(spec), with_other_sizes(spec)}) {
      const Sample other = sample_of("other", other_spec);
      put_blocks(sample, other, take);
      Bytes other_head = sample.bytes;
      std::copy_n(other.bytes.begin(), format::kFileHeaderBytes, other_head.begin());
      take(other_head, "the other file's header");
      Bytes other_end = sample.bytes;
      std::copy_n(other.bytes.end() - format::kTrailerBytes, format::kTrailerBytes,
                  other_end.end() - format::kTrailerBytes);
      if (other_spec.shard_number != spec.shard_number) take(other_end, "the other file's trailer");
      if (HasFailure()) return;
    }
    count += checker.count();
  }
  print_count(count);
}

TEST(RecoverMatrixTest, BytesThatAreDroppedOrInsertedCostTheBlocksThatTheyTouch) {
  for_each(layouts(), [](const Sample& sample, const Take& take) {
    for (const std::size_t size : {kAlignment, kPage}) shift_bytes(sample.bytes, size, take);
  });
}

/// One of many kinds of damage, at a random place; all but flipped bits in units in which disks and
/// file systems lose bytes.
void damage_at_random(Bytes& bytes, const Bytes& foreign, Draws& draws) {
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
  Draws draws(seed);
  ShardSpec foreign_spec = of_pages(5);
  foreign_spec.shard_number = 88;
  const Bytes foreign = make_shard(foreign_spec).bytes;
  std::vector<Sample> samples;
  samples.push_back(sample_of("pages", of_pages(1)));
  for (Sample& sample : layouts()) {
    if (sample.bytes.size() > kPage && sample.bytes.size() < foreign.size()) samples.push_back(std::move(sample));
  }
  const std::uint64_t cases = Cases{.sanitized = 150, .some = 1000, .all = 4000}.count();
  for_each(samples, [&](const Sample& sample, const Take& take) {
    for (std::uint64_t i = 0; i < cases; ++i) {
      Bytes bytes = sample.bytes;
      const std::uint64_t damages = 1 + draws.below(6);
      for (std::uint64_t k = 0; k < damages; ++k) damage_at_random(bytes, foreign, draws);
      if (is_mostly_foreign(bytes, sample.decoded.tail.trailer.file_id)) continue;
      if (!take(bytes, "seed " + std::to_string(seed) + ", case " + std::to_string(i))) return;
    }
  });
}

TEST(RecoverMatrixTest, AnUnfinishedFileLosesOnlyWhatIsDamagedInIt) {
  const Sample whole = sample_of("small", small_spec());
  const std::size_t data_end = whole.data.back().offset + whole.data.back().span;
  Checker checker(whole);
  const Take take = checker.take();
  Bytes bytes = first_bytes(whole.bytes, data_end);
  if (!take(bytes, "nothing")) return;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x40};
    if (!take(bytes, "byte " + std::to_string(i))) return;
    bytes[i] ^= std::byte{0x40};
  }
  for (const Piece& piece : whole.blocks) {
    if (piece.offset >= data_end) continue;
    Bytes dropped = bytes;
    dropped.erase(at(dropped, piece.offset), at(dropped, piece.offset + piece.span));
    if (!take(dropped, "block at " + std::to_string(piece.offset) + " dropped")) return;
  }
  print_count(checker.count());
}

}  // namespace
}  // namespace dovetail::test
