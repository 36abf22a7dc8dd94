// SPDX-License-Identifier: Apache-2.0
// Whatever storage does with its reads, and whatever the options: what is delivered is what was
// planned.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "reader/fetch/loaded_run.h"
#include "tests/reader/delivery/injected_engine.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/cases.h"
#include "tests/support/fails.h"
#include "tests/support/gated_storage.h"
#include "tests/support/shuffled_storage.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

/// A dataset, and what its records are.
struct Sample {
  std::string name;
  Dataset dataset;
  std::function<std::string(std::uint64_t id)> record;
};

/// Opens every shard late, so that walks wait for them.
class LateOpening final : public StorageInFront {
 public:
  using StorageInFront::StorageInFront;
  void call(const std::string& path, Call work, CallHandler done) override {
    const auto late = [work = std::move(work)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return work();
    };
    StorageInFront::call(path, late, std::move(done));
  }
};

/// Opens no shard but the first: the process has no descriptors left.
class OneDescriptor final : public StorageInFront {
 public:
  OneDescriptor(std::unique_ptr<Storage> inner, std::string first)
      : StorageInFront(std::move(inner)), first_(std::move(first)) {}
  void call(const std::string& path, Call work, CallHandler done) override {
    if (path == first_) return StorageInFront::call(path, std::move(work), std::move(done));
    const auto fails = []() -> Answer { return Error::from_errno(EMFILE, "cannot open a shard"); };
    StorageInFront::call(path, fails, std::move(done));
  }

 private:
  const std::string first_;
};

class InjectedStorageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    samples_ = new std::vector<Sample>();
    add("tiny, fixed size", {.shard_records = {301, 77, 0, 512, 1, 140},
                             .min_bytes = 8,
                             .max_bytes = 8,
                             .codec = Codec::none,
                             .block_bytes = 1024});
    add("tiny, compressed", {.shard_records = {500, 300, 411}, .max_bytes = 40, .run_records = 64});
    add("1 KiB, compressed",
        {.shard_records = {100, 60, 1, 90}, .min_bytes = 1024, .max_bytes = 1024, .block_bytes = 4096});
    add("about 1 KiB", {.shard_records = {100, 60, 1, 90},
                        .min_bytes = 600,
                        .max_bytes = 1500,
                        .codec = Codec::none,
                        .block_bytes = 8192,
                        .run_records = 8});
    add("small to large", {.shard_records = {40, 31, 1, 50},
                           .max_bytes = 40000,
                           .codec = Codec::none,
                           .block_bytes = 16384,
                           .run_records = 8});
    add("small to large, compressed",
        {.shard_records = {40, 31, 1, 50}, .max_bytes = 40000, .block_bytes = 16384, .run_records = 8});
    add("large, fixed size", {.shard_records = {30, 20, 25},
                              .min_bytes = 20000,
                              .max_bytes = 20000,
                              .codec = Codec::none,
                              .block_bytes = 16384,
                              .run_records = 4});
    add("300 bytes, fixed size", {.shard_records = {301, 77, 0, 512, 1, 140},
                                  .min_bytes = 300,
                                  .max_bytes = 300,
                                  .codec = Codec::none,
                                  .block_bytes = 4096});
    add("256 bytes, compressed, runs of one record", {.shard_records = {301, 77, 0, 512},
                                                      .min_bytes = 256,
                                                      .max_bytes = 256,
                                                      .block_bytes = 1024,
                                                      .run_records = 1});
    add("large, fixed size, compressed",
        {.shard_records = {30, 20, 25}, .min_bytes = 20000, .max_bytes = 20000, .block_bytes = 4096, .run_records = 7});
    add("1 KiB, fixed size", {.shard_records = {100, 60, 1, 90},
                              .min_bytes = 1024,
                              .max_bytes = 1024,
                              .codec = Codec::none,
                              .block_bytes = 8192});
    const Sample& first = samples_->at(1);
    const Sample& second = samples_->at(4);
    const std::uint64_t first_records = first.dataset.records();
    samples_->push_back({"two sources", Dataset::join(std::vector<Dataset>{first.dataset, second.dataset}).value(),
                         [first = first.record, second = second.record, first_records](std::uint64_t id) {
                           return id < first_records ? first(id) : second(id - first_records);
                         }});
  }
  static void TearDownTestSuite() {
    delete samples_;
    delete folder_;
  }
  static const std::vector<Sample>& samples() { return *samples_; }

 private:
  static void add(const std::string& name, const SampleShape& shape) {
    samples_->push_back({name, make_sample(folder_->path(std::to_string(samples_->size())), shape),
                         [shape](std::uint64_t id) { return sample_record(id, shape); }});
  }

  static inline TempFolder* folder_ = nullptr;
  static inline std::vector<Sample>* samples_ = nullptr;
};

