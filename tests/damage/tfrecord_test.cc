// SPDX-License-Identifier: Apache-2.0
// TFRecord files with indexes beside them, either or both damaged at every place: a record that is
// given is the one of its place, one that is missing is told, and `verify` calls nothing good that
// is not the whole file.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>
#include <dovetail/tfrecord_index.h>

#include "tests/convert/sources.h"
#include "tests/damage/damaged_files.h"
#include "tests/damage/strict_reading.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

/// A TFRecord file and its index.
struct Indexed {
  Bytes file;
  Bytes index;
  std::vector<BlockInfo> blocks;
};

Bytes to_bytes(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

Indexed indexed(const Records& records) {
  const TempFolder folder;
  const std::string path = folder / "a.tfrecord";
  write_file(path, tfrecord_bytes(records));
  index_tfrecord(path, {.run_records = 3}).value();
  return {read_file(path), read_file(path + ".dvi"), describe_shard(path).value().blocks};
}

/// Records of the same sizes with other bytes. The first and the last stay as they are, and with
/// them the ends of the file, so that only its blocks tell.
Records sibling_of(Records records) {
  for (std::size_t i = 1; i + 1 < records.size(); ++i) {
    for (char& c : records[i]) c = static_cast<char>(c ^ 0x15);
  }
  return records;
}

class TfrecordChecker {
 public:
  explicit TfrecordChecker(Records records)
      : records_(std::move(records)),
        good_(indexed(records_)),
        file_(folder_ / "a.tfrecord"),
        index_(folder_ / "a.tfrecord.dvi") {}

  const Records& records() const { return records_; }
  const Indexed& good() const { return good_; }
  std::size_t count() const { return count_; }

  /// `fits`: the index, where it opens, is that of the file.
  bool check(const Bytes& file, const Bytes& index, const std::string& what, bool fits = true) {
    SCOPED_TRACE(what);
    compare(file, index, fits);
    return !::testing::Test::HasFailure();
  }
  Take take_file() {
    return [this](const Bytes& damaged, const std::string& what) { return check(damaged, good_.index, what); };
  }
  Take take_index() {
    return
        [this](const Bytes& damaged, const std::string& what) { return check(good_.file, damaged, "index: " + what); };
  }

 private:
  void compare(const Bytes& file, const Bytes& index, bool fits) {
    ++count_;
    file_.write(as_chars(file));
    index_.write(as_chars(index));
    const VerifyReport verdict = verify(file_.path(), 1).value();
    Result<RecordReader> reader = RecordReader::open(file_.path());
    if (!reader) {
      EXPECT_THAT(reader, Fails(ErrorKind::damaged));
      EXPECT_TRUE(reader.error().path() == file_.path() || reader.error().path() == index_.path());
      EXPECT_FALSE(Dataset::open(file_.path()) && verdict.ok());
      EXPECT_FALSE(verdict.ok());
      EXPECT_FALSE(file == good_.file && index == good_.index);
      return;
    }
    // Of the index only padding may differ, which is told and costs nothing.
    EXPECT_EQ(verdict.ok(), file == good_.file && index == good_.index);
    ASSERT_EQ(file.size(), good_.file.size());
    const auto records = salvage(*reader);
    ASSERT_EQ(records.size(), records_.size());
    for (const BlockInfo& block : good_.blocks) {
      const auto begin = good_.file.begin() + static_cast<std::ptrdiff_t>(block.offset);
      const bool untouched = std::equal(begin, begin + static_cast<std::ptrdiff_t>(block.stored_bytes),
                                        file.begin() + static_cast<std::ptrdiff_t>(block.offset));
      for (std::uint64_t i = block.first_record; i < block.first_record + block.records; ++i) {
        if (fits) {
          ASSERT_EQ(records[i].has_value(), untouched) << "record " << i;
        }
        if (records[i].has_value()) {
          ASSERT_EQ(*records[i], records_[i]) << "record " << i;
        }
      }
    }
    EXPECT_EQ(std::count_if(records.begin(), records.end(), [](const auto& record) { return record.has_value(); }),
              static_cast<std::ptrdiff_t>(verdict.records));
    expect_point_reads(*reader, records);
  }

  const Records records_;
  const Indexed good_;
  const TempFolder folder_;
  FileInPlace file_;
  FileInPlace index_;
  std::size_t count_ = 0;
};

std::vector<Records> layouts() {
  Records sizes;
  for (std::size_t i = 0; i < 10; ++i) sizes.push_back(noise(20 + i * 7 % 30, i));
  sizes[4].clear();
  Records fixed;
  for (std::size_t i = 0; i < 8; ++i) fixed.push_back(noise(24, 100 + i));
  return {sizes, fixed, {"the only record"}, {"", "", ""}, {}, {"a", noise(600, 7), "b"}};
}

void for_each(const std::function<void(TfrecordChecker&)>& damage) {
  std::size_t count = 0;
  for (const Records& records : layouts()) {
    SCOPED_TRACE(::testing::Message() << records.size() << " records");
    TfrecordChecker checker(records);
    damage(checker);
    if (::testing::Test::HasFailure()) return;
    count += checker.count();
  }
  std::printf("%zu damaged files\n", count);
}

constexpr std::size_t kTfrecordStep = kSanitized ? 31 : 1;

TEST(DamagedTfrecordTest, NoCutFileNorIndexIsTakenForAWholeOne) {
  for_each([](TfrecordChecker& checker) {
    checker.check(checker.good().file, checker.good().index, "nothing");
    cut(checker.good().file, kTfrecordStep, checker.take_file());
    cut(checker.good().index, kTfrecordStep, checker.take_index());
  });
}

TEST(DamagedTfrecordTest, EveryFlippedBitIsReportedAndCostsItsBlockAtMost) {
  for_each([](TfrecordChecker& checker) { flip_bits(checker.good().file, kTfrecordStep, checker.take_file()); });
}

TEST(DamagedTfrecordTest, EveryFlippedBitOfAnIndexIsReported) {
  for_each([](TfrecordChecker& checker) { flip_bits(checker.good().index, kTfrecordStep, checker.take_index()); });
}

TEST(DamagedTfrecordTest, PagesOfZerosAndOfAnotherFileAreReported) {
  for_each([](TfrecordChecker& checker) {
    const Indexed other = indexed(sibling_of(checker.records()));
    for (const std::size_t page : {std::size_t{16}, std::size_t{64}, std::size_t{512}}) {
      zero_pages(checker.good().file, page, page, checker.take_file());
      put_pages(checker.good().file, other.file, page, checker.take_file());
      zero_pages(checker.good().index, page, page, checker.take_index());
      put_pages(checker.good().index, other.index, page, checker.take_index());
    }
  });
}

TEST(DamagedTfrecordTest, RecordsThatAreDroppedSwappedRepeatedAndSplicedAreReported) {
  for_each([](TfrecordChecker& checker) {
    const Records& records = checker.records();
    const Records other = sibling_of(records);
    const auto check = [&](const Records& changed, std::size_t i, std::size_t j, const char* what) {
      return checker.check(to_bytes(tfrecord_bytes(changed)), checker.good().index,
                           "records " + std::to_string(i) + " and " + std::to_string(j) + what);
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
      for (std::size_t j = 0; j < records.size(); ++j) {
        Records dropped = records;
        dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
        if (i != j) dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
        if (!check(dropped, i, j, " dropped")) return;
        Records swapped = records;
        std::swap(swapped[i], swapped[j]);
        if (!check(swapped, i, j, " swapped")) return;
        Records repeated = records;
        repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(j), records[i]);
        if (!check(repeated, i, j, ", one put before the other")) return;
        Records covered = records;
        covered[j] = records[i];
        if (!check(covered, i, j, ", one put over the other")) return;
        Records spliced = records;
        spliced[j] = other[i];
        if (!check(spliced, i, j, ", one of another file put over the other")) return;
      }
    }
  });
}

