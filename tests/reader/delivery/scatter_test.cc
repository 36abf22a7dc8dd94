// SPDX-License-Identifier: Apache-2.0
// Readers that scatter records into steps laid out before: they deliver what all other readers do.
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <dovetail/record_reader.h>
#include <dovetail/timeline.h>

#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/cases.h"
#include "tests/support/gated_storage.h"
#include "tests/support/shuffled_storage.h"

namespace dovetail {
namespace {

using detail::Engine;
using testing::GatedStorage;

testing::SampleShape fixed(std::uint32_t bytes, Codec codec, std::uint32_t block_bytes,
                           std::uint64_t run_records = 16) {
  return {{601, 177, 0, 912, 1, 240}, bytes, bytes, codec, block_bytes, run_records};
}

/// Opens every shard late, so that planning is blocked while steps wait for what it has planned.
class LateOpening final : public detail::Storage {
 public:
  explicit LateOpening(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  ~LateOpening() override { stop(); }

  boost::asio::any_io_executor blocking_executor() override {
    boost::asio::post(opens_, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    return opens_.get_executor();
  }
  Result<bool> try_read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into) override {
    return inner_->try_read(file, offset, into);
  }
  void read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into, ReadHandler done) override {
    inner_->read(file, offset, into, std::move(done));
  }
  void will_need(const detail::InputFile& file, std::uint64_t offset, std::uint64_t bytes) noexcept override {
    inner_->will_need(file, offset, bytes);
  }
  const detail::StorageFacts& facts() const noexcept override { return inner_->facts(); }
  void stop() override {
    opens_.join();
    inner_->stop();
  }

 private:
  const std::unique_ptr<Storage> inner_;
  boost::asio::thread_pool opens_{1};
};

ReaderOptions base_options(std::uint32_t batch) {
  ReaderOptions options;
  options.plan.batch = batch;
  options.plan.open_runs = 4;
  options.plan.pool = 32;
  options.epochs = 1;
  options.oversize = Oversize::spill;
  options.storage = StorageKind::pread;
  options.registration = Registration::off;
  return options;
}

bool would_scatter(const Dataset& dataset, const ReaderOptions& options) {
  const Result<detail::MemoryShares> shares = detail::share_memory(dataset, options, 0);
  if (!shares.has_value()) return false;
  PlanOptions plan = options.plan;
  plan.world = options.ranks.world;
  return detail::share_for_scattering(*shares, dataset, Plan::make(dataset.shape(), plan).value(), options, true)
      .scatters;
}

/// The least budget with which a reader scatters.
std::uint64_t least_memory(const Dataset& dataset, ReaderOptions options) {
  std::uint64_t too_little = 0;
  std::uint64_t enough = options.memory_bytes;
  while (too_little + 1 < enough) {
    options.memory_bytes = (too_little + enough) / 2;
    (would_scatter(dataset, options) ? enough : too_little) = options.memory_bytes;
  }
  return enough;
}

std::unique_ptr<Engine> open(const Dataset& dataset, const ReaderOptions& options) {
  return testing::open_engine(dataset, options, [](auto inner) { return inner; }).value();
}

bool scatters(const Engine& engine, const ReaderOptions& options) {
  return engine.stats().slots > options.prefetch + options.max_held;
}

/// The batches that a trainer holds, as many as it may or some of them, each with what it was when it came.
class Holder {
 public:
  Holder(const ReaderOptions& options, std::uint64_t seed)
      : max_(options.max_held), random_(seed), most_(seed % 2 == 0) {}
  ~Holder() { release_to(0); }
  void make_room() {
    release_to(max_ - 1);
    while (!most_ && !held_.empty() && random_() % 2 == 0) release_to(held_.size() - 1);
  }
  void add(Batch batch) {
    std::string slab(as_chars(batch.slab()));
    held_.emplace_back(std::move(batch), std::move(slab));
  }
  void release_to(std::size_t left) {
    for (; held_.size() > left; held_.pop_front()) {
      const auto& [batch, slab] = held_.front();
      EXPECT_TRUE(as_chars(batch.slab()) == slab) << "step " << batch.step() << " was written over while it was held";
    }
  }