/// Options and a trainer, all drawn from one number.
class RandomCase {
 public:
  RandomCase(std::uint64_t seed, const std::vector<Sample>& samples)
      : random_(seed), sample_(samples[below(samples.size())]) {
    const std::uint32_t world = 1 + below(3);
    options_.ranks = {.rank = below(world), .world = world};
    options_.plan = draw_plan(world);
    options_.epochs = 1 + below(2);
    options_.start.epoch = below(3);
    options_.epochs += options_.start.epoch;
    options_.oversize = Oversize::spill;
    options_.prefetch = 1 + below(4);
    options_.max_held = 1 + below(4);
    options_.decode_threads = 1u << below(3);
    options_.io_threads = 1 + below(3);
    options_.memory_bytes = 256 << 20;
    options_.registration = Registration::off;
    options_.storage = pick({StorageKind::automatic, StorageKind::pread, StorageKind::io_uring_direct});
    options_.hung_after = pick({std::chrono::hours(0), std::chrono::hours(1), std::chrono::hours(1)});
    if (options_.hung_after.count() > 0 && below(2) == 0) options_.on_hung_read = OnHungRead::fail;
  }

  /// Reads it all and checks every batch. False where the draw makes no plan.
  bool run() {
    const Result<Plan> plan = Plan::make(sample_.dataset.shape(), options_.plan);
    if (!plan.has_value()) return false;
    const Result<std::uint64_t> steps = plan->steps(options_.start.epoch);
    if (!steps.has_value() || !plan->steps(options_.start.epoch + 1).has_value()) return false;
    if (below(2) == 0) options_.start.step = below(static_cast<std::uint32_t>(*steps) + 1);
    if (below(2) == 0) options_.state = plan->state(std::exchange(options_.start, {})).value();
    if (!choose_memory()) return false;
    SCOPED_TRACE(describe());

    std::uint64_t read_ahead = 0;
    const std::unique_ptr<detail::RankReader> engine = open(read_ahead);
    const Position start = options_.state.has_value() ? options_.state->position() : options_.start;
    for (std::uint32_t epoch = start.epoch; epoch < options_.epochs; ++epoch) {
      read_epoch(*engine, {epoch, epoch == start.epoch ? start.step : 0});
      if (::testing::Test::HasFatalFailure()) return true;
    }
    EXPECT_FALSE(engine->next().value().has_value());
    const ReaderStats stats = engine->stats();
    EXPECT_LE(stats.read_ahead_peak, read_ahead);
    EXPECT_LE(stats.slots * stats.slot_bytes + stats.read_ahead_peak, options_.memory_bytes);
    return true;
  }

