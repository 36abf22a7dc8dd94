// SPDX-License-Identifier: Apache-2.0
// Batches of columns, against what protobuf's classes make of the records that their ids name.
#include <dovetail/columns.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/dlpack.h>
#include <dovetail/record_reader.h>

#include "format/example/example_encoder.h"
#include "tests/format/column_reference.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/sample_records.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

using MaybeRecord = std::optional<std::string>;

constexpr const char* kColumns =
    "image:u8[4,4,1], label:i64, tokens:i64[*], weight:f32=1, name:bytes=\"none\", tags:bytes[*]=[]";

/// Record `id`, told by it alone: of different sizes, some without a weight or a name. The label is
/// the id.
std::string example(std::uint64_t id, std::size_t most_tokens) {
  Draws draws(id + 1);
  format::ExampleEncoder encoder;
  const std::string image(16, static_cast<char>(id));
  std::vector<std::int64_t> tokens(draws.below(most_tokens + 1));
  for (std::int64_t& token : tokens) token = static_cast<std::int64_t>(draws.below(100'000));
  const std::string name = "record " + std::to_string(id);
  const std::vector<ByteView> tags(draws.below(3), as_bytes(name));
  encoder.add_bytes("image", as_bytes(image));
  encoder.add_int("label", static_cast<std::int64_t>(id));
  encoder.add_ints("tokens", tokens);
  if (id % 3 == 0) encoder.add_float("weight", 0.5f);
  if (id % 5 != 0) encoder.add_bytes("name", as_bytes(name));
  if (!tags.empty()) encoder.add_bytes("tags", tags);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

/// A record that misses its image.
std::string unfit_example() {
  format::ExampleEncoder encoder;
  encoder.add_int("label", 1);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

struct Sample {
  std::vector<std::uint64_t> shard_records;
  std::size_t most_tokens = 40;
  std::uint64_t unfit_every = 0;  ///< Of the ids; 0 for none.
  std::uint32_t block_bytes = 2048;
  Codec codec = Codec::snappy;

  bool unfit(std::uint64_t id) const { return unfit_every > 0 && id % unfit_every == unfit_every - 1; }
  std::string record(std::uint64_t id) const { return unfit(id) ? unfit_example() : example(id, most_tokens); }
};

Dataset write_sample(const std::string& folder, const Sample& sample, const char* schema = kColumns) {
  DatasetWriterOptions options{.shard = {.codec = sample.codec, .block_bytes = sample.block_bytes, .run_records = 16},
                               .shard_bytes = 0,
                               .encode_threads = 1};
  if (schema != nullptr) options.shard.schema = parse_schema(schema).value();
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  std::uint64_t id = 0;
  for (std::size_t shard = 0; shard < sample.shard_records.size(); ++shard) {
    if (shard > 0) writer.next_shard().value();
    for (std::uint64_t i = 0; i < sample.shard_records[shard]; ++i) {
      writer.append(as_bytes(sample.record(id++))).value();
    }
  }
  writer.finish().value();
  return Dataset::open(folder).value();
}

/// The record whose columns a row must have: the planned one, or that of the row that stands in for
/// it.
MaybeRecord record_of(const Batch& batch, std::uint32_t row, const Sample& sample) {
  switch (batch.status()[row]) {
    case RowStatus::first:
    case RowStatus::repeated:
      return sample.record(batch.ids()[row]);
    case RowStatus::substituted: {
      const auto is_good = [&](std::uint32_t r) {
        return batch.status()[r] == RowStatus::first || batch.status()[r] == RowStatus::repeated;
      };
      for (std::uint32_t r = row; r-- > 0;)
        if (is_good(r)) return sample.record(batch.ids()[r]);
      for (std::uint32_t r = row; r < batch.rows(); ++r)
        if (is_good(r)) return sample.record(batch.ids()[r]);
      return "no good row";
    }
    case RowStatus::empty:
    case RowStatus::damaged_empty:
      break;
    case RowStatus::repeated_substituted:
    case RowStatus::repeated_damaged_empty:
      return "nothing is repeated here";
  }
  return std::nullopt;
}

void expect_columns(const Batch& batch, const Sample& sample) {
  ASSERT_NE(batch.schema(), nullptr);
  std::vector<MaybeRecord> records;
  for (std::uint32_t row = 0; row < batch.rows(); ++row) records.push_back(record_of(batch, row, sample));
  const auto expected = reference_columns(*batch.schema(), records);
  ASSERT_TRUE(expected.has_value());
  ASSERT_EQ(decoded_columns(*batch.schema(), *batch.column_layout(), batch.values()), *expected)
      << "step " << batch.step();
  ASSERT_EQ(batch.slab().size(), batch.layout().values + batch.column_layout()->bytes);
  EXPECT_THAT(batch.offsets(), Each(0)) << "rows have no bytes of their own";
  EXPECT_TRUE(batch.row(batch.rows() - 1).empty());
}

class ColumnsReaderTest : public FolderTest {
 protected:
  static ReaderOptions options(std::uint32_t batch, const char* schema = kColumns) {
    return {.plan = {.batch = batch, .tail = Tail::pad, .open_runs = 4, .pool = 32},
            .epochs = 1,
            .columns = parse_schema(schema).value()};
  }

  Dataset write(const Sample& sample, const char* schema = kColumns) {
    return write_sample(folder_.path("data-" + std::to_string(++datasets_)), sample, schema);
  }

  static bool opens_with_uring(const Dataset& dataset) {
    ReaderOptions options = ColumnsReaderTest::options(1);
    options.storage = StorageKind::io_uring_direct;
    const Result<BatchReader> reader = BatchReader::open(dataset, options);
    return reader.has_value() || !reader.error().is(Errc::resource_limit);
  }

  /// Reads on to the end of the epoch; gives the rows.
  static Rows read(BatchReader& reader, const Sample& sample) {
    Rows rows;
    for (const Batch& batch : reader.epoch()) {
      expect_columns(batch, sample);
      for (std::uint32_t row = 0; row < batch.rows(); ++row) rows.push_back({batch.ids()[row], batch.status()[row]});
    }
    return rows;
  }

  /// Reads up to the failure that there must be, and counts the batches before it.
  static Error read_to_error(BatchReader& reader, const Sample& sample, std::uint64_t* steps = nullptr) {
    for (;;) {
      const Result<std::optional<Batch>> batch = reader.next();
      if (!batch.has_value()) return batch.error();
      if (!batch->has_value()) break;
      expect_columns(**batch, sample);
      if (steps != nullptr) ++*steps;
    }
    ADD_FAILURE() << "the epoch has ended";
    return Error();
  }

  int datasets_ = 0;
};

TEST_F(ColumnsReaderTest, EveryBatchHasWhatProtobufMakesOfItsRecords) {
  constexpr std::uint64_t kSeed = 60606;
  Draws draws(kSeed);
  std::uint64_t spilled = 0;
  const int rounds = kSanitized ? 25 : 100;
  const Sample samples[] = {{.shard_records = {301, 77, 0, 212, 1, 40}},
                            {.shard_records = {90}, .most_tokens = 6000, .block_bytes = 65536},
                            {.shard_records = {301, 77, 212}, .codec = Codec::none}};
  const Dataset datasets[] = {write(samples[0]), write(samples[1]), write(samples[2])};
  const bool has_uring = opens_with_uring(datasets[0]);
  for (int round = 0; round < rounds; ++round) {
    const auto which = std::vector{0u, 0u, 1u, 2u}[draws.below(4)];
    const auto world = static_cast<std::uint32_t>(1 + draws.below(3));
    ReaderOptions options = this->options(static_cast<std::uint32_t>(1 + draws.below(30)));
    options.ranks = {.rank = static_cast<std::uint32_t>(draws.below(world)), .world = world};
    options.plan.order = std::vector{OrderKind::shuffle, OrderKind::sequential, OrderKind::global}[draws.below(3)];
    options.decode_threads = static_cast<unsigned>(1 + draws.below(3));
    options.storage = has_uring && draws.below(2) == 0 ? StorageKind::io_uring_direct : StorageKind::pread;
    options.oversize = Oversize::spill;
    options.prefetch = static_cast<std::uint32_t>(1 + draws.below(4));
    // From hardly enough for some rows of the small records, to enough for a batch of the large
    // ones.
    const std::uint64_t least = which != 1 ? 60'000 : 1'500'000;
    if (draws.below(3) > 0) options.memory_bytes = least + draws.below(least);
    const auto what = "seed " + std::to_string(kSeed) + ", round " + std::to_string(round);
    Result<BatchReader> reader = BatchReader::open(datasets[which], options);
    if (!reader.has_value()) {
      ASSERT_THAT(reader, Fails(Errc::budget_too_small)) << what;
      continue;
    }
    Rows rows;
    ASSERT_NO_FATAL_FAILURE(rows = read(*reader, samples[which])) << what;
    ASSERT_EQ(rows, test::planned(reader->plan(), options.ranks.rank, 0)) << what;
    const ReaderStats stats = reader->stats();
    spilled += stats.spilled_batches;
    ASSERT_EQ(stats.unfit_records, 0u);
  }
  EXPECT_GT(spilled, 0u);
}

// Texts and lists point into the block of their record until the batch ends.
TEST_F(ColumnsReaderTest, TheLastRecordOfABatchOutlivesTheReadThatItWaitedFor) {
  const Sample sample{.shard_records = {301, 77, 212}, .codec = Codec::none};
  const Dataset dataset = write(sample);
  ReaderOptions options = this->options(16);
  options.plan.order = OrderKind::global;
  if (!opens_with_uring(dataset)) GTEST_SKIP() << "this system has no io_uring";
  options.storage = StorageKind::io_uring_direct;  // where every read waits
  Result<BatchReader> reader = BatchReader::open(dataset, options);
  ASSERT_EQ(read(reader.value(), sample), test::planned(reader->plan(), 0, 0));
}

TEST_F(ColumnsReaderTest, AreFoundByNameAndOfAnyChoice) {
  const Sample sample{.shard_records = {40}};
  const Dataset dataset = write(sample);
  BatchReader reader = BatchReader::open(dataset, options(8, "name:bytes=\"none\", label:i32")).value();
  std::optional<Batch> batch = reader.next().value();
  expect_columns(*batch, sample);
  EXPECT_EQ(batch->schema()->columns.size(), 2u);
  const ColumnView label = batch->column("label").value();
  ASSERT_EQ(label.as<std::int32_t>().size(), 8u);
  for (std::uint32_t row = 0; row < 8; ++row) {
    EXPECT_EQ(label.as<std::int32_t>()[row], static_cast<std::int32_t>(batch->ids()[row]));
    if (batch->ids()[row] % 5 != 0) {
      EXPECT_EQ(batch->column(0).text(row), "record " + std::to_string(batch->ids()[row]));
    }
  }
  EXPECT_FALSE(batch->column("image").has_value());
  EXPECT_EQ(reader.stats().bytes, batch->values().size());

  Batch moved = std::move(*batch);
  EXPECT_EQ(batch->schema(), nullptr);
  EXPECT_TRUE(moved.column("label").has_value());
  reader.stop();
  expect_columns(moved, sample);
  moved.release();
  EXPECT_EQ(moved.schema(), nullptr);
  EXPECT_EQ(moved.column_layout(), nullptr);
  EXPECT_FALSE(moved.column("label").has_value());
}

TEST_F(ColumnsReaderTest, WithoutThemABatchHasNone) {
  const Dataset dataset = write({.shard_records = {8}});
  ReaderOptions options = this->options(8);
  options.columns.reset();
  BatchReader reader = BatchReader::open(dataset, options).value();
  const std::optional<Batch> batch = reader.next().value();
  EXPECT_EQ(batch->schema(), nullptr);
  EXPECT_FALSE(batch->column("label").has_value());
}

TEST_F(ColumnsReaderTest, TheDatasetGivesThoseThatItsWriterNamed) {
  const Dataset dataset = write({.shard_records = {3, 4}});
  EXPECT_EQ(to_text(dataset.schema().value()), to_text(parse_schema(kColumns).value()));
  const Dataset joined = Dataset::join(std::vector{dataset, dataset}).value();
  EXPECT_EQ(to_text(joined.schema().value()), to_text(parse_schema(kColumns).value()));

  const Dataset without = write({.shard_records = {3}}, nullptr);
  const Error none = without.schema().error();
  EXPECT_THAT(none, Fails(Errc::invalid_option).in(without.shard_path(0)));
  EXPECT_THAT(none.to_string(), HasSubstr("names no columns"));
  EXPECT_THAT(none.to_string(), HasSubstr("if the records are JSON, convert the JSON lines again"));

  std::filesystem::remove(dataset.shard_path(0));
  EXPECT_TRUE(dataset.schema().has_value()) << "by the shard that is left";
  std::filesystem::remove(dataset.shard_path(1));
  EXPECT_THAT(dataset.schema(), Fails().in(dataset.shard_path(0)));
}

TEST_F(ColumnsReaderTest, ImpossibleColumnsAreRefused) {
  const Dataset dataset = write({.shard_records = {8}});
  ReaderOptions options = this->options(8);
  options.columns->columns[1].name = "image";
  EXPECT_THAT(BatchReader::open(dataset, options), Fails(Errc::invalid_option));
  options = this->options(8, "image:u8[1000000]");
  options.memory_bytes = 20'000'000;
  Error small = BatchReader::open(dataset, options).error();
  EXPECT_TRUE(small.is(Errc::budget_too_small)) << small.to_string();
  EXPECT_THAT(small.detail(), HasSubstr("cannot hold 4 slots (prefetch + max_held) and one block; "));
  EXPECT_THAT(small.detail(), HasSubstr("are enough for the fixed part of the columns; a smaller batch needs less"));
  // A row of more bytes than there are: 2^22 rows of it would come to 4 MiB, counted modulo 2^64.
  std::string wide = "last:u8[2049]";
  for (int i = 0; i < 2048; ++i) wide += ", c" + std::to_string(i) + ":u8[2147483647]";
  options = this->options(1 << 22, wide.c_str());
  small = BatchReader::open(dataset, options).error();
  EXPECT_TRUE(small.is(Errc::budget_too_small)) << small.to_string();
}

TEST_F(ColumnsReaderTest, AColumnOfTextsTakesNoMoreThanItsShareOfTheBudget) {
  // Fixed columns of 19 MB a batch, beside a name: room for both, on any number of threads.
  const Dataset dataset = write({.shard_records = {8}});
  for (const unsigned threads : {1u, 16u, 200u}) {
    ReaderOptions options = this->options(126, "image:u8[150528]=0, name:bytes=\"none\"");
    options.decode_threads = threads;
    options.memory_bytes = 320'000'000;
    EXPECT_TRUE(BatchReader::open(dataset, options).has_value()) << threads;
  }
}

TEST_F(ColumnsReaderTest, ABudgetThatIsNotGivenGrowsWithTheColumns) {
  const Dataset dataset = write({.shard_records = {300}});
  const auto opened = [&](const char* columns) { return BatchReader::open(dataset, options(256, columns)); };
  EXPECT_EQ(opened("label:i64")->stats().budget_bytes, 256u << 20);
  const std::uint64_t pictures = std::uint64_t{256} * 224 * 224 * 3;
  const ReaderStats stats = opened("image:u8[224,224,3]=0")->stats();
  EXPECT_GE(stats.slot_bytes, pictures);
  EXPECT_GE(stats.budget_bytes, 2 * stats.slots * stats.slot_bytes);
  EXPECT_LE(stats.budget_bytes, 3 * stats.slots * pictures);
  EXPECT_THAT(opened("x:f32[8388608]"), Fails(Errc::budget_too_small).saying("memory_bytes = 4294967296 cannot hold"));
}

TEST_F(ColumnsReaderTest, TinyBatchesShareSlots) {
  const Sample sample{.shard_records = {300, 300}, .most_tokens = 4};
  const Dataset dataset = write(sample);
  ReaderOptions options = this->options(2);
  options.max_held = 32;
  options.epochs = 2;
  BatchReader reader = BatchReader::open(dataset, options).value();
  EXPECT_GE(reader.stats().slot_bytes, 4 * reader.slab_bytes());
  Rows rows = read(reader, sample);  // shards open at first, which batches do not wait for
  EXPECT_EQ(rows, test::planned(reader.plan(), 0, 0));
  std::vector<Batch> held;
  for (int i = 0; i < 32; ++i) held.push_back(std::move(*reader.next().value()));
  int side_by_side = 0;
  for (std::size_t i = 1; i < held.size(); ++i) {
    side_by_side += held[i].slab().data() == held[i - 1].slab().data() + reader.slab_bytes() ? 1 : 0;
  }
  EXPECT_GT(side_by_side, 8);
  for (const Batch& batch : held) expect_columns(batch, sample);
}

TEST_F(ColumnsReaderTest, GoesOnFromAStateAndRepeatsForMeasuring) {
  const Sample sample{.shard_records = {120, 55}};
  const Dataset dataset = write(sample);
  BatchReader first = BatchReader::open(dataset, options(7)).value();
  for (int i = 0; i < 9; ++i) expect_columns(*first.next().value(), sample);
  ReaderOptions options = this->options(7);
  options.state = first.state();
  BatchReader second = BatchReader::open(dataset, options).value();
  EXPECT_EQ(read(second, sample), test::planned(first.plan(), 0, 0, 9));

  options = this->options(7);
  options.replay = 3;
  BatchReader replay = BatchReader::open(dataset, options).value();
  for (int i = 0; i < 10; ++i) {
    const std::optional<Batch> batch = replay.next().value();
    EXPECT_EQ(batch->step(), static_cast<std::uint64_t>(i % 3));
    expect_columns(*batch, sample);
  }
}

TEST_F(ColumnsReaderTest, ARecordThatDoesNotFitIsAnErrorThatNamesIt) {
  const Sample sample{.shard_records = {60, 60}, .unfit_every = 100};
  const Dataset dataset = write(sample);
  BatchReader reader = BatchReader::open(dataset, options(10)).value();
  std::uint64_t steps = 0;
  const Error error = read_to_error(reader, sample, &steps);
  EXPECT_THAT(error, Fails(ErrorKind::usage).in(dataset.shard_path(1)));
  const ShardDescription shard = describe_shard(dataset.shard_path(1)).value();
  const auto block = std::find_if(shard.blocks.rbegin(), shard.blocks.rend(),
                                  [](const BlockInfo& info) { return info.first_record <= 39; });
  EXPECT_EQ(error.offset(), block->offset);
  EXPECT_THAT(error.detail(), HasSubstr("column \"image\": the record has no such feature, only \"label\""));
  EXPECT_THAT(error.detail(), HasSubstr("record 39 of the shard (id 99), needed by rank 0 at step " +
                                        std::to_string(steps) + " of epoch 0, does not fit the columns"));
  EXPECT_EQ(reader.error()->to_string(), error.to_string());
  EXPECT_EQ(reader.stats().unfit_records, 1u);
  ASSERT_EQ(reader.stats().damaged.size(), 1u);
  EXPECT_EQ(reader.stats().damaged[0].first_record, 39u);
}

TEST_F(ColumnsReaderTest, WholeRecordsThatAreNoExamplesAreAMatterOfTheColumnsAndDamageIsDamage) {
  const std::pair<std::string, const char*> cases[] = {
      {"{\"label\": 1}", "the record is JSON, but columns need a tf.train.Example"},
      {"a line", "the record is text, but columns need a tf.train.Example"},
      {"\xFF\xD8\xFF\xE0 of an image", "is not a tf.train.Example, which columns need"},
      {example(0, 40).substr(0, 20), "is not a tf.train.Example, which columns need"}};
  for (const auto& [record, says] : cases) {
    const std::string folder = folder_.path("data-" + std::to_string(++datasets_));
    DatasetWriter writer = DatasetWriter::create(folder, {}).value();
    for (int i = 0; i < 10; ++i) writer.append(as_bytes(record)).value();
    writer.finish().value();
    const Dataset dataset = Dataset::open(folder).value();
    for (const bool damaged : {false, true}) {
      const std::uint64_t block = describe_shard(dataset.shard_path(0)).value().blocks.at(0).offset;
      if (damaged) flip_bit(dataset.shard_path(0), block + 64 + 5);
      BatchReader reader = BatchReader::open(dataset, options(2, "label:i64")).value();
      const auto batch = reader.next();
      ASSERT_THAT(batch, Fails(damaged ? ErrorKind::damaged : ErrorKind::usage));
      EXPECT_EQ(batch.error().is(Errc::payload_checksum), damaged);
      if (!damaged) {
        EXPECT_THAT(batch, Fails().saying(says));
        EXPECT_TRUE(verify(folder).value().ok());
      }
    }
  }
}

TEST_F(ColumnsReaderTest, LostRowsAreFilledAsAskedAndCounted) {
  const Sample sample{.shard_records = {300, 301}, .unfit_every = 7};
  const Dataset dataset = write(sample);
  for (const OnDamage policy : {OnDamage::substitute, OnDamage::empty}) {
    for (const std::uint32_t batch : {1u, 3u, 16u}) {
      ReaderOptions options = this->options(batch);
      options.on_damage = policy;
      std::uint64_t warnings = 0;
      options.log = [&](std::string_view line) { warnings += line.ends_with(", does not fit the columns") ? 1 : 0; };
      BatchReader reader = BatchReader::open(dataset, options).value();
      const Rows rows = read(reader, sample);
      const Rows planned = test::planned(reader.plan(), 0, 0);
      ASSERT_EQ(rows.size(), planned.size());
      std::uint64_t lost = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].id, planned[i].id);
        const bool unfit = planned[i].id != kNoId && sample.unfit(planned[i].id);
        lost += unfit ? 1 : 0;
        if (!unfit) {
          EXPECT_EQ(rows[i].status, planned[i].status);
        } else if (policy == OnDamage::empty || batch == 1) {
          EXPECT_EQ(rows[i].status, RowStatus::damaged_empty);
        } else if (batch == 16) {
          EXPECT_EQ(rows[i].status, RowStatus::substituted);
        }
      }
      const ReaderStats stats = reader.stats();
      reader.stop();
      EXPECT_EQ(stats.unfit_records, lost);
      EXPECT_EQ(lost, 601u / 7);
      ASSERT_EQ(stats.damaged.size(), lost);
      EXPECT_EQ(warnings, lost);
      for (const LostRange& range : stats.damaged) {
        EXPECT_EQ(range.end_record, range.first_record + 1);
        const std::uint64_t before = range.file == dataset.shard_path(0) ? 0 : 300;
        EXPECT_TRUE(sample.unfit(before + range.first_record));
      }
    }
  }
}

TEST_F(ColumnsReaderTest, WithTheWrongColumnsEveryRecordIsCountedButNotNamed) {
  const Dataset dataset = write({.shard_records = {500}});
  ReaderOptions options = this->options(10, "image:u8[17]");
  options.on_damage = OnDamage::substitute;
  BatchReader reader = BatchReader::open(dataset, options).value();
  for (const Batch& batch : reader.epoch()) {
    EXPECT_THAT(batch.status(), Each(RowStatus::damaged_empty));
    EXPECT_THAT(batch.column(0).as<std::uint8_t>(), Each(0));
  }
  EXPECT_EQ(reader.stats().unfit_records, 500u);
  EXPECT_EQ(reader.stats().damaged.size(), 100u);
}

TEST_F(ColumnsReaderTest, TheLogEndsWithANoteOnlyIfMoreRecordsAreRejectedThanItNames) {
  for (const std::uint32_t rejected : {100u, 101u}) {
    const Dataset dataset = write({.shard_records = {rejected}});
    ReaderOptions options = this->options(rejected, "image:u8[17]");
    options.on_damage = OnDamage::empty;
    options.epochs = 2;
    std::vector<std::string> log;
    options.log = [&](std::string_view line) { log.emplace_back(line); };
    BatchReader reader = BatchReader::open(dataset, options).value();
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (reader.next().value().has_value()) continue;
    }
    reader.stop();
    EXPECT_EQ(log.size(), rejected);
    const auto noted =
        std::count_if(log.begin(), log.end(), [](const auto& line) { return line.starts_with("further"); });
    EXPECT_EQ(noted, rejected > 100 ? 1 : 0);
  }
}