 private:
  const std::uint32_t max_;
  std::mt19937_64 random_;
  const bool most_;
  std::deque<std::pair<Batch, std::string>> held_;
};

using RecordOf = std::function<std::string(std::uint64_t id)>;

void expect_same(const Batch& got, const Batch& expected, const RecordOf& record_of) {
  SCOPED_TRACE("epoch " + std::to_string(expected.epoch()) + ", step " + std::to_string(expected.step()));
  ASSERT_EQ(got.position_after(), expected.position_after());
  ASSERT_EQ(got.valid(), expected.valid());
  ASSERT_EQ(got.state(), expected.state());
  ASSERT_TRUE(std::ranges::equal(got.ids(), expected.ids()));
  ASSERT_TRUE(std::ranges::equal(got.status(), expected.status()));
  ASSERT_TRUE(std::ranges::equal(got.offsets(), expected.offsets()));
  ASSERT_TRUE(as_chars(got.values()) == as_chars(expected.values()));
  for (std::uint32_t row = 0; row < got.rows(); ++row) {
    if (got.status()[row] != RowStatus::first && got.status()[row] != RowStatus::repeated) continue;
    ASSERT_TRUE(as_chars(got.row(row)) == record_of(got.ids()[row])) << "id " << got.ids()[row];
  }
}

/// Reads both to their ends, or to the same failure.
void expect_same(Engine& engine, Engine& plain, const ReaderOptions& options, const RecordOf& record_of) {
  ASSERT_TRUE(scatters(engine, options));
  ASSERT_FALSE(scatters(plain, options));
  Holder held(options, options.plan.seed);
  for (std::uint32_t ended = 0; ended < options.epochs;) {
    held.make_room();
    Result<std::optional<Batch>> got = engine.next();
    const Result<std::optional<Batch>> expected = plain.next();
    ASSERT_EQ(got.has_value(), expected.has_value()) << (got.has_value() ? expected.error() : got.error()).to_string();
    if (!got.has_value()) {
      EXPECT_EQ(got.error().to_string(), expected.error().to_string());  // with path and offset
      return;
    }
    ASSERT_EQ(got->has_value(), expected->has_value());
    ended += got->has_value() ? 0 : 1;
    if (!got->has_value()) continue;
    expect_same(**got, **expected, record_of);
    if (::testing::Test::HasFatalFailure()) return;
    held.add(std::move(**got));
  }
}

struct ScatteredSample {
  Dataset dataset;
  RecordOf record_of;
};

/// Compares a reader that scatters, with any budget, with one whose budget is just too small for that. Whether it failed.
bool compare(const ScatteredSample& sample, ReaderOptions options, std::mt19937_64& random,
             const testing::WrapStorage& wrap) {
  const std::uint64_t least = least_memory(sample.dataset, options);
  ReaderOptions little = options;
  little.memory_bytes = least - 1;
  little.timeline = nullptr;
  if (random() % 3 > 0) options.memory_bytes = least + (random() % 2 == 0 ? 0 : random() % least);
  SCOPED_TRACE("memory " + std::to_string(options.memory_bytes));
  const std::unique_ptr<Engine> plain = open(sample.dataset, little);
  const std::unique_ptr<Engine> engine = testing::open_engine(sample.dataset, options, wrap).value();
  expect_same(*engine, *plain, options, sample.record_of);
  if (::testing::Test::HasFatalFailure()) return false;
  const ReaderStats stats = engine->stats();
  EXPECT_LE(stats.slots * stats.slot_bytes + stats.read_ahead_peak, options.memory_bytes);
  EXPECT_EQ(stats.rows_damaged_empty, plain->stats().rows_damaged_empty);
  EXPECT_EQ(stats.rows_substituted, plain->stats().rows_substituted);
  EXPECT_TRUE(options.on_damage == OnDamage::fail || !stats.damaged.empty()) << "no damage was met";
  return engine->error().has_value();
}

ScatteredSample make(const testing::TempFolder& folder, const std::string& name, const testing::SampleShape& shape) {
  return {testing::make_sample(folder.path(name), shape),
          [shape](std::uint64_t id) { return testing::sample_record(id, shape); }};
}

const std::vector<ScatteredSample>& samples() {
  static const testing::TempFolder folder;
  static const std::vector<ScatteredSample> all = [] {
    std::vector<ScatteredSample> made;
    for (const testing::SampleShape& shape :
         {fixed(300, Codec::none, 4096), fixed(1024, Codec::none, 8192), fixed(300, Codec::snappy, 4096),
          fixed(1024, Codec::snappy, 8192, 32), fixed(1000, Codec::none, 16384, 48), fixed(256, Codec::snappy, 1024, 1),
          fixed(512, Codec::none, 65536, 100)}) {
      made.push_back(make(folder, std::to_string(made.size()), shape));
    }
    // Shards whose sizes differ from each other.
    const auto join = [](const ScatteredSample& a, const ScatteredSample& b) -> ScatteredSample {
      return {Dataset::join(std::vector<Dataset>{a.dataset, b.dataset}).value(), [a, b](std::uint64_t id) {
                return id < a.dataset.records() ? a.record_of(id) : b.record_of(id - a.dataset.records());
              }};
    };
    made.push_back(join(made[0], made[3]));
    return made;
  }();
  return all;
}

TEST(ScatterTest, ReadersOfRecordsOfOneMiddlingSizeScatterAndOthersDoNot) {
  const auto opens = [](const ScatteredSample& sample, const ReaderOptions& how) {
    return scatters(*open(sample.dataset, how), how);
  };
  const ReaderOptions options = base_options(16);
  for (const ScatteredSample& sample : samples()) {
    EXPECT_TRUE(opens(sample, options));
    ReaderOptions other = options;
    other.memory_bytes = least_memory(sample.dataset, options) - 1;
    EXPECT_FALSE(opens(sample, other));
    other.memory_bytes += 1;
    EXPECT_TRUE(opens(sample, other));
    other.plan.order = OrderKind::global;
    EXPECT_FALSE(opens(sample, other));
    other = options;
    other.plan.order = OrderKind::sequential;
    EXPECT_TRUE(opens(sample, other));
    other.replay = 7;
    EXPECT_EQ(open(sample.dataset, other)->stats().slots, 7u);
  }
  ReaderOptions mix = options;
  mix.plan.mix.schedule = {{.from_step = 0, .weights = {1, 1}}};
  EXPECT_FALSE(opens(samples().back(), mix));
  const testing::TempFolder folder;
  testing::SampleShape varied = fixed(300, Codec::none, 4096);
  varied.max_bytes = 301;
  EXPECT_FALSE(opens(make(folder, "varied", varied), options));
  EXPECT_FALSE(opens(make(folder, "small", fixed(64, Codec::none, 4096)), options));
  EXPECT_FALSE(opens(make(folder, "large", fixed(20000, Codec::none, 65536)), options));
}

ReaderOptions draw_options(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<std::uint32_t> from) { return *(from.begin() + random() % from.size()); };
  ReaderOptions options = base_options(pick({5, 16, 64, 100}));
  const std::uint32_t world = pick({1, 2, 3});
  options.ranks = {.rank = static_cast<std::uint32_t>(random() % world), .world = world};
  const std::uint32_t per_rank = pick({1, 1, 2, 5});
  if (options.plan.batch % per_rank == 0) options.plan.lanes = world * per_rank;
  options.plan.world = world;
  options.plan.order = pick({0, 0, 0, 1}) == 0 ? OrderKind::shuffle : OrderKind::sequential;
  options.plan.tail = static_cast<Tail>(pick({0, 1, 2}));
  options.plan.open_runs = pick({1, 4, 96});
  options.plan.pool = pick({1, 32, 256});
  options.plan.seed = random() % 1000;
  options.epochs = 2;
  options.prefetch = pick({1, 2, 4});
  options.max_held = pick({1, 2, 4});
  options.decode_threads = pick({1, 2, 4});
  return options;
}

testing::WrapStorage draw_storage(std::mt19937_64& random) {
  return [kind = random() % 4, seed = random()](std::unique_ptr<detail::Storage> inner) {
    if (kind == 0) return inner;
    if (kind == 1) inner = std::make_unique<LateOpening>(std::move(inner));
    if (kind == 2) inner = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no);
    if (kind >= 2) inner = std::make_unique<testing::ShuffledStorage>(std::move(inner), seed);
    return inner;
  };
}