 private:
  std::uint32_t below(std::uint64_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  template <class Value>
  Value pick(std::initializer_list<Value> from) {
    return *(from.begin() + below(from.size()));
  }

  PlanOptions draw_plan(std::uint32_t world) {
    PlanOptions plan;
    plan.world = world;
    plan.batch = pick({1u, 5u, 16u, 64u, 100u});
    const std::uint32_t per_rank = pick({1u, 2u, 5u});
    if (plan.batch % per_rank == 0) plan.lanes = world * per_rank;
    plan.tail = pick({Tail::drop, Tail::pad, Tail::wrap});
    plan.order = pick({OrderKind::shuffle, OrderKind::shuffle, OrderKind::sequential, OrderKind::global});
    if (plan.order != OrderKind::global && below(4) == 0) plan.assign = Assign::files;
    if (plan.order == OrderKind::shuffle && below(4) == 0) plan.assign = Assign::runs;
    plan.sticky = plan.order == OrderKind::shuffle && below(4) == 0;
    plan.open_runs = pick({1u, 4u, 32u, 200u});
    plan.pool = pick({1u, 32u, 256u});
    plan.seed = below(1000);
    if (!sample_.dataset.shape()->source_shards.empty() && below(4) > 0) {
      plan.mix.schedule = {{0, {1 + below(3), 1 + below(3)}}, {2 + below(5), {1, 1 + below(5)}}};
      plan.mix.stop = pick({MixStop::first, MixStop::all});
    }
    return plan;
  }

  /// Ample memory, or the least that opens, or a little more. Every budget with which a reader
  /// opens must do.
  bool choose_memory() {
    Result<detail::ReaderSetup> ample = detail::set_up(sample_.dataset, options_);
    if (!ample.has_value() && ample.error().is(Errc::resource_limit)) {  // no io_uring here
      options_.storage = StorageKind::pread;
      ample = detail::set_up(sample_.dataset, options_);
    }
    if (!ample.has_value()) return false;
    // What whole files take is known to nobody before, nor what a change of world has left.
    if (below(3) == 0 || options_.plan.assign == Assign::files || options_.state.has_value()) return true;
    std::uint64_t too_little = 0;
    std::uint64_t enough = options_.memory_bytes;
    while (too_little + 4096 < enough) {
      options_.memory_bytes = (too_little + enough) / 2;
      const bool opens = detail::set_up(sample_.dataset, options_).has_value();
      (opens ? enough : too_little) = options_.memory_bytes;
    }
    options_.memory_bytes = enough;
    if (below(2) == 0) options_.memory_bytes += below(1 << 19);
    return true;
  }

  std::unique_ptr<detail::RankReader> open(std::uint64_t& read_ahead) {
    detail::ReaderSetup setup = detail::set_up(sample_.dataset, options_).value();
    read_ahead = setup.memory.read_ahead_bytes;
    const std::uint32_t kind = below(5);
    if (kind == 4) setup.storage = std::make_unique<LateOpening>(std::move(setup.storage));
    if (kind < 2 || kind == 4) {
      setup.storage = std::make_unique<ShuffledStorage>(std::move(setup.storage), random_());
    } else if (kind == 2) {
      setup.storage = std::make_unique<GatedStorage>(std::move(setup.storage), GatedStorage::Immediate::no);
    }
    auto engine = std::make_unique<detail::RankReader>(std::move(setup));
    engine->start().value();
    return engine;
  }

  void read_epoch(detail::RankReader& engine, Position at) {
    const Rows expected = planned(engine.plan(), options_.ranks.rank, at.epoch, at.step);
    std::deque<std::pair<Batch, std::size_t>> held;  // with the number of its first row
    const auto release = [&] {                       // what is held has not been written over meanwhile
      check(held.front().first, expected, held.front().second);
      held.pop_front();
    };
    std::size_t row = 0;
    for (;; ++at.step) {
      while (held.size() >= options_.max_held || (!held.empty() && below(2) == 0)) release();
      std::optional<Batch> batch = next(engine);
      if (!batch.has_value()) break;
      ASSERT_EQ(batch->epoch(), at.epoch);
      ASSERT_EQ(batch->step(), at.step);
      ASSERT_EQ(batch->rows(), options_.plan.batch);
      ASSERT_EQ(batch->state(), engine.plan().state({at.epoch, at.step + 1}).value());
      ASSERT_EQ(engine.state(), batch->state());
      ASSERT_LE(row + batch->rows(), expected.size());
      check(*batch, expected, row);
      if (::testing::Test::HasFatalFailure()) return;
      held.emplace_back(std::move(*batch), row);
      row += options_.plan.batch;
    }
    ASSERT_EQ(row, expected.size());
    while (!held.empty()) release();
  }

  void check(const Batch& batch, const Rows& expected, std::size_t row) {
    ASSERT_EQ(batch.offsets().front(), 0);
    ASSERT_EQ(static_cast<std::size_t>(batch.offsets().back()), batch.values().size());
    std::uint32_t valid = 0;
    for (std::uint32_t r = 0; r < batch.rows(); ++r) {
      ASSERT_EQ(batch.ids()[r], expected[row + r].id);
      ASSERT_EQ(batch.status()[r], expected[row + r].status);
      valid += batch.status()[r] == RowStatus::first ? 1 : 0;
      if (batch.status()[r] == RowStatus::empty) {
        ASSERT_TRUE(batch.row(r).empty());
      } else {
        ASSERT_TRUE(as_chars(batch.row(r)) == sample_.record(batch.ids()[r])) << "id " << batch.ids()[r];
      }
    }
    ASSERT_EQ(batch.valid(), valid);
  }

  std::optional<Batch> next(detail::RankReader& engine) {
    if (below(3) > 0) return engine.next().value();
    return async_next(engine, boost::asio::use_future).get();
  }

  std::string describe() const {
    const PlanOptions& plan = options_.plan;
    return sample_.name + ", rank " + std::to_string(options_.ranks.rank) + " of " + std::to_string(plan.world) +
           ", batch " + std::to_string(plan.batch) + ", lanes " + std::to_string(plan.lanes) + ", order " +
           std::to_string(int(plan.order)) + ", tail " + std::to_string(int(plan.tail)) + ", memory " +
           std::to_string(options_.memory_bytes) + ", threads " + std::to_string(options_.decode_threads) +
           ", storage " + std::string(to_string(options_.storage));
  }

  std::mt19937_64 random_;
  const Sample& sample_;
  ReaderOptions options_;
};

TEST_F(InjectedStorageTest, AnyOptionsDeliverThePlanThroughStorageAtItsWorst) {
  const std::uint64_t cases = Cases{.sanitized = 36, .some = 100, .all = 1500}.count();
  std::uint64_t ran = 0;
  for (std::uint64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed, samples());
    ran += random.run() ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(ran, cases / 2) << "too few of the drawn options make a plan";
}

/// Pieces of all runs, and records that go straight to their rows; with one lane runs are whole.
std::uint64_t reads_of_all(const Dataset& dataset) {
  std::uint32_t record_bytes = dataset.shards().front().max_record_bytes;
  for (const ShardInfo& shard : dataset.shards()) {
    const bool same =
        shard.records == 0 || (shard.min_record_bytes == record_bytes && shard.max_record_bytes == record_bytes);
    if (!same || record_bytes >= detail::kPlacedBytes) record_bytes = 0;
  }
  const detail::FetchRules rules{
      .read_bytes = 64 << 10, .placed_bytes = detail::kPlacedBytes, .record_bytes = record_bytes};
  std::uint64_t reads = 0;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    if (dataset.shards()[shard].records == 0) continue;
    const detail::ShardFile file = detail::open_shard(dataset, shard).value();
    const std::uint64_t run_records = dataset.shape()->shards[shard].run_records;
    for (std::uint64_t first = 0; first < file.info().records; first += run_records) {
      Run run;
      run.shard = shard;
      run.first_record = first;
      run.count = std::min(run_records, file.info().records - first);
      detail::LoadedRun loaded(run);
      loaded.lay_out(file, rules);
      reads += loaded.pieces().size();
    }
    for (std::size_t block = 0; block < file.blocks().size(); ++block) {
      reads += detail::is_placed(file, block, rules) ? 1 : 0;
    }
  }
  return reads;
}