TEST_F(ColumnsReaderTest, DamagedBlocksAndLostShardsKeepStepsRowsAndIds) {
  const Sample sample{.shard_records = {200, 150, 60}, .block_bytes = 1024};
  const Dataset dataset = write(sample);
  const BlockInfo damaged = describe_shard(dataset.shard_path(0)).value().blocks.at(3);
  flip_bit(dataset.shard_path(0), damaged.offset + 64 + damaged.stored_bytes / 2);
  std::filesystem::remove(dataset.shard_path(2));
  for (const OnDamage policy : {OnDamage::substitute, OnDamage::empty}) {
    ReaderOptions options = this->options(16);
    options.on_damage = policy;
    BatchReader reader = BatchReader::open(dataset, options).value();
    const Rows rows = read(reader, sample);
    const Rows planned = test::planned(reader.plan(), 0, 0);
    ASSERT_EQ(rows.size(), planned.size());
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].id, planned[i].id);
      lost += rows[i].status != planned[i].status ? 1 : 0;
    }
    EXPECT_EQ(lost, damaged.records + 60u);
    EXPECT_EQ(reader.stats().damaged.size(), 2u);
  }
  BatchReader reader = BatchReader::open(dataset, options(16)).value();
  // Whichever comes first: the damaged shard or the one that is not there.
  const Error error = read_to_error(reader, sample);
  EXPECT_TRUE(error.path() == dataset.shard_path(0) || error.path() == dataset.shard_path(2)) << error.to_string();
}

