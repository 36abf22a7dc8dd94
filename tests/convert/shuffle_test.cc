// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>
#include <tuple>

#include "convert/input_line.h"
#include "convert/spill.h"
#include "sources/bytes/hashes.h"
#include "tests/convert/conversions.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

// Sum of (count - expected)^2 / expected over a square of counts.
double chi_squared(const std::vector<std::vector<double>>& counts, double expected) {
  double sum = 0;
  for (const auto& row : counts) {
    for (const double count : row) sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

TEST(ShuffleKeyTest, EveryRecordComesToEveryPlaceEquallyOften) {
  constexpr std::size_t kRecords = 40;
  constexpr std::uint64_t kSeeds = 4000;
  std::vector counts(kRecords, std::vector<double>(kRecords, 0));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<std::pair<std::uint64_t, std::size_t>> keys;
    // Places as they are: offsets in a file, far from random.
    for (std::size_t i = 0; i < kRecords; ++i) keys.emplace_back(detail::shuffle_key(seed, 0, i * 116, 0), i);
    std::sort(keys.begin(), keys.end());
    for (std::size_t place = 0; place < kRecords; ++place) ++counts[keys[place].second][place];
  }
  // 39 * 39 degrees of freedom: 1521 and a standard deviation of 55.
  const double chi = chi_squared(counts, static_cast<double>(kSeeds) / kRecords);
  EXPECT_LT(chi, 1521 + 4 * 55);
  EXPECT_GT(chi, 1521 - 4 * 55) << "too even to be random";
}

TEST(ShuffleKeyTest, SourcePlaceAndOrdinalAllCount) {
  const std::uint64_t key = detail::shuffle_key(1, 2, 3, 4);
  EXPECT_NE(detail::shuffle_key(0, 2, 3, 4), key);
  EXPECT_NE(detail::shuffle_key(1, 0, 3, 4), key);
  EXPECT_NE(detail::shuffle_key(1, 2, 0, 4), key);
  EXPECT_NE(detail::shuffle_key(1, 2, 3, 0), key);
  EXPECT_EQ(detail::shuffle_key(7, 1, 1000, 0), 1431502684306667574u) << "as it was when datasets were first shuffled";
}

class SpillTest : public FolderTest {
 protected:
  std::unique_ptr<detail::Spill> make(std::size_t buckets, std::uint64_t bytes) {
    const auto folder = detail::OutputFolder::open(folder_.path()).value();
    return detail::Spill::create(*folder, buckets, bytes).value();
  }
  using Entry = std::pair<std::uint64_t, std::string>;
  static std::vector<Entry> read(const detail::Spill& spill, std::size_t bucket) {
    std::vector<Entry> entries;
    const auto take = [&](const detail::SpilledHead& head, ByteView record) {
      entries.emplace_back(head.key, std::string(as_chars(record)));
      return true;
    };
    spill.read(bucket, take).value();
    std::sort(entries.begin(), entries.end());
    return entries;
  }
};

TEST_F(SpillTest, GivesBackWhatItGotFromManyThreads) {
  auto spill = make(5, 5 * 4096);
  EXPECT_THAT(names_in(folder_.path()), IsEmpty()) << "the file has no name";
  std::vector<std::vector<Entry>> expected(5);
  Draws draws(8);
  std::vector<std::pair<std::size_t, Entry>> all;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    // Around the size of a chunk, and far above it.
    const std::size_t size = draws.below(50) == 0 ? 3900 + draws.below(400) : draws.below(200);
    all.push_back({draws.below(4), {i, noise(i == 77 ? 3'000'000 : size, i)}});
    expected[all.back().first].push_back(all.back().second);
  }
  std::atomic<std::size_t> next{0};
  const auto put = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      const auto& [bucket, entry] = all[i];
      spill->add(bucket, {.key = entry.first}, as_bytes(entry.second)).value();
    }
  };
  std::thread other(put);
  put();
  other.join();
  spill->flush().value();
  for (std::size_t bucket = 0; bucket < 5; ++bucket) {
    EXPECT_TRUE(read(*spill, bucket) == expected[bucket]) << bucket;
    EXPECT_EQ(spill->records(bucket), expected[bucket].size());
  }
  EXPECT_EQ(spill->records(4), 0u) << "an empty bucket is one, too";
}

TEST_F(SpillTest, KeepsTheWholeHead) {
  auto spill = make(1, 1 << 20);
  const detail::SpilledHead head{.key = 1, .source = 2, .place = 1ull << 50, .ordinal = 4, .output = 5};
  spill->add(0, head, {}).value();
  spill->flush().value();
  int seen = 0;
  spill
      ->read(0,
             [&](const detail::SpilledHead& found, ByteView record) {
               EXPECT_TRUE(found == head);
               EXPECT_TRUE(record.empty());
               return ++seen < 1;
             })
      .value();
  EXPECT_EQ(seen, 1);
}

