// SPDX-License-Identifier: Apache-2.0
// Any plan, over any storage and with any memory that suffices: the rows of the plan, within the
// budget.
#include <algorithm>
#include <chrono>
#include <deque>
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

#include <dovetail/plan.h>

#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/cases.h"
#include "tests/support/gated_storage.h"
#include "tests/support/shuffled_storage.h"

namespace dovetail::test {
namespace {

using detail::RankReader;

SampleShape fixed(std::uint32_t bytes, Codec codec, std::uint32_t block_bytes, std::uint64_t run_records = 16) {
  return {{601, 177, 0, 912, 1, 240}, bytes, bytes, codec, block_bytes, run_records};
}

/// Opens every shard late, so that walks wait for them.
class LateOpening final : public detail::Storage {
 public:
  explicit LateOpening(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  ~LateOpening() override { stop(); }

  void call(const std::string& path, Call work, CallHandler done) override {
    const auto late = [work = std::move(work)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return work();
    };
    inner_->call(path, late, std::move(done));
  }
  Result<bool> try_read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into) override {
    return inner_->try_read(file, offset, into);
  }
  void read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into, ReadHandler done) override {
    inner_->read(file, offset, into, std::move(done));
  }
  const detail::StorageFacts& facts() const noexcept override { return inner_->facts(); }
  void stop() override { inner_->stop(); }

 private:
  const std::unique_ptr<Storage> inner_;
  boost::asio::thread_pool opens_{1};
};

ReaderOptions base_options(std::uint32_t batch) {
  return {.plan = {.batch = batch, .open_runs = 4, .pool = 32},
          .epochs = 1,
          .oversize = Oversize::spill,
          .storage = StorageKind::pread,
          .registration = Registration::off};
}

/// The batches that a trainer holds, as many as it may or some of them, each with what it was when
/// it came.
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

struct PlannedSample {
  SampleShape shape;
  Dataset dataset;
};

const std::vector<PlannedSample>& samples() {
  static const TempFolder folder;
  static const std::vector<PlannedSample> all = [] {
    const auto sized = [](std::uint32_t min, std::uint32_t max, Codec codec, std::uint32_t block_bytes) {
      return SampleShape{{160, 47, 0, 191, 1, 64}, min, max, codec, block_bytes, 7};
    };
    std::vector<PlannedSample> made;
    for (const SampleShape& shape :
         {fixed(300, Codec::none, 4096), fixed(1024, Codec::none, 8192), fixed(300, Codec::snappy, 4096),
          fixed(1024, Codec::snappy, 8192, 32), fixed(1000, Codec::none, 16384, 48), fixed(256, Codec::snappy, 1024, 1),
          fixed(16, Codec::snappy, 1024), sized(0, 900, Codec::snappy, 4096), sized(0, 200, Codec::none, 1024),
          sized(10, 40'000, Codec::none, 4096), sized(20'000, 20'000, Codec::none, 4096),
          sized(10, 40'000, Codec::snappy, 4096), sized(20'000, 20'000, Codec::snappy, 4096)}) {
      made.push_back({shape, make_sample(folder.path(std::to_string(made.size())), shape)});
    }
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
  options.plan.assign = static_cast<Assign>(pick({0, 0, 1, 2}));
  options.prefetch = pick({1, 2, 4});
  options.max_held = pick({1, 2, 4});
  options.decode_threads = pick({1, 2, 4});
  return options;
}

WrapStorage draw_storage(std::mt19937_64& random) {
  return [kind = random() % 4, seed = random()](std::unique_ptr<detail::Storage> inner) {
    if (kind == 0) return inner;
    if (kind == 1) inner = std::make_unique<LateOpening>(std::move(inner));
    if (kind == 2) inner = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no);
    if (kind >= 2) inner = std::make_unique<ShuffledStorage>(std::move(inner), seed);
    return inner;
  };
}

/// The least memory with which a reader opens.
std::uint64_t least_memory(const Dataset& dataset, ReaderOptions options) {
  std::uint64_t too_little = 0;
  std::uint64_t enough = options.memory_bytes;
  while (too_little + 1024 < enough) {
    options.memory_bytes = (too_little + enough) / 2;
    (detail::set_up(dataset, options).has_value() ? enough : too_little) = options.memory_bytes;
  }
  return enough;
}

void expect_rows(const PlannedSample& sample, const ReaderOptions& options, const WrapStorage& wrap) {
  const std::unique_ptr<RankReader> reader = open_engine(sample.dataset, options, wrap).value();
  Holder held(options, options.plan.seed);
  for (std::uint32_t epoch = options.start.epoch; epoch < options.start.epoch + options.epochs; ++epoch) {
    Rows rows;
    for (;;) {
      held.make_room();
      Result<std::optional<Batch>> batch = reader->next();
      ASSERT_TRUE(batch.has_value()) << batch.error().to_string();
      if (!batch->has_value()) break;
      append_checked(**batch, sample.shape, rows);
      if (::testing::Test::HasFatalFailure()) return;
      held.add(std::move(**batch));
    }
    const std::uint64_t first = epoch == options.start.epoch ? options.start.step : 0;
    ASSERT_EQ(rows, planned(reader->plan(), options.ranks.rank, epoch, first)) << "epoch " << epoch;
  }
  const ReaderStats stats = reader->stats();
  EXPECT_LE(stats.slots * stats.slot_bytes + stats.read_ahead_peak, options.memory_bytes);
}

TEST(AnyPlanTest, IsDeliveredWithinTheBudget) {
  const std::uint64_t cases = Cases{.sanitized = 30, .some = 120, .all = 2000}.count();
  std::uint64_t delivered = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t number = random() % samples().size();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", sample " + std::to_string(number));
    const PlannedSample& sample = samples()[number];
    ReaderOptions options = draw_options(random);
    const Result<Plan> plan = Plan::make(sample.dataset.shape(), options.plan);
    if (!plan.has_value()) continue;  // a lane that has no record, or too few
    options.start.epoch = static_cast<std::uint32_t>(random() % 3);
    if (random() % 2 == 0) options.start.step = random() % (plan->steps(options.start.epoch).value() + 1);
    if (random() % 2 == 0 && options.plan.assign != Assign::files)
      options.memory_bytes = least_memory(sample.dataset, options) + random() % 2 * (random() % 100'000);
    SCOPED_TRACE("memory " + std::to_string(options.memory_bytes) + ", open runs " +
                 std::to_string(options.plan.open_runs) + ", pool " + std::to_string(options.plan.pool) + ", lanes " +
                 std::to_string(options.plan.lanes) + ", world " + std::to_string(options.plan.world) + ", order " +
                 std::to_string(int(options.plan.order)) + ", assign " + std::to_string(int(options.plan.assign)));
    expect_rows(sample, options, draw_storage(random));
    if (::testing::Test::HasFailure()) return;
    ++delivered;
  }
  EXPECT_GT(delivered, cases / 2);
}

TEST(AnyPlanTest, StoppingAfterAnyStepEndsANextThatWaitsAndLeavesTheHeldBatchesAsTheyAre) {
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
        if (storage[0] == 's') return std::make_unique<ShuffledStorage>(std::move(inner), stop_at);
        auto gate = std::make_unique<GatedStorage>(std::move(inner), GatedStorage::Immediate::no,
                                                   [&](const std::string& file) { return file == withheld; });
        gated = gate.get();
        return gate;
      };
      const std::unique_ptr<RankReader> engine = open_engine(dataset, options, wrap).value();
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
}  // namespace dovetail::test
