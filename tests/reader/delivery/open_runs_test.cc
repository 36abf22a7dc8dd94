// SPDX-License-Identifier: Apache-2.0
// Where the open runs do not fit the memory, a reader says what to change, and that helps; large
// ones it refuses.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

struct Outcome {
  std::string told;
  std::uint64_t read_bytes = 0;
};

const SampleShape kLargeRecords{.shard_records = {2000, 2000, 2000, 2000},
                                .min_bytes = 10'000,
                                .max_bytes = 10'000,
                                .codec = Codec::none,
                                .block_bytes = 4 << 20,
                                .run_records = 400};

class OpenRunsTest : public FolderTest {
 protected:
  /// Reads an epoch.
  Outcome read(std::uint32_t open_runs, std::uint64_t memory_bytes) const {
    Outcome outcome;
    ReaderOptions options{.plan = {.batch = 64, .open_runs = open_runs},
                          .epochs = 1,
                          .memory_bytes = memory_bytes,
                          .storage = StorageKind::pread};
    options.log = [&](std::string_view line) {
      if (line.find("open_runs") != line.npos) outcome.told += line;
    };
    BatchReader reader = BatchReader::open(dataset_, options).value();
    while (reader.next().value()) {
    }
    outcome.read_bytes = reader.stats().read_bytes;
    return outcome;
  }
  static std::uint64_t number_after(const std::string& text, const std::string& words) {
    const std::size_t at = text.rfind(words);
    return at == text.npos ? 0 : std::stoull(text.substr(at + words.size()));
  }

  /// The memory that a refused reader of the order `global` names.
  static std::uint64_t needed_of(const Dataset& dataset, const ReaderOptions& options) {
    return number_after(BatchReader::open(dataset, options).error().detail(), "source of a mix: ");
  }

  /// 24 MiB in 96 runs of a quarter of a MiB, each a block.
  const Dataset dataset_ = make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(12, 2048),
                                                              .min_bytes = 1000,
                                                              .max_bytes = 1048,
                                                              .codec = Codec::none,
                                                              .block_bytes = 1 << 20,
                                                              .run_records = 256});
};

TEST_F(OpenRunsTest, AreRefusedWhereTheyDoNotFitAndWhatIsNamedHelps) {
  constexpr std::uint64_t kLittle = 8 << 20;
  ReaderOptions options{.plan = {.batch = 64, .open_runs = 96}, .memory_bytes = kLittle};
  const Error refused = BatchReader::open(dataset_, options).error();
  ASSERT_TRUE(refused.is(Errc::budget_too_small)) << refused.to_string();
  const auto fit = static_cast<std::uint32_t>(number_after(refused.detail(), "open_runs = "));
  ASSERT_GT(fit, 0u) << refused.detail();
  ASSERT_LT(fit, 96u) << refused.detail();
  const std::uint64_t more = kLittle + number_after(refused.detail(), "memory_bytes by ");
  const std::uint64_t all = 12 * 2048 * 1024;
  for (const Outcome& outcome : {read(fit, kLittle), read(96, more)}) {
    EXPECT_LT(outcome.read_bytes, all + all / 10);
  }
  EXPECT_EQ(read(fit, kLittle).told, "") << "what fits leaves room for the next runs";
}

TEST_F(OpenRunsTest, AreNamedWhereTheNextOnesHaveNoRoom) {
  const Outcome tight = read(64, 64 << 20);
  EXPECT_EQ(tight.told, "");
  const Outcome told = read(20, 16 << 20);
  EXPECT_NE(told.told.find("too little for read-ahead"), std::string::npos) << told.told;
}

