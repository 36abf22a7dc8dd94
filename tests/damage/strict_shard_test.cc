// SPDX-License-Identifier: Apache-2.0
// Every kind of damage done to small shards at every place, read strictly: a record that is given
// is the one of its place, one that is missing is told, and `verify` calls nothing good that is not
// the whole file.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "tests/damage/damaged_files.h"
#include "tests/damage/strict_reading.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

/// Reads damaged versions of one shard and compares what comes with what was not touched.
class Checker {
 public:
  /// `other`: another version of the shard, with its file id, whose parts may be in what is
  /// checked.
  explicit Checker(const SampleFile& sample, const SampleFile* other = nullptr)
      : sample_(sample), other_(other), file_(folder_ / "s.dvt") {}

  void check(const Bytes& damaged) {
    ++count_;
    file_.write(as_chars(damaged));
    const VerifyReport verdict = verify(file_.path(), 1).value();
    // Of all bytes only those of another whole version of the shard are good.
    const bool whole = damaged == sample_.bytes || (other_ != nullptr && damaged == other_->bytes);
    EXPECT_EQ(verdict.ok(), whole);
    for (const LostRange& damage : verdict.damaged) {
      EXPECT_EQ(damage.file, file_.path());
      EXPECT_LE(damage.offset, damaged.size());
      EXPECT_LE(damage.first_record, damage.end_record);
      if (other_ == nullptr) {
        EXPECT_LE(damage.end_record, sample_.decoded.records.size());
      }
      EXPECT_FALSE(damage.reason.empty());
    }

    Result<RecordReader> reader = RecordReader::open(file_.path());
    const Result<Dataset> dataset = Dataset::open(file_.path());
    if (!reader) {
      EXPECT_THAT(reader, Fails(ErrorKind::damaged).in(file_.path()));
      EXPECT_FALSE(dataset) << "what cannot be opened for reading must not be planned";
      EXPECT_FALSE(verdict.ok());
      ++refused_;
      places_ += verdict.damaged.size();
      return;
    }
    const SampleFile& version = version_of(damaged);
    const auto records = salvage(*reader);
    compare(damaged, version, records);
    EXPECT_EQ(std::count_if(records.begin(), records.end(), [](const auto& record) { return record.has_value(); }),
              static_cast<std::ptrdiff_t>(verdict.records));
    expect_point_reads(*reader, records);
    // Records of the other version although the file ends like this one.
    if (&version != &sample_ && has(damaged, sample_, footer_of(sample_))) {
      mixed_ += gives_others(records) ? 1 : 0;
    }
  }

  std::size_t count() const { return count_; }
  /// Files that do not open.
  std::size_t refused() const { return refused_; }
  /// Of damage that `verify` tells of these.
  std::size_t places() const { return places_; }
  /// Files that gave records of the other version although they end like this one.
  std::size_t mixed() const { return mixed_; }
  Take take() {
    return [this](const Bytes& damaged, const std::string& what) {
      SCOPED_TRACE(what);
      check(damaged);
      return !::testing::Test::HasFailure();
    };
  }

 private:
  static bool has(const Bytes& file, const SampleFile& of, const Piece& piece) {
    return piece.offset + piece.bytes <= file.size() &&
           std::equal(file.begin() + static_cast<std::ptrdiff_t>(piece.offset),
                      file.begin() + static_cast<std::ptrdiff_t>(piece.offset + piece.bytes),
                      of.bytes.begin() + static_cast<std::ptrdiff_t>(piece.offset));
  }

  static const Piece& index_of(const SampleFile& sample) { return sample.blocks[sample.blocks.size() - 2]; }
  static const Piece& footer_of(const SampleFile& sample) { return sample.blocks.back(); }

  /// The one whose index lies in a file that opens.
  const SampleFile& version_of(const Bytes& damaged) const {
    if (has(damaged, sample_, index_of(sample_))) return sample_;
    EXPECT_TRUE(other_ != nullptr && has(damaged, *other_, index_of(*other_))) << "opened without its index";
    return other_ != nullptr ? *other_ : sample_;
  }