TEST(DamagedTfrecordTest, AnotherFileOrIndexOfEqualSizeIsReported) {
  for_each([](TfrecordChecker& checker) {
    const Records other_records = sibling_of(checker.records());
    if (other_records == checker.records()) return;
    const Indexed other = indexed(other_records);
    ASSERT_EQ(other.file.size(), checker.good().file.size());
    checker.check(other.file, checker.good().index, "another file");
    checker.check(checker.good().file, other.index, "another index", false);
  });
}

TEST(DamagedTfrecordTest, DamageToBothIsReported) {
  for_each([](TfrecordChecker& checker) {
    const Bytes& file = checker.good().file;
    for (std::size_t place = 5; place < file.size(); place += file.size() / 3 + 1) {
      Bytes damaged = file;
      damaged[place] ^= std::byte{0x10};
      const auto with = [&](const Bytes& index, const std::string& what) {
        return checker.check(damaged, index, "byte " + std::to_string(place) + ", and of the index " + what);
      };
      flip_bits(checker.good().index, 11 * kTfrecordStep, with);
      cut(checker.good().index, 5 * kTfrecordStep, with);
    }
  });
}

// docs/format.md, "Damage that reading does not see"; a manifest sees it.
TEST(DamagedTfrecordTest, AnotherFileWithItsIndexIsAGoodShard) {
  const Records records = layouts().front();
  const Indexed other = indexed(sibling_of(records));
  const TempFolder folder;
  const std::string path = folder / "a.tfrecord";
  write_file(path, as_chars(indexed(records).file));
  index_tfrecord(path).value();
  const Dataset dataset = Dataset::open(path).value();
  write_file(path, as_chars(other.file));
  write_file(path + ".dvi", as_chars(other.index));
  EXPECT_TRUE(verify(path).value().ok());
  EXPECT_TRUE(RecordReader::open(path).has_value());
  EXPECT_THAT(RecordReader::open(dataset, 0), Fails(Errc::file_changed)) << "whoever knew it before is told";
}

}  // namespace
}  // namespace dovetail::test
