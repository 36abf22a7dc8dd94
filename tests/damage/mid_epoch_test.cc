// SPDX-License-Identifier: Apache-2.0
// Shards that are cut, overwritten, exchanged, removed or become unreadable while ranks read them:
// every rank still makes its planned steps with its planned ids, and bytes of a row are its
// record's or the row is marked.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset_writer.h>

#include "format/example/example_encoder.h"
#include "tests/damage/failing_file.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/files.h"
#include "tests/support/sample_records.h"

namespace dovetail::test {
namespace {

namespace fs = std::filesystem;

/// How rows are delivered.
enum class Layout { copied, same_size, placed, columns };
enum class Harm { cut, emptied, overwritten, older, replaced, removed, unreadable };
constexpr Layout kLayouts[] = {Layout::copied, Layout::same_size, Layout::placed, Layout::columns};
constexpr Harm kHarms[] = {Harm::cut,      Harm::emptied, Harm::overwritten, Harm::older,
                           Harm::replaced, Harm::removed, Harm::unreadable};
constexpr const char* kLayoutNames[] = {"copied", "same_size", "placed", "columns"};
constexpr const char* kHarmNames[] = {"cut",      "emptied", "overwritten", "older version written over it",
                                      "replaced", "removed", "unreadable"};
constexpr const char* kColumns = "label:i64, image:u8[48], tokens:i64[*]";
const std::vector<std::uint32_t> kWorlds = {1, 2, 4};
constexpr std::uint32_t kShards = 6;
constexpr std::uint32_t kHarmed[] = {
    2, 5};  // read in the order of the dataset, one is in use a third through it, one not open

std::string bytes_of(std::uint64_t id, std::size_t size, std::uint64_t version) {
  return noise(size, 2 * id + version);
}

/// The bytes of a record, and in another version others of the same size.
std::string record_of(Layout layout, std::uint64_t id, std::uint64_t version = 0) {
  Draws draws(id);
  switch (layout) {
    case Layout::copied: {
      const std::size_t size = draws.below(400);
      return bytes_of(id, size / 2, version) + std::string(size - size / 2, 'x');
    }
    case Layout::same_size:
      return bytes_of(id, 400, version);
    case Layout::placed:
      return bytes_of(id, 17'000 + draws.below(8000), version);
    case Layout::columns:
      break;
  }
  format::ExampleEncoder encoder;
  encoder.add_int("label", static_cast<std::int64_t>(2 * id + version));
  const std::string image = bytes_of(id, 48, version);
  encoder.add_bytes("image", as_bytes(image));
  const std::vector<std::int64_t> tokens(draws.below(20), static_cast<std::int64_t>(2 * id + version));
  encoder.add_ints("tokens", tokens);
  std::vector<std::byte> record;
  encoder.encode(record).value();
  return std::string(as_chars(record));
}

/// So many that a reader cannot have read all of them when the damage is done.
std::uint64_t shard_records(Layout layout) {
  if (layout == Layout::same_size) return 960;
  return layout == Layout::placed ? 32 : 320;
}

void write_version(const std::string& folder, Layout layout, std::uint64_t version) {
  DatasetWriterOptions options;
  options.shard_bytes = 0;
  options.encode_threads = 1;
  options.shard.codec = layout == Layout::copied || layout == Layout::columns ? Codec::snappy : Codec::none;
  options.shard.block_bytes = layout == Layout::placed ? 16384 : 2048;
  options.shard.run_records = layout == Layout::placed ? 4 : 16;
  options.shard.dataset_id = DatasetId{{1, 2, 3}};
  if (layout == Layout::columns) options.shard.schema = parse_schema(kColumns).value();
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  for (std::uint64_t id = 0; id < kShards * shard_records(layout); ++id) {
    if (id > 0 && id % shard_records(layout) == 0) writer.next_shard().value();
    writer.append(as_bytes(record_of(layout, id, version))).value();
  }
  writer.finish().value();
}

void overwrite(const std::string& path, ByteView bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(bytes.size())), 0);
  ::close(file);
}

/// A dataset whose shards come to harm, and what they were before.
class HarmedDataset {
 public:
  explicit HarmedDataset(Layout layout) : layout_(layout) {
    write_version(folder_.path("data"), layout, 0);
    write_version(folder_.path("older"), layout, 1);
    dataset_ = Dataset::open(folder_.path("data")).value();
    const Dataset older = Dataset::open(folder_.path("older")).value();
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      good_.push_back(read_file(dataset_->shard_path(shard)));
      older_.push_back(read_file(older.shard_path(shard)));
    }
  }