  bool gives_others(const std::vector<std::optional<std::string>>& records) const {
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].has_value() && *records[i] != sample_.decoded.records.at(i)) return true;
    }
    return false;
  }

  static void compare(const Bytes& damaged, const SampleFile& version,
                      const std::vector<std::optional<std::string>>& records) {
    ASSERT_EQ(records.size(), version.decoded.records.size());
    for (std::size_t block = 0; block < version.data.size(); ++block) {
      const format::BlockHeader& header = version.decoded.blocks[block];
      const bool untouched = has(damaged, version, version.data[block]);
      for (std::uint64_t i = header.first_record; i < header.first_record + header.records; ++i) {
        ASSERT_EQ(records[i].has_value(), untouched) << "record " << i;
        if (untouched) {
          ASSERT_EQ(*records[i], version.decoded.records[i]) << "record " << i;
        }
      }
    }
  }

  const SampleFile& sample_;
  const SampleFile* const other_;
  const TempFolder folder_;
  FileInPlace file_;
  std::size_t count_ = 0;
  std::size_t refused_ = 0;
  std::size_t places_ = 0;
  std::size_t mixed_ = 0;
};

/// All layouts, with one of large records that is small enough to flip every bit.
std::vector<SampleFile> strict_layouts() {
  std::vector<SampleFile> samples = test::layouts();
  ShardSpec large{.block_records = 1};
  for (std::uint64_t i = 0; i < 3; ++i) large.records.push_back(noise(300, 40 + i));
  samples.push_back(sample_of("large records", large));
  ShardSpec stored = small_spec();
  stored.codec = Codec::none;
  samples.push_back(sample_of("small and stored", stored));
  ShardSpec one = small_spec();
  one.records = {prose(400, 9)};
  samples.push_back(sample_of("one compressed record", one));
  return samples;
}