TEST(ScatterTest, AnyPlanIsDeliveredAsByAReaderThatGathersAndWithinTheBudget) {
  const std::uint64_t cases = testing::Cases{.sanitized = 24, .some = 32, .all = 96}.count();
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t number = random() % samples().size();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sample " + std::to_string(number));
    const ScatteredSample& sample = samples()[number];
    ReaderOptions options = draw_options(random);
    const Plan plan = Plan::make(sample.dataset.shape(), options.plan).value();
    options.start.epoch = static_cast<std::uint32_t>(random() % 3);
    if (random() % 2 == 0) options.start.step = random() % (plan.steps(options.start.epoch).value() + 1);
    compare(sample, options, random, draw_storage(random));
    if (::testing::Test::HasFailure()) return;
  }
}

/// Flips a bit of some blocks.
void damage(const Dataset& dataset, std::mt19937_64& random, std::uint64_t blocks) {
  for (; blocks > 0; --blocks) {
    const std::string path = dataset.shard_path(random() % 2 == 0 ? 0 : 3);
    const std::vector<BlockInfo> all = describe_shard(path).value().blocks;
    const BlockInfo& block = all[random() % all.size()];
    testing::flip_bit(path, block.offset + 64 + random() % block.stored_bytes, static_cast<unsigned>(random() % 8));
  }
}