TEST_F(InjectedStorageTest, AReaderAsksForEveryPieceOfARunAndEveryPlacedRecordOnce) {
  for (const Sample& sample : samples()) {
    for (const auto immediate : {GatedStorage::Immediate::no, GatedStorage::Immediate::yes}) {
      SCOPED_TRACE(sample.name);
      ReaderOptions options{.plan = {.batch = 10, .tail = Tail::pad}, .epochs = 1, .storage = StorageKind::pread};
      GatedStorage* storage = nullptr;
      const std::unique_ptr<detail::RankReader> engine =
          open_engine(sample.dataset, options, [&](std::unique_ptr<detail::Storage> inner) {
            auto gated = std::make_unique<GatedStorage>(std::move(inner), immediate);
            storage = gated.get();
            return gated;
          }).value();
      while (engine->next().value().has_value()) {
      }
      const std::uint64_t reads = reads_of_all(sample.dataset);
      EXPECT_EQ(storage->counts().tries, reads);
      if (immediate == GatedStorage::Immediate::no) {
        EXPECT_EQ(storage->counts().reads, reads);
        EXPECT_EQ(engine->stats().waiting_reads, reads);
      }
      EXPECT_EQ(engine->stats().reads, reads);
    }
  }
}

TEST(RunFailureTest, AllRowsBeforeAreDelivered) {
  const TempFolder folder;
  const Dataset dataset = make_sample(
      folder.path("data"), {.shard_records = {4000, 4000}, .min_bytes = 8, .max_bytes = 8, .run_records = 4000});
  ReaderOptions options;
  options.plan.order = OrderKind::sequential;
  options.plan.batch = 4;
  options.prefetch = 1;
  options.max_held = 1;
  options.on_damage = OnDamage::substitute;
  for (const unsigned threads : {1u, 3u}) {
    options.decode_threads = threads;
    const auto wrap = [&](std::unique_ptr<detail::Storage> inner) {
      return std::make_unique<OneDescriptor>(std::move(inner), dataset.shard_path(0));
    };
    const auto engine = open_engine(dataset, options, wrap).value();
    std::uint64_t batches = 0;
    for (;;) {
      const Result<std::optional<Batch>> batch = engine->next();
      if (!batch.has_value()) {
        EXPECT_THAT(batch, Fails(boost::system::errc::too_many_files_open));
        break;
      }
      ASSERT_TRUE(batch->has_value());
      ++batches;
    }
    EXPECT_EQ(batches, 1000u);
  }
}

}  // namespace
}  // namespace dovetail::test