TEST_F(ColumnsReaderTest, ABatchThatDoesNotFitItsSlotFailsOrSpills) {
  const Sample sample{.shard_records = {64}, .most_tokens = 9000, .block_bytes = 32768};
  const Dataset dataset = write(sample);
  ReaderOptions options = this->options(16);
  options.plan.order = OrderKind::sequential;
  options.memory_bytes = 3'500'000;
  BatchReader failing = BatchReader::open(dataset, options).value();
  const Error error = read_to_error(failing, sample);
  EXPECT_TRUE(error.is(Errc::batch_too_large)) << error.to_string();
  options.oversize = Oversize::spill;
  BatchReader spilling = BatchReader::open(dataset, options).value();
  EXPECT_EQ(read(spilling, sample).size(), 64u);
  EXPECT_GT(spilling.stats().spilled_batches, 0u);
}

TEST_F(ColumnsReaderTest, AreTensorsOfTheirShapes) {
  const Dataset dataset = write({.shard_records = {32}});
  BatchReader reader = BatchReader::open(dataset, options(8)).value();
  const auto batch = std::make_shared<const Batch>(std::move(*reader.next().value()));
  using Shape = std::vector<std::int64_t>;
  const auto expect = [&](const char* name, ColumnPart part, DLDataTypeCode code, int bits, const Shape& shape,
                          const void* data) {
    const std::unique_ptr<DLManagedTensor, void (*)(DLManagedTensor*)> tensor(
        to_dlpack(batch, name, part).value(), [](DLManagedTensor* taken) { taken->deleter(taken); });
    const DLTensor& seen = tensor->dl_tensor;
    EXPECT_EQ(seen.data, data) << name;
    EXPECT_EQ(seen.device.device_type, kDLCPU);
    EXPECT_EQ(seen.dtype.code, code) << name;
    EXPECT_EQ(seen.dtype.bits, bits) << name;
    EXPECT_EQ(Shape(seen.shape, seen.shape + seen.ndim), shape) << name;
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) EXPECT_EQ(seen.strides[i], stride) << name;
  };
  const auto column = [&](const char* name) { return batch->column(name).value(); };
  const auto size = [](const auto& span) { return static_cast<std::int64_t>(span.size()); };
  constexpr auto kValues = ColumnPart::values;
  expect("image", kValues, kDLUInt, 8, {8, 4, 4, 1}, column("image").values.data());
  expect("label", kValues, kDLInt, 64, {8}, column("label").values.data());
  expect("weight", kValues, kDLFloat, 32, {8}, column("weight").values.data());
  const ColumnView tokens = column("tokens");
  expect("tokens", kValues, kDLInt, 64, {size(tokens.as<std::int64_t>())}, tokens.values.data());
  expect("tokens", ColumnPart::offsets, kDLInt, 64, {9}, tokens.offsets.data());
  const ColumnView name = column("name");
  expect("name", kValues, kDLUInt, 8, {size(name.values)}, name.values.data());
  expect("name", ColumnPart::text_offsets, kDLInt, 64, {9}, name.text_offsets.data());
  const ColumnView tags = column("tags");
  expect("tags", ColumnPart::offsets, kDLInt, 64, {9}, tags.offsets.data());
  expect("tags", ColumnPart::text_offsets, kDLInt, 64, {tags.offsets[8] + 1}, tags.text_offsets.data());

  EXPECT_THAT(to_dlpack(batch, "none"), Fails().saying("no column \"none\""));
  EXPECT_THAT(to_dlpack(batch, "image", ColumnPart::offsets), Fails(Errc::invalid_option));
  EXPECT_THAT(to_dlpack(batch, "tokens", ColumnPart::text_offsets), Fails(Errc::invalid_option));
  EXPECT_THAT(to_dlpack(batch, BatchPart::rows), Fails(Errc::invalid_option));
  EXPECT_THAT(to_dlpack(std::shared_ptr<const Batch>(), "image"), Fails(Errc::invalid_option));
}