  Layout layout() const { return layout_; }
  const Dataset& dataset() const { return *dataset_; }

  void harm(Harm harm) {
    for (const std::uint32_t shard : kHarmed) harm_shard(harm, shard);
  }

  /// All shards are as they were, under the same names. Files that were replaced or removed are new
  /// ones.
  void mend() {
    failing_.reset();
    for (const std::uint32_t shard : kHarmed) {
      const std::string path = dataset_->shard_path(shard);
      if (fs::exists(path)) {
        overwrite(path, good_[shard]);
      } else {
        write_file(path, as_chars(good_[shard]));
      }
    }
  }

 private:
  void harm_shard(Harm harm, std::uint32_t shard) {
    const std::string path = dataset_->shard_path(shard);
    Bytes bytes = good_[shard];
    switch (harm) {
      case Harm::cut:
        return fs::resize_file(path, bytes.size() / 2 + 100);
      case Harm::emptied:
        return fs::resize_file(path, 0);
      case Harm::overwritten:
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] ^= static_cast<std::byte>(i / 7 | 1);
        return overwrite(path, bytes);
      case Harm::older:
        return overwrite(path, older_[shard]);
      case Harm::replaced:
        write_file(path + ".new", as_chars(older_[shard]));
        return fs::rename(path + ".new", path);
      case Harm::removed:
        fs::remove(path);
        return;
      case Harm::unreadable:
        if (shard == kHarmed[0]) failing_ = std::make_unique<FailingFile>(path);
        return;
    }
  }

  const Layout layout_;
  TempFolder folder_;
  std::optional<Dataset> dataset_;
  std::vector<Bytes> good_;
  std::vector<Bytes> older_;
  std::unique_ptr<FailingFile> failing_;
};

ReaderOptions options_for(Layout layout, OrderKind order, OnDamage on_damage, std::uint32_t rank, std::uint32_t world) {
  ReaderOptions options{.ranks = {.rank = rank, .world = world},
                        .plan = {.batch = layout == Layout::placed ? 4u : 10u,
                                 .order = order,
                                 .tail = Tail::pad,
                                 .open_runs = 4,
                                 .pool = 16},
                        .on_damage = on_damage,
                        .oversize = Oversize::spill,
                        .prefetch = 1,
                        .max_held = 1,
                        .storage = StorageKind::pread,
                        .io_threads = 1,
                        .decode_threads = 1,
                        .registration = Registration::off};
  // As little as the ways of delivery take: what is read ahead of the damage does not meet it.
  options.memory_bytes = layout == Layout::same_size ? 3 << 20 : layout == Layout::placed ? 2 << 20 : 1 << 20;
  if (layout == Layout::columns) options.columns = parse_schema(kColumns).value();
  return options;
}

bool is_good(RowStatus status) {
  return status == RowStatus::first || status == RowStatus::repeated;
}

struct Case {
  Harm harm;
  OrderKind order;
  OnDamage on_damage;
  std::uint32_t world;
};

std::ostream& operator<<(std::ostream& out, const Case& how) {
  return out << kHarmNames[static_cast<int>(how.harm)] << ", order " << static_cast<int>(how.order) << ", policy "
             << static_cast<int>(how.on_damage) << ", world " << how.world;
}

