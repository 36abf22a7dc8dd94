// SPDX-License-Identifier: Apache-2.0
// Both engines deliver the same: batches, statuses and failures, over any storage.
#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
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

#include "reader/delivery/engine.h"
#include "reader/delivery/rank_reader.h"
#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/cases.h"
#include "tests/support/gated_storage.h"
#include "tests/support/shuffled_storage.h"

namespace dovetail {
namespace {

using detail::RankReader;
using testing::GatedStorage;

testing::SampleShape fixed(std::uint32_t bytes, Codec codec, std::uint32_t block_bytes,
                           std::uint64_t run_records = 16) {
  return {{601, 177, 0, 912, 1, 240}, bytes, bytes, codec, block_bytes, run_records};
}

/// Opens every shard late, so that walks wait for them.
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

template <class E>
std::unique_ptr<E> open_as(const Dataset& dataset, const ReaderOptions& options, const testing::WrapStorage& wrap) {
  detail::EngineSetup setup = detail::set_up(dataset, options).value();
  setup.storage = wrap(std::move(setup.storage));
  auto engine = std::make_unique<E>(std::move(setup));
  engine->start();
  return engine;
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
void expect_same(RankReader& engine, detail::Engine& plain, const ReaderOptions& options, const RecordOf& record_of) {
  Holder held(options, options.plan.seed);
  for (std::uint32_t ended = 0; ended < options.epochs;) {
    held.make_room();
    Result<std::optional<Batch>> got = engine.next(std::chrono::steady_clock::now() + std::chrono::seconds(20));
    const Result<std::optional<Batch>> expected = plain.next();
    ASSERT_EQ(got.has_value(), expected.has_value()) << (got.has_value() ? expected.error() : got.error()).to_string();
    if (!got.has_value()) {
      const auto from_step = [](const std::string& text) {
        return text.substr(std::min(text.size(), text.find("needed by rank")));
      };
      EXPECT_EQ(from_step(got.error().to_string()), from_step(expected.error().to_string()));
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

struct ComparedSample {
  Dataset dataset;
  RecordOf record_of;
};

/// Whether the reader failed, as both did.
bool compare(const ComparedSample& sample, const ReaderOptions& options, const testing::WrapStorage& wrap) {
  if (!detail::set_up(sample.dataset, options).has_value()) return false;
  const std::unique_ptr<detail::Engine> plain =
      open_as<detail::Engine>(sample.dataset, options, [](auto inner) { return inner; });
  const std::unique_ptr<RankReader> engine = open_as<RankReader>(sample.dataset, options, wrap);
  expect_same(*engine, *plain, options, sample.record_of);
  if (::testing::Test::HasFatalFailure()) return false;
  const ReaderStats stats = engine->stats();
  EXPECT_EQ(stats.rows_damaged_empty, plain->stats().rows_damaged_empty);
  EXPECT_EQ(stats.rows_substituted, plain->stats().rows_substituted);
  return engine->error().has_value();
}

ComparedSample make(const testing::TempFolder& folder, const std::string& name, const testing::SampleShape& shape) {
  return {testing::make_sample(folder.path(name), shape),
          [shape](std::uint64_t id) { return testing::sample_record(id, shape); }};
}

const std::vector<ComparedSample>& samples() {
  static const testing::TempFolder folder;
  static const std::vector<ComparedSample> all = [] {
    std::vector<ComparedSample> made;
    for (const testing::SampleShape& shape :
         {fixed(300, Codec::none, 4096), fixed(1024, Codec::none, 8192), fixed(300, Codec::snappy, 4096),
          fixed(1024, Codec::snappy, 8192, 32), fixed(1000, Codec::none, 16384, 48), fixed(256, Codec::snappy, 1024, 1),
          fixed(512, Codec::none, 65536, 100), fixed(16, Codec::snappy, 1024),
          testing::SampleShape{{601, 177, 0, 912, 1, 240}, 0, 900, Codec::snappy, 4096, 16},
          testing::SampleShape{{601, 177, 0, 912, 1, 240}, 0, 200, Codec::none, 1024, 7},
          testing::SampleShape{{60, 17, 0, 91, 1, 24}, 10, 40000, Codec::none, 4096, 7},
          testing::SampleShape{{60, 17, 0, 91, 1, 24}, 20000, 20000, Codec::none, 4096, 7},
          testing::SampleShape{{60, 17, 0, 91, 1, 24}, 10, 40000, Codec::snappy, 4096, 7}}) {
      made.push_back(make(folder, std::to_string(made.size()), shape));
    }
    // Shards whose sizes differ from each other.
    const auto join = [](const ComparedSample& a, const ComparedSample& b) -> ComparedSample {
      return {Dataset::join(std::vector<Dataset>{a.dataset, b.dataset}).value(), [a, b](std::uint64_t id) {
                return id < a.dataset.records() ? a.record_of(id) : b.record_of(id - a.dataset.records());
              }};
    };
    made.push_back(join(made[0], made[3]));
    return made;
  }();
  return all;
}

ReaderOptions draw_options(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<std::uint32_t> from) { return *(from.begin() + random() % from.size()); };
  ReaderOptions options = base_options(pick({5, 16, 64, 100}));
  const std::uint32_t world = pick({1, 2, 3});
  options.ranks = {.rank = static_cast<std::uint32_t>(random() % world), .world = world};
  const std::uint32_t per_rank = pick({1, 1, 2, 5});
  if (options.plan.batch % per_rank == 0) options.plan.lanes = world * per_rank;
  options.plan.world = world;
  options.plan.order = static_cast<OrderKind>(pick({0, 0, 0, 1, 2}));
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

TEST(EnginesTest, DeliverTheSameBatchesOfAnyPlan) {
  const std::uint64_t cases = testing::Cases{.sanitized = 20, .some = 40, .all = 4000}.count();
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t number = random() % samples().size();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sample " + std::to_string(number));
    const ComparedSample& sample = samples()[number];
    ReaderOptions options = draw_options(random);
    if (number + 1 == samples().size() && random() % 2 == 0)
      options.plan.mix.schedule = {{.from_step = 0, .weights = {1, 2}}};
    if (!Plan::make(sample.dataset.shape(), options.plan).has_value()) continue;
    const Plan plan = Plan::make(sample.dataset.shape(), options.plan).value();
    if (!plan.steps(options.start.epoch).has_value()) continue;
    options.start.epoch = static_cast<std::uint32_t>(random() % 3);
    if (random() % 2 == 0) options.start.step = random() % (plan.steps(options.start.epoch).value() + 1);
    compare(sample, options, draw_storage(random));
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
void compare_damaged(const ComparedSample& sample, ReaderOptions options, const testing::WrapStorage& wrap) {
  for (const OnDamage policy : {OnDamage::fail, OnDamage::substitute, OnDamage::empty}) {
    SCOPED_TRACE("on damage " + std::to_string(int(policy)));
    options.on_damage = policy;
    const bool failed = compare(sample, options, wrap);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(failed, policy == OnDamage::fail);
  }
}

TEST(EnginesTest, AnswerDamageAlike) {
  const std::uint64_t cases = testing::Cases{.sanitized = 4, .some = 4, .all = 400}.count();
  const testing::TempFolder folder;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool small = random() % 2 == 0;
    testing::SampleShape shape =
        fixed(small ? 300 : 1024, random() % 2 == 0 ? Codec::none : Codec::snappy, small ? 4096 : 8192);
    if (random() % 3 == 0) shape.min_bytes = 0;
    if (random() % 4 == 0) shape = {{601, 177, 0, 912, 1, 240}, 10000, 40000, Codec::none, 4096, 7};
    const ComparedSample sample = make(folder, std::to_string(seed), shape);
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
    if (random() % 4 == 0) options.plan.order = OrderKind::global;
    options.plan.seed = seed;
    options.epochs = 4;
    compare_damaged(sample, options, draw_storage(random));
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace dovetail