/// Reads what is damaged in all three ways.
void compare_damaged(const ScatteredSample& sample, ReaderOptions options, std::mt19937_64& random,
                     const testing::WrapStorage& wrap) {
  for (const OnDamage policy : {OnDamage::fail, OnDamage::substitute, OnDamage::empty}) {
    SCOPED_TRACE("on damage " + std::to_string(int(policy)));
    options.on_damage = policy;
    const bool failed = compare(sample, options, random, wrap);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(failed, policy == OnDamage::fail);
  }
}

TEST(ScatterTest, DamageDoesWhatItDoesToAReaderThatGathersAndIsForgottenByTheSlot) {
  const std::uint64_t cases = testing::Cases{.sanitized = 8, .some = 8, .all = 24}.count();
  const testing::TempFolder folder;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool small = random() % 2 == 0;
    const testing::SampleShape shape =
        fixed(small ? 300 : 1024, random() % 2 == 0 ? Codec::none : Codec::snappy, small ? 4096 : 8192);
    const ScatteredSample sample = make(folder, std::to_string(seed), shape);
    const std::uint64_t kind = seed % 4;
    damage(sample.dataset, random, kind == 0 ? 1 : kind == 1 ? 8 : kind == 2 ? 40 : 0);
    if (kind == 2) std::filesystem::remove(sample.dataset.shard_path(1));
    if (kind == 3) std::filesystem::resize_file(sample.dataset.shard_path(3), 10000);
    ReaderOptions options = base_options(random() % 2 == 0 ? 16 : 60);
    options.plan.lanes = random() % 2 == 0 ? 1 : 4;
    options.plan.tail = static_cast<Tail>(1 + random() % 2);
    options.plan.open_runs = random() % 2 == 0 ? 1 : 8;
    options.plan.pool = random() % 2 == 0 ? 1 : 32;
    if (random() % 4 == 0) options.plan.order = OrderKind::sequential;
    options.plan.seed = seed;
    options.epochs = 4;
    compare_damaged(sample, options, random, draw_storage(random));
    if (::testing::Test::HasFailure()) return;
  }
}