template <class Body>
void for_each_case(std::initializer_list<OnDamage> policies, const std::vector<std::uint32_t>& worlds, Body body) {
  for (const Harm harm : kHarms) {
    for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential}) {
      for (const OnDamage on_damage : policies) {
        for (const std::uint32_t world : worlds) {
          const Case how{harm, order, on_damage, world};
          SCOPED_TRACE(how);
          body(how);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

/// One rank that reads, and what it must get.
class Rank {
 public:
  Rank(const HarmedDataset& data, const Case& how, std::uint32_t rank, std::uint32_t epochs)
      : data_(data), rank_(rank), on_damage_(how.on_damage) {
    ReaderOptions options = options_for(data.layout(), how.order, how.on_damage, rank, how.world);
    options.epochs = epochs;
    reader_.emplace(BatchReader::open(data.dataset(), options).value());
    begin_epoch(0);
  }

  std::uint64_t steps() const { return reader_->steps(epoch_).value(); }
  bool failed() const { return failed_; }
  std::uint64_t marked() const { return marked_; }
  /// Marked rows of the present epoch.
  std::uint64_t marked_now() const { return marked_now_; }

  void begin_epoch(std::uint32_t epoch) {
    epoch_ = epoch;
    step_ = 0;
    marked_now_ = 0;
    planned_ = test::planned(reader_->plan(), rank_, epoch);
  }

  void take_step() {
    if (failed_) return;
    const Result<std::optional<Batch>> batch = reader_->next();
    if (!batch.has_value()) return check_failure(batch.error());
    ASSERT_TRUE(batch->has_value()) << "the epoch ends before step " << step_ << " of " << steps();
    const Batch& rows = **batch;
    ASSERT_EQ(rows.step(), step_);
    for (std::uint32_t row = 0; row < rows.rows(); ++row) {
      const Row& planned = planned_.at(step_ * rows.rows() + row);
      ASSERT_EQ(rows.ids()[row], planned.id);
      ASSERT_NO_FATAL_FAILURE(check_row(rows, row, planned.status));
    }
    ++step_;
  }

  void end_epoch() {
    if (failed_) return;
    ASSERT_EQ(step_, steps());
    const Result<std::optional<Batch>> end = reader_->next();
    ASSERT_TRUE(end.has_value()) << end.error().to_string();
    EXPECT_FALSE(end->has_value()) << "more steps than planned";
  }

  /// Every row that was marked lies in a range that the stats name, and nothing that was not harmed
  /// is named.
  void check_stats() const {
    const ReaderStats stats = reader_->stats();
    EXPECT_EQ(stats.rows_substituted + stats.rows_damaged_empty, marked_);
    for (const std::uint64_t id : marked_ids_) {
      const Dataset::Place place = data_.dataset().locate(id);
      const std::string file = data_.dataset().shard_path(place.shard);
      EXPECT_TRUE(std::any_of(stats.damaged.begin(), stats.damaged.end(),
                              [&](const LostRange& range) {
                                return range.file == file && range.first_record <= place.record &&
                                       place.record < range.end_record;
                              }))
          << "record " << place.record << " of " << file << " is in none of " << stats.damaged.size() << " ranges";
    }
    for (const LostRange& range : stats.damaged) {
      EXPECT_FALSE(range.reason.empty());
      EXPECT_THAT(range.reason, ::testing::Not(::testing::HasSubstr(range.file)));
      EXPECT_TRUE(is_harmed(range.file)) << range.file;
    }
  }

 private:
  bool is_harmed(const std::string& file) const {
    return std::any_of(std::begin(kHarmed), std::end(kHarmed),
                       [&](std::uint32_t shard) { return file == data_.dataset().shard_path(shard); });
  }

  /// Whose record a row must have; nothing where it is empty.
  std::optional<std::uint64_t> source_of(const Batch& batch, std::uint32_t row) {
    const RowStatus status = batch.status()[row];
    if (is_good(status)) return batch.ids()[row];
    if (status != RowStatus::substituted) return std::nullopt;
    for (std::uint32_t before = row; before-- > 0;) {
      if (is_good(batch.status()[before])) return batch.ids()[before];
    }
    for (std::uint32_t after = row + 1; after < batch.rows(); ++after) {
      if (is_good(batch.status()[after])) return batch.ids()[after];
    }
    return std::nullopt;
  }

  void check_row(const Batch& batch, std::uint32_t row, RowStatus planned) {
    const RowStatus status = batch.status()[row];
    const std::optional<std::uint64_t> source = source_of(batch, row);
    if (status != planned) {
      const bool stands_in = status == RowStatus::substituted && on_damage_ == OnDamage::substitute;
      ASSERT_TRUE(stands_in || status == RowStatus::damaged_empty) << "status " << static_cast<int>(status);
      ASSERT_NE(on_damage_, OnDamage::fail);
      ASSERT_EQ(source.has_value(), stands_in);
      if (on_damage_ == OnDamage::substitute && !stands_in) {
        const auto statuses = batch.status();
        ASSERT_TRUE(std::none_of(statuses.begin(), statuses.end(), is_good)) << "a good row could stand in";
      }
      ++marked_;
      ++marked_now_;
      marked_ids_.push_back(batch.ids()[row]);
      ASSERT_TRUE(is_harmed(data_.dataset().shard_path(data_.dataset().locate(batch.ids()[row]).shard)));
    }
    if (data_.layout() == Layout::columns) return check_columns(batch, row, source);
    ASSERT_TRUE(as_chars(batch.row(row)) == (source ? record_of(data_.layout(), *source) : std::string()))
        << "other bytes than those of the record";
  }

  static void check_columns(const Batch& batch, std::uint32_t row, std::optional<std::uint64_t> source) {
    const auto label = batch.column("label")->as<std::int64_t>();
    const auto image = batch.column("image")->as<std::uint8_t>().subspan(row * std::size_t{48}, 48);
    const auto tokens = *batch.column("tokens");
    const auto count = tokens.offsets[row + 1] - tokens.offsets[row];
    ASSERT_EQ(label[row], source ? static_cast<std::int64_t>(2 * *source) : 0);
    const std::string pixels = source ? bytes_of(*source, 48, 0) : std::string(48, '\0');
    ASSERT_TRUE(std::equal(image.begin(), image.end(), pixels.begin(),
                           [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); }));
    ASSERT_EQ(count, source ? static_cast<std::int64_t>(Draws(*source).below(20)) : 0);
  }

  void check_failure(const Error& error) {
    failed_ = true;
    ASSERT_EQ(on_damage_, OnDamage::fail) << error.to_string();
    const std::string text = error.to_string();
    EXPECT_TRUE(is_harmed(error.path())) << text;
    EXPECT_NE(text.find("records ["), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(rank_) + " at step " + std::to_string(step_) + " of epoch " +
                        std::to_string(epoch_)),
              std::string::npos)
        << text << "\nat step " << step_;
    EXPECT_EQ(reader_->next().error().to_string(), text) << "the first failure stays the answer";
  }

  const HarmedDataset& data_;
  const std::uint32_t rank_;
  const OnDamage on_damage_;
  std::optional<BatchReader> reader_;
  std::uint32_t epoch_ = 0;
  std::uint64_t step_ = 0;
  Rows planned_;
  bool failed_ = false;
  std::uint64_t marked_ = 0;
  std::uint64_t marked_now_ = 0;
  std::vector<std::uint64_t> marked_ids_;
};

struct Outcome {
  std::uint64_t readers = 0;
  std::uint64_t marked = 0;
  std::uint64_t failed = 0;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

Ranks open_ranks(const HarmedDataset& data, const Case& how, std::uint32_t epochs) {
  Ranks ranks;
  for (std::uint32_t rank = 0; rank < how.world; ++rank) {
    ranks.push_back(std::make_unique<Rank>(data, how, rank, epochs));
  }
  return ranks;
}

/// Takes steps [first, end) with all ranks in turn.
void take_steps(Ranks& ranks, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t step = first; step < end; ++step) {
    for (const auto& rank : ranks) ASSERT_NO_FATAL_FAILURE(rank->take_step());
  }
}

void add(const Ranks& ranks, Outcome& outcome) {
  for (const auto& rank : ranks) {
    ++outcome.readers;
    outcome.marked += rank->marked();
    outcome.failed += rank->failed() ? 1 : 0;
    rank->check_stats();
  }
}

class MidEpochTest : public ::testing::TestWithParam<Layout> {};

TEST_P(MidEpochTest, RowsAreDeliveredInTheWayThatIsMeant) {
  const HarmedDataset data(GetParam());
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential}) {
    BatchReader reader =
        BatchReader::open(data.dataset(), options_for(GetParam(), order, OnDamage::fail, 0, 1)).value();
    ASSERT_TRUE(reader.next().value().has_value());
    const ReaderStats stats = reader.stats();
    EXPECT_EQ(stats.direct_reads > 0, GetParam() == Layout::placed);
  }
}