TEST_F(SpillTest, RefusesBuffersThatAreTooSmall) {
  const auto folder = detail::OutputFolder::open(folder_.path()).value();
  EXPECT_THAT(detail::Spill::create(*folder, 1000, 1 << 20), Fails(Errc::budget_too_small).saying("4096000"));
}

class ShuffleTest : public ConversionTest {
 protected:
  ConvertOptions shuffled(std::vector<std::string> sources, std::uint32_t shards) {
    ConvertOptions wanted = options(std::move(sources), shards);
    wanted.shuffle_seed = 11;
    return wanted;
  }
  // The order by its definition, in memory.
  static Records reference(const ConvertOptions& wanted) {
    const auto line = detail::InputLine::open(wanted.sources, {}).value();
    std::vector<std::tuple<std::uint64_t, std::size_t, std::string>> keyed;
    detail::LineCursor cursor(line);
    for (cursor.seek(0).value(); cursor.has_record(); cursor.advance().value()) {
      const std::uint64_t key =
          detail::shuffle_key(*wanted.shuffle_seed, cursor.source_number(), cursor.place_in_source(), cursor.ordinal());
      keyed.emplace_back(key, keyed.size(), std::string(as_chars(cursor.record())));
    }
    std::sort(keyed.begin(), keyed.end());
    Records records;
    for (auto& entry : keyed) records.push_back(std::move(std::get<2>(entry)));
    return records;
  }
  Records run(const ConvertOptions& wanted) {
    fs::remove_all(out_);
    convert(out_, wanted).value();
    return read_dataset(out_).records;
  }
};

TEST_F(ShuffleTest, IsTheSameForEveryNumberOfJobsShardsAndBytesOfMemory) {
  const std::string other = put("other.tfrecord", tfrecord_bytes({"a", "b", "", "", "c"}));
  ConvertOptions wanted = shuffled({put_tfrecords(5, 1500, 51), other}, 7);
  const Records expected = reference(wanted);
  EXPECT_EQ(expected.size(), all_.size() + 5);
  EXPECT_FALSE(expected == all_);
  EXPECT_TRUE(run(wanted) == expected);
  const Files files = files_below(out_);
  for (const unsigned jobs : {1u, 5u}) {
    wanted.jobs = jobs;
    for (const std::uint64_t memory : {1u << 20, 1u << 30}) {
      wanted.memory_bytes = memory;
      EXPECT_TRUE(run(wanted) == expected) << jobs << " jobs, " << memory << " bytes";
      EXPECT_TRUE(files_below(out_) == files);
    }
  }
  for (const std::uint32_t shards : {1u, 40u}) {
    wanted.shards = shards;
    EXPECT_TRUE(run(wanted) == expected) << shards << " shards: the order is that of the keys, wherever it is cut";
  }
  wanted.shuffle_seed = 12;
  EXPECT_FALSE(run(wanted) == expected);
}