// Where the blocks of one step do not fit the budget together, it is made in several parts.
TEST(ScatterTest, DamageInAStepWhoseBlocksDoNotFitTogetherIsRepairedAsWell) {
  const testing::SampleShape shape = fixed(256, Codec::snappy, 1024, 1);
  const testing::TempFolder folder;
  const ScatteredSample sample = make(folder, "data", shape);
  std::mt19937_64 random(1);
  damage(sample.dataset, random, 30);
  ReaderOptions options = base_options(400);
  options.plan.open_runs = options.plan.pool = 1;
  options.plan.tail = Tail::pad;
  options.epochs = 3;
  options.prefetch = options.max_held = 1;
  options.memory_bytes = least_memory(sample.dataset, options);
  ASSERT_LT(detail::set_up(sample.dataset, options)->read_ahead_bytes, 400 * detail::BufferPool::rounded(64 + 128))
      << "all blocks of a step fit";
  for (int i = 0; i < 3; ++i) {
    compare_damaged(sample, options, random, [](auto inner) { return inner; });
  }
}

TEST(ScatterTest, RowsPlannedAfterTheirBlockWasAskedForAreCopiedLater) {
  int gathered = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ReaderOptions options = base_options(8);
    options.plan.tail = Tail::wrap;
    options.plan.pool = 1;
    options.plan.seed = seed;
    options.epochs = 2;
    options.decode_threads = 1 + static_cast<unsigned>(seed % 3);
    options.timeline = std::make_shared<Timeline>();
    const auto wrap = [](auto inner) { return std::make_unique<LateOpening>(std::move(inner)); };
    compare(samples()[seed % 5], options, random, wrap);
    if (::testing::Test::HasFailure()) return;
    gathered += options.timeline->to_json().find("\"gather\"") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(gathered, 0) << "no row was late";
}

TEST(ScatterTest, StoppingAfterAnyStepEndsANextThatWaitsAndLeavesTheHeldBatchesAsTheyAre) {
  const Dataset& dataset = samples()[0].dataset;
  const std::string withheld = dataset.shard_path(1);  // records [601, 778), needed from step 12 on
  ReaderOptions options = base_options(50);
  options.plan.order = OrderKind::sequential;
  for (std::uint64_t stop_at = 0; stop_at <= 38; ++stop_at) {
    for (const char* storage : {"late", "shuffled", "gated"}) {
      SCOPED_TRACE(storage + std::string(", after step ") + std::to_string(stop_at));
      if (storage[0] == 'g' && stop_at > 12) continue;
      options.decode_threads = 1 + static_cast<unsigned>(stop_at % 3);
      Holder held(options, stop_at);
      GatedStorage* gated = nullptr;
      const auto wrap = [&](std::unique_ptr<detail::Storage> inner) -> std::unique_ptr<detail::Storage> {
        if (storage[0] == 'l') return std::make_unique<LateOpening>(std::move(inner));
        if (storage[0] == 's') return std::make_unique<testing::ShuffledStorage>(std::move(inner), stop_at);
        auto gate = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                   [&](const std::string& file) { return file == withheld; });
        gated = gate.get();
        return gate;
      };
      const std::unique_ptr<Engine> engine = testing::open_engine(dataset, options, wrap).value();
      ASSERT_TRUE(scatters(*engine, options));
      for (std::uint64_t step = 0; step < stop_at; ++step, held.make_room()) held.add(engine->next().value().value());
      if (gated == nullptr || stop_at < 12) continue;
      auto blocked = std::async(std::launch::async, [&] { return engine->next().has_value(); });
      gated->wait_for_withheld(1);
      engine->stop();
      EXPECT_FALSE(blocked.get());
    }
  }
}

}  // namespace
}  // namespace dovetail