/// How many of the bits and lengths of a file are tried.
std::size_t step_of(const SampleFile& sample) {
  if (sample.bytes.size() > 16'000) return kSanitized ? 1021 : 61;
  if (kSanitized) return sample.bytes.size() > 2000 ? 211 : 31;
  return sample.bytes.size() > 2000 ? 7 : 1;
}

/// Runs one kind of damage over layouts, and stops at the first case that fails.
void for_each(const std::vector<SampleFile>& samples,
              const std::function<void(const SampleFile&, const Take&)>& damage) {
  std::size_t count = 0;
  for (const SampleFile& sample : samples) {
    SCOPED_TRACE(sample.name);
    Checker checker(sample);
    damage(sample, checker.take());
    if (::testing::Test::HasFailure()) return;
    count += checker.count();
  }
  std::printf("%zu damaged files\n", count);
}

TEST(StrictShardTest, AnUndamagedShardIsRead) {
  for_each(strict_layouts(), [](const SampleFile& sample, const Take& take) { take(sample.bytes, "nothing"); });
}

TEST(StrictShardTest, NoCutFileIsTakenForAWholeOne) {
  for_each(strict_layouts(),
           [](const SampleFile& sample, const Take& take) { test::cut(sample.bytes, step_of(sample), take); });
}

TEST(StrictShardTest, EveryFlippedBitIsReportedAndCostsItsBlockAtMost) {
  for_each(strict_layouts(),
           [](const SampleFile& sample, const Take& take) { flip_bits(sample.bytes, step_of(sample), take); });
}

// Without steps, whatever the build.
TEST(StrictShardTest, EveryByteAndLengthOfASmallShardCounts) {
  const SampleFile sample = sample_of("small", small_spec());
  Checker changed(sample);
  change_bytes(sample.bytes, changed.take());
  EXPECT_EQ(changed.count(), 2 * sample.bytes.size());
  Checker cut(sample);
  test::cut(sample.bytes, 1, cut.take());
  EXPECT_EQ(cut.places(), sample.bytes.size());
  append_bytes(sample.bytes, cut.take());
  EXPECT_EQ(cut.refused(), sample.bytes.size() + 10) << "of other lengths none opens";
}

TEST(StrictShardTest, BlocksThatAreDroppedSwappedAndRepeatedAreReported) {
  for_each(strict_layouts(), move_blocks);
}

TEST(StrictShardTest, BytesThatAreDroppedAndInsertedAreReported) {
  for_each(strict_layouts(), [](const SampleFile& sample, const Take& take) {
    for (const std::size_t size : {format::kAlignment, kPage}) shift_bytes(sample.bytes, size, take);
  });
}

TEST(StrictShardTest, PagesOfZerosAreReported) {
  std::vector<SampleFile> samples = strict_layouts();
  samples.push_back(sample_of("pages", of_pages(1)));
  for_each(samples, [](const SampleFile& sample, const Take& take) {
    for (const std::size_t page : {format::kAlignment, std::size_t{512}, kPage}) {
      zero_pages(sample.bytes, page, page, take);
    }
    zero_pages(sample.bytes, kPage, format::kAlignment, take);
  });
}

struct Sibling {
  const char* name;
  ShardSpec spec;
  bool same_id;
};

/// Files that a page or a block may come from: a shard of the same shape, and earlier versions of
/// the same one.
std::vector<Sibling> siblings(const ShardSpec& spec) {
  ShardSpec other_number = with_other_bytes(spec);
  other_number.shard_number = 9;
  return {{"another shard of equal shape", other_number, false},
          {"another version of equal shape", with_other_bytes(spec), true},
          {"another version of another shape", with_other_sizes(spec), true}};
}

std::vector<ShardSpec> bases() {
  ShardSpec base = small_spec();
  ShardSpec single{.records = {"the only record"}};
  ShardSpec fixed{.block_records = 4};
  for (std::uint64_t i = 0; i < 11; ++i) fixed.records.push_back(noise(28, i));
  return {base, single, fixed, of_pages(1)};
}

/// Damages with each sibling of each base: no file that ends like the base may give records of the
/// sibling.
template <class Damage>
void for_each_sibling(Damage damage) {
  std::size_t count = 0;
  for (const ShardSpec& spec : bases()) {
    const SampleFile sample = sample_of("sample", spec);
    for (const Sibling& sibling : siblings(spec)) {
      SCOPED_TRACE(::testing::Message() << sibling.name << ", of " << sample.bytes.size() << " bytes");
      const SampleFile other = sample_of(sibling.name, sibling.spec);
      Checker checker(sample, &other);
      damage(sample, other, checker.take());
      EXPECT_EQ(checker.mixed(), 0u);
      if (::testing::Test::HasFailure()) return;
      count += checker.count();
    }
  }
  std::printf("%zu damaged files\n", count);
}

TEST(StrictShardTest, BlocksOfOtherFilesAreReported) {
  for_each_sibling(put_blocks);
}

TEST(StrictShardTest, StalePagesAreReported) {
  for_each_sibling([](const SampleFile& sample, const SampleFile& other, const Take& take) {
    for (const std::size_t page : {format::kAlignment, std::size_t{512}, kPage}) {
      put_pages(sample.bytes, other.bytes, page, take);
    }
  });
}

// Blocks with their index, footer or trailer from another file of equal shape, in all combinations.
TEST(StrictShardTest, EveryMixtureOfTwoFilesIsReported) {
  for_each_sibling(mix_parts);
}

// docs/format.md, "Damage that reading does not see".
TEST(StrictShardTest, AnotherWholeVersionIsAGoodFile) {
  const SampleFile sample = sample_of("sample", small_spec());
  const SampleFile other = sample_of("other", with_other_bytes(small_spec()));
  Checker checker(sample, &other);
  checker.check(other.bytes);
}

}  // namespace
}  // namespace dovetail::test