TEST_F(ShuffleTest, HasAKeyForEachOfManyRecordsInOnePlace) {
  for (int i = 0; i < 50; ++i) put("files/" + std::to_string(100 + i), "");
  put("files/200", "not empty");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + '\n';
  // Compressed to almost nothing: many records share a place there.
  const std::string packed = put("packed", gzip(std::string(20'000, '\n') + text));
  for (const auto& [source, records] : {std::pair(folder_ / "files", 51u), std::pair(packed, 25'000u)}) {
    const ConvertOptions wanted = shuffled({source, source}, 3);
    const Records expected = reference(wanted);
    EXPECT_EQ(expected.size(), 2 * records);
    EXPECT_TRUE(run(wanted) == expected);
  }
}

TEST_F(ShuffleTest, MixesAsWellAsChance) {
  constexpr std::size_t kLines = 40'000;
  std::string text;
  for (std::size_t i = 0; i < kLines; ++i) text += std::to_string(i) + '\n';
  const Records records = run(shuffled({put("text", text)}, 6));
  ASSERT_EQ(records.size(), kLines);
  std::vector counts(10, std::vector<double>(10, 0));
  std::vector<bool> seen(kLines, false);
  for (std::size_t place = 0; place < kLines; ++place) {
    const std::size_t line = std::stoul(records[place]);
    EXPECT_FALSE(seen[line]);
    seen[line] = true;
    ++counts[line * 10 / kLines][place * 10 / kLines];
  }
  // 81 degrees of freedom: a standard deviation of 12.7.
  EXPECT_LT(chi_squared(counts, kLines / 100.0), 81 + 4 * 12.7);
}

TEST_F(ShuffleTest, ReadsBucketsInPiecesWhereThereIsMoreThanTheBeginningPromised) {
  std::string small = tfrecord_bytes(Records(1200, noise(1000, 1)));
  std::string large = tfrecord_bytes(Records(30'000, std::string(500, 'a')));
  ConvertOptions wanted = shuffled({put("small", small), put("large", gzip(large))}, 2);
  wanted.memory_bytes = 1 << 20;
  wanted.jobs = 1;
  EXPECT_TRUE(run(wanted) == reference(wanted));
}

TEST_F(ShuffleTest, ARecordAboveTheMemoryIsAnErrorThatSaysSo) {
  const std::string fits(900'000, 'x');
  const std::string source = put("a", tfrecord_bytes({"1", fits, "3", fits}));
  ConvertOptions wanted = shuffled({source}, 1);
  wanted.jobs = 1;
  wanted.memory_bytes = 1 << 20;
  EXPECT_TRUE(run(wanted) == reference(wanted));
  fs::remove_all(out_);
  wanted.sources = {put("b", tfrecord_bytes({"1", std::string(1 << 20, 'x')}))};
  EXPECT_THAT(convert(out_, wanted), Fails(Errc::budget_too_small).saying("memory_bytes").in(folder_ / "b").at(17u));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(ShuffleTest, TooLittleMemoryToContinueKeepsWhatIsFinished) {
  const Records large(40, std::string(700'000, 'x'));
  const ConvertOptions many_shards = shuffled({put_tfrecords(4, 800, 53)}, 400);
  const ConvertOptions large_records = shuffled({put("large", tfrecord_bytes(large))}, 8);
  for (const auto& [wanted, share] : {std::pair(many_shards, 0.6), std::pair(large_records, 0.8)}) {
    convert(folder_ / "whole", wanted).value();
    ConvertOptions stopped = wanted;
    stopped.jobs = 1;
    stopped.progress = [until = share](const ConvertProgress& progress) { return progress.share < until; };
    ASSERT_FALSE(convert(out_, stopped));
    const Files finished = files_below(staged_);
    ConvertOptions starved = wanted;
    starved.jobs = 4;
    starved.memory_bytes = 1 << 20;
    EXPECT_THAT(convert(out_, starved), Fails(Errc::budget_too_small).saying("finished and kept"));
    EXPECT_EQ(names_of(files_below(staged_)), names_of(finished));
    EXPECT_GT(convert(out_, wanted).value().kept_shards, 0u);
    EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
    fs::remove_all(out_);
    fs::remove_all(folder_ / "whole");
  }
}

TEST_F(ShuffleTest, IsContinuedAfterAStop) {
  const ConvertOptions wanted = shuffled({put_tfrecords(4, 800, 52)}, 8);
  convert(folder_ / "whole", wanted).value();
  ConvertOptions stopped = wanted;
  stopped.jobs = 1;
  for (const double share : {0.3, 0.7, 0.9}) {
    stopped.progress = [share](const ConvertProgress& progress) { return progress.share < share; };
    EXPECT_THAT(convert(out_, stopped), Fails(ErrorKind::cancelled));
  }
  EXPECT_GT(convert(out_, wanted).value().kept_shards, 2u);
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
}

TEST_F(ShuffleTest, WorksInPartsAndWithASplit) {
  ConvertOptions wanted = shuffled({put_tfrecords(4, 800, 53)}, 7);
  wanted.split = parse_split("train=0.8,val=0.2").value();
  convert(folder_ / "whole", wanted).value();
  for (std::uint32_t part = 0; part != 3; ++part) {
    wanted.part = ConvertPart{part, 3};
    convert(out_, wanted).value();
  }
  merge(out_).value();
  EXPECT_EQ(files_below(out_), files_below(folder_ / "whole"));
  // The split is that of the same records in any order.
  wanted.part.reset();
  wanted.shuffle_seed.reset();
  convert(folder_ / "plain", wanted).value();
  for (const char* name : {"/train", "/val"}) {
    Records shuffled = read_dataset(out_ + name).records;
    Records plain = read_dataset(folder_ / "plain" + name).records;
    EXPECT_FALSE(shuffled == plain);
    std::sort(shuffled.begin(), shuffled.end());
    std::sort(plain.begin(), plain.end());
    EXPECT_TRUE(shuffled == plain);
  }
}

TEST_F(ShuffleTest, DamageInTheFirstPassLeavesNothing) {
  std::string damaged = tfrecord_bytes(sample_records(300, 900, 3));
  damaged.pop_back();
  EXPECT_THAT(convert(out_, shuffled({put_tfrecords(3, 100, 54), put("damaged", damaged)}, 4)), Fails(Errc::truncated));
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace dovetail::test