TEST_F(ColumnsReaderTest, WhatStandsInForLostRowsNeverMakesABatchTooLarge) {
  // One long record beside those that are lost: its copies would not fit.
  Sample sample{.shard_records = {16}, .most_tokens = 9000, .unfit_every = 2, .block_bytes = 32768};
  const Dataset dataset = write(sample);
  ReaderOptions options = this->options(16);
  options.plan.order = OrderKind::sequential;
  options.on_damage = OnDamage::substitute;
  options.decode_threads = 1;  // on which the share of a slot depends
  bool none = false;
  bool all = false;
  for (std::uint64_t memory = 2'000'000; memory < 12'000'000; memory += 250'000) {
    options.memory_bytes = memory;
    Result<BatchReader> reader = BatchReader::open(dataset, options);
    if (!reader.has_value()) continue;
    const Result<std::optional<Batch>> batch = reader->next();
    if (!batch.has_value()) continue;
    expect_columns(**batch, sample);
    const auto empty = std::count((*batch)->status().begin(), (*batch)->status().end(), RowStatus::damaged_empty);
    EXPECT_TRUE(empty == 0 || empty == 8) << empty;
    none = none || empty == 8;
    all = all || empty == 0;
  }
  EXPECT_TRUE(none);
  EXPECT_TRUE(all);
}

}  // namespace
}  // namespace dovetail::test