TEST_P(MidEpochTest, RanksMakeTheirStepsOrNameWhatStopsThem) {
  HarmedDataset data(GetParam());
  Outcome outcome;
  for_each_case({OnDamage::fail, OnDamage::substitute, OnDamage::empty}, kWorlds, [&](const Case& how) {
    Ranks ranks = open_ranks(data, how, 1);
    const std::uint64_t steps = ranks.front()->steps();
    ASSERT_NO_FATAL_FAILURE(take_steps(ranks, 0, steps / 8));
    data.harm(how.harm);
    ASSERT_NO_FATAL_FAILURE(take_steps(ranks, steps / 8, steps));
    for (const auto& rank : ranks) rank->end_epoch();
    add(ranks, outcome);
    data.mend();
  });
  // Of one kind of damage alone it is a matter of time whether what it hits was read before.
  EXPECT_GT(outcome.marked, 0u);
  EXPECT_GT(outcome.failed, 0u);
  std::printf("%llu epochs with damage in the middle, %llu rows marked, %llu readers stopped\n",
              static_cast<unsigned long long>(outcome.readers), static_cast<unsigned long long>(outcome.marked),
              static_cast<unsigned long long>(outcome.failed));
}

// A reader continues for epochs. It checks again what was damaged once, except what was planned
// before.
TEST_P(MidEpochTest, ShardsThatComeBackAreReadAgain) {
  constexpr std::uint32_t kMostEpochs =
      100;  // thousands of rows may be planned ahead, of which an epoch here has some hundreds
  HarmedDataset data(GetParam());
  Outcome outcome;
  for_each_case({OnDamage::empty}, {1, 2}, [&](const Case& how) {
    Ranks ranks = open_ranks(data, how, 0);
    const std::uint64_t steps = ranks.front()->steps();
    ASSERT_NO_FATAL_FAILURE(take_steps(ranks, 0, steps / 4));
    data.harm(how.harm);
    ASSERT_NO_FATAL_FAILURE(take_steps(ranks, steps / 4, steps / 2));
    data.mend();
    ASSERT_NO_FATAL_FAILURE(take_steps(ranks, steps / 2, steps));
    bool all_back = false;
    for (std::uint32_t epoch = 1; !all_back; ++epoch) {
      ASSERT_LT(epoch, kMostEpochs) << "rows are still marked";
      for (const auto& rank : ranks) {
        rank->end_epoch();
        rank->begin_epoch(epoch);
      }
      ASSERT_NO_FATAL_FAILURE(take_steps(ranks, 0, steps));
      all_back = std::all_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank->marked_now() == 0; });
    }
    add(ranks, outcome);
  });
  std::printf("%llu readers whose shards came back, %llu rows marked\n",
              static_cast<unsigned long long>(outcome.readers), static_cast<unsigned long long>(outcome.marked));
}