// Images, among them two small ones that share a block: the others go to their rows at once.
TEST_F(OpenRunsTest, AreNotRefusedWhereMostRecordsHaveBlocksOfTheirOwn) {
  DatasetWriterOptions writing{.shard = {.codec = Codec::none, .run_records = 100}};
  DatasetWriter writer = DatasetWriter::create(folder_.path("images"), writing).value();
  const std::string image(300'000, 'x');
  for (int i = 0; i < 300; ++i) writer.append(as_bytes(i == 7 || i == 8 ? "small" : image)).value();
  writer.finish().value();
  const Dataset images = Dataset::open(folder_.path("images")).value();
  ASSERT_EQ(images.shards().front().max_block_records, 2u);
  ReaderOptions options{.plan = {.batch = 16}, .memory_bytes = 64 << 20};
  EXPECT_TRUE(BatchReader::open(images, options).has_value());
}

// A lane then has a part of a run, and all of them together no more than there is.
TEST_F(OpenRunsTest, AreNotRefusedWhereLanesSharePartsOfASmallRun) {
  const Dataset one_run = make_sample(folder_.path("one"), {.shard_records = {20'000},
                                                            .min_bytes = 1000,
                                                            .max_bytes = 1048,
                                                            .codec = Codec::none,
                                                            .block_bytes = 1 << 20,
                                                            .run_records = 20'000});
  ReaderOptions options{.plan = {.batch = 64, .lanes = 64}, .memory_bytes = 320 << 20};
  const Result<BatchReader> reader = BatchReader::open(one_run, options);
  EXPECT_TRUE(reader.has_value()) << reader.error().to_string();
}

// A rank may have the largest file, and nearly nothing else: what it has is known to no mean.
TEST_F(OpenRunsTest, OfWholeFilesAreNamedAndNotRefused) {
  const Dataset uneven = make_sample(folder_.path("uneven"), {.shard_records = {10'000, 100},
                                                              .min_bytes = 10'000,
                                                              .max_bytes = 10'000,
                                                              .codec = Codec::none,
                                                              .block_bytes = 4 << 20,
                                                              .run_records = 400});
  ReaderOptions options{.ranks = {.rank = 0, .world = 2},
                        .plan = {.world = 2, .batch = 8, .assign = Assign::files},
                        .memory_bytes = 80 << 20};
  std::string told;
  options.log = [&](std::string_view line) { told += line; };
  EXPECT_TRUE(BatchReader::open(uneven, options).has_value());
  EXPECT_NE(told.find("open_runs = 96 needs up to"), told.npos) << told;
}

// The pool takes in all records of a rank at once, which no estimate of runs of whole files tells.
TEST_F(OpenRunsTest, OfWholeFilesStayWithinTheBudgetOrFail) {
  const Dataset few = make_sample(folder_.path("few"), {.shard_records = {5, 3},
                                                        .min_bytes = 1500,
                                                        .max_bytes = 2600,
                                                        .codec = Codec::none,
                                                        .block_bytes = 4096,
                                                        .run_records = 4});
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t memory = 40'000; memory < 140'000; memory += 1000) {
    ReaderOptions options{.plan = {.batch = 8, .assign = Assign::files, .pool = 17},
                          .epochs = 1,
                          .oversize = Oversize::spill,
                          .prefetch = 1,
                          .max_held = 1,
                          .memory_bytes = memory,
                          .storage = StorageKind::pread};
    auto reader = BatchReader::open(few, options);
    if (!reader) {
      EXPECT_THAT(reader, Fails(Errc::budget_too_small));
      continue;
    }
    const auto batch = reader->next();
    ++(batch ? delivered : failed);
    EXPECT_TRUE(batch || batch.error().is(Errc::budget_too_small)) << batch.error().to_string();
    const ReaderStats stats = reader->stats();
    EXPECT_LE(stats.read_ahead_peak + stats.slots * stats.slot_bytes, stats.budget_bytes) << memory;
  }
  EXPECT_GT(delivered, 40u);
  EXPECT_GT(failed, 0u);
}

TEST_F(OpenRunsTest, OfAReplayAreNotRefused) {
  const Dataset large = make_sample(folder_.path("replayed"), kLargeRecords);
  ReaderOptions options{.plan = {.batch = 16}, .memory_bytes = 64 << 20, .replay = 2};
  EXPECT_TRUE(BatchReader::open(large, options).has_value());
}

TEST_F(OpenRunsTest, OfTheGlobalOrderAreABlockForEachLaneAtLeast) {
  const Dataset large = make_sample(folder_.path("blocks"), kLargeRecords);
  ReaderOptions options{.plan = {.batch = 16, .lanes = 16, .order = OrderKind::global},
                        .epochs = 1,
                        .memory_bytes = 64 << 20,
                        .storage = StorageKind::pread};
  const Error refused = BatchReader::open(large, options).error();
  ASSERT_TRUE(refused.is(Errc::budget_too_small)) << refused.to_string();
  const std::uint64_t needed = number_after(refused.detail(), "source of a mix: ");
  ASSERT_GT(needed, 16u * 4'000'000) << refused.detail();
  options.memory_bytes = needed + (4 << 20);
  BatchReader reader = BatchReader::open(large, options).value();
  for (int step = 0; step < 20; ++step) {
    const auto batch = reader.next();
    ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
  }
  const ReaderStats stats = reader.stats();
  EXPECT_LE(stats.read_ahead_peak + stats.slots * stats.slot_bytes, stats.budget_bytes);
  options.plan.batch = options.plan.lanes = 40;
  options.memory_bytes = 0;
  EXPECT_GT(BatchReader::open(large, options).value().stats().budget_bytes, needed / 16 * 40);
}

// Of large records that have blocks of their own, no block is in memory.
TEST_F(OpenRunsTest, OfTheGlobalOrderAreNotRefusedWhereAllRecordsGoStraightToRows) {
  const Dataset images = make_sample(folder_.path("large"), {.shard_records = {40, 40},
                                                             .min_bytes = 1 << 20,
                                                             .max_bytes = 1 << 20,
                                                             .codec = Codec::none,
                                                             .block_bytes = 64 << 10});
  ReaderOptions options{.plan = {.batch = 16, .lanes = 16, .order = OrderKind::global},
                        .epochs = 1,
                        .prefetch = 1,
                        .max_held = 1,
                        .memory_bytes = 40 << 20,
                        .storage = StorageKind::pread};
  options.oversize = Oversize::spill;
  BatchReader reader = BatchReader::open(images, options).value();
  std::uint64_t batches = 0;
  while (reader.next().value()) ++batches;
  EXPECT_EQ(batches, 5u);
  EXPECT_EQ(reader.stats().direct_reads, 80u);
}

// The blocks of one source do not count for the others.
TEST_F(OpenRunsTest, OfTheGlobalOrderAreCountedForEachSourceOfAMix) {
  const Dataset large = make_sample(folder_.path("blocks"), kLargeRecords);
  const Dataset small = make_sample(folder_.path("small"), {.shard_records = {2000}, .min_bytes = 10, .max_bytes = 20});
  ReaderOptions options{.plan = {.batch = 16, .lanes = 16, .order = OrderKind::global}, .memory_bytes = 16 << 20};
  const std::uint64_t alone = needed_of(large, options);
  options.plan.mix.schedule = {{0, {1, 1}}};
  const std::uint64_t mixed = needed_of(Dataset::join(std::vector{large, small}).value(), options);
  EXPECT_GT(mixed, alone);
  EXPECT_LT(mixed, alone + alone / 4);
}

TEST_F(OpenRunsTest, OfTheGlobalOrderFitWithTheMemoryThatTheErrorNames) {
  const Dataset large = make_sample(folder_.path("blocks"), kLargeRecords);
  ReaderOptions options{.plan = {.batch = 16, .lanes = 16, .order = OrderKind::global}, .memory_bytes = 16 << 20};
  const Error refused = BatchReader::open(large, options).error();
  const std::uint64_t more = number_after(refused.detail(), "memory_bytes by ");
  ASSERT_GT(more, 0u) << refused.detail();
  options.memory_bytes += more;
  EXPECT_TRUE(BatchReader::open(large, options).has_value());
}

TEST_F(OpenRunsTest, AreNotNamedWhereAllOfALaneFits) {
  EXPECT_EQ(read(65536, 64 << 20).told, "");
}

}  // namespace
}  // namespace dovetail::test