// A row says whether its damaged record was to be delivered for the first time, so digests stay
// those of the plan.
TEST_P(MidEpochTest, RepetitionsOfDamagedRecordsAreNotTakenForThem) {
  HarmedDataset data(GetParam());
  data.harm(Harm::overwritten);
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential}) {
    for (const OnDamage on_damage : {OnDamage::substitute, OnDamage::empty}) {
      const Case how{Harm::overwritten, order, on_damage, 1};
      SCOPED_TRACE(how);
      const bool fills = on_damage == OnDamage::substitute;
      ReaderOptions options = options_for(GetParam(), order, on_damage, 0, 1);
      options.plan.tail = Tail::wrap;
      options.plan.batch =
          static_cast<std::uint32_t>(data.dataset().records() / 6 * 5);  // of the second step, most rows repeat
      options.memory_bytes = 64 << 20;
      BatchReader reader = BatchReader::open(data.dataset(), options).value();
      const Rows planned = test::planned(reader.plan(), 0, 0);
      std::map<RowStatus, std::uint64_t> rows;
      Hash128 digest;
      std::size_t at = 0;
      for (std::uint64_t step = 0; step < 2; ++step) {
        const std::optional<Batch> batch = reader.next().value();
        ASSERT_TRUE(batch.has_value());
        for (std::uint32_t row = 0; row < batch->rows(); ++row, ++at) {
          const RowStatus status = batch->status()[row];
          ASSERT_EQ(batch->ids()[row], planned[at].id);
          ASSERT_EQ(is_repetition(status), is_repetition(planned[at].status));
          if (is_counted(status)) digest += record_digest(batch->ids()[row]);
          ++rows[status];
        }
      }
      EXPECT_EQ(digest, reader.plan().epoch(0).value().digest());
      EXPECT_GT(rows[RowStatus::first], 0u);
      EXPECT_GT(rows[RowStatus::repeated], 0u);
      EXPECT_EQ(rows[RowStatus::substituted] > 0, fills);
      EXPECT_EQ(rows[RowStatus::repeated_substituted] > 0, fills);
      EXPECT_EQ(rows[RowStatus::damaged_empty] > 0, !fills);
      EXPECT_EQ(rows[RowStatus::repeated_damaged_empty] > 0, !fills);
      const ReaderStats stats = reader.stats();
      EXPECT_EQ(stats.rows_substituted, rows[RowStatus::substituted] + rows[RowStatus::repeated_substituted]);
      EXPECT_EQ(stats.rows_damaged_empty, rows[RowStatus::damaged_empty] + rows[RowStatus::repeated_damaged_empty]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, MidEpochTest, ::testing::ValuesIn(kLayouts),
                         [](const auto& layout) { return std::string(kLayoutNames[static_cast<int>(layout.param)]); });

}  // namespace
}  // namespace dovetail::test
