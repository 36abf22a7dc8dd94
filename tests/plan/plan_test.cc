// SPDX-License-Identifier: Apache-2.0
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "reader/plan/hash_words.h"
#include "tests/plan/random_source.h"
#include "tests/plan/shapes.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

std::string refusal(const std::shared_ptr<const DatasetShape>& shape, const PlanOptions& options, Errc code) {
  const auto plan = Plan::make(shape, options);
  if (plan) return "accepted";
  EXPECT_THAT(plan, Fails(code));
  return plan.error().detail();
}

std::string refused_option(const PlanOptions& options) {
  return refusal(shape_of({100, 100}), options, Errc::invalid_option);
}

TEST(PlanTest, NamesTheOptionItsValueAndWhatIsAllowed) {
  EXPECT_EQ(refused_option({.world = 0}), "world = 0 is out of range: at least 1 rank is needed");
  EXPECT_EQ(refused_option({.batch = 0}), "batch = 0 is out of range: at least 1 row is needed");
  EXPECT_EQ(refused_option({.world = 8, .replicate = 3}),
            "replicate = 3 does not work with world = 8: it must divide the world");
  EXPECT_THAT(refused_option({.replicate = 0}), HasSubstr("replicate = 0"));
  EXPECT_EQ(refused_option({.open_runs = 0}), "open_runs = 0 is out of range: 1 to 65536 are allowed");
  EXPECT_THAT(refused_option({.open_runs = 65537}), HasSubstr("open_runs = 65537"));
  EXPECT_EQ(refused_option({.pool = 0}), "pool = 0 is out of range: 1 to 16777216 are allowed");
  EXPECT_THAT(refused_option({.pool = (1u << 24) + 1}), HasSubstr("pool = 16777217"));
  EXPECT_EQ(refused_option({.world = 4, .batch = 32, .lanes = 6}),
            "lanes = 6 does not work with 4 readers: it must be a multiple of 4 and divide 128");
  EXPECT_THAT(refused_option({.world = 4, .batch = 3, .lanes = 8}), HasSubstr("divide 12"));
  EXPECT_THAT(refused_option({.world = 4, .batch = 4, .lanes = 2}), HasSubstr("lanes = 2"));
  EXPECT_THAT(refused_option({.batch = 1u << 25, .lanes = 1u << 25}), HasSubstr("lanes = 33554432"));
  EXPECT_THAT(refused_option({.world = 1u << 25}), HasSubstr("world / replicate = 33554432"));
  EXPECT_THAT(refused_option({.order = static_cast<OrderKind>(9)}), HasSubstr("order = 9"));
  EXPECT_THAT(refused_option({.assign = static_cast<Assign>(9)}), HasSubstr("assign = 9"));
  EXPECT_THAT(refused_option({.tail = static_cast<Tail>(9)}), HasSubstr("tail = 9"));
}

TEST(PlanTest, AcceptsTheLimitsThemselves) {
  const auto shape = shape_of({100, 100});
  EXPECT_TRUE(Plan::make(shape, {.open_runs = 65536, .pool = 1u << 24}));
  EXPECT_TRUE(Plan::make(shape, {.world = 4, .batch = 6, .lanes = 12}));
  EXPECT_TRUE(Plan::make(shape, {.world = 1u << 24, .batch = 1, .tail = Tail::pad}));
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_TRUE(Plan::make(shape, {.world = most, .batch = most, .replicate = most, .tail = Tail::pad}));
}

TEST(PlanTest, RefusesDatasetsWithoutRecords) {
  EXPECT_EQ(refusal(nullptr, {}, Errc::empty_input), "no dataset is given");
  EXPECT_EQ(refusal(shape_of({}), {}, Errc::empty_input), "the dataset has no record");
  EXPECT_EQ(refusal(shape_of({0, 0}), {}, Errc::empty_input), "the dataset has no record");
}

TEST(PlanTest, RefusesShapesThatNoDatasetHas) {
  auto no_runs = shape_of({5, 5, 5});
  no_runs->shards[1].run_records = 0;
  EXPECT_THAT(refusal(no_runs, {}, Errc::invalid_option), HasSubstr("run_records of shard 1 = 0"));
  const std::uint64_t longest = std::uint64_t{1} << 31;
  EXPECT_TRUE(Plan::make(shape_of({longest}, kHuge), {}));
  EXPECT_THAT(refusal(shape_of({5, longest + 1}, kHuge), {}, Errc::invalid_option),
              HasSubstr("records in a run of shard 1 = 2147483649 is out of range: 1 to 2147483648"));
  const std::uint64_t limit = (std::uint64_t{1} << 55) - 1;
  EXPECT_TRUE(Plan::make(shape_of({limit}), {}));
  EXPECT_THAT(refusal(shape_of({limit, 1}), {}, Errc::invalid_option), HasSubstr("36028797018963967 records"));
  EXPECT_THAT(refusal(shape_of({5, kHuge}), {}, Errc::invalid_option), HasSubstr("more than"));
}

TEST(PlanTest, DealsRunsOfOneLengthOnly) {
  auto shape = shape_of({100, 0, 7, 30}, 10);
  shape->shards[1].run_records = 4;  // which has no run
  ASSERT_TRUE(Plan::make(shape, {.assign = Assign::runs}));
  EXPECT_THAT(refusal(shape, {.order = OrderKind::sequential, .assign = Assign::runs}, Errc::invalid_option),
              HasSubstr("assign = runs works with order = shuffle only"));
  shape->shards[2].run_records = 9;
  EXPECT_THAT(refusal(shape, {.assign = Assign::runs}, Errc::invalid_option),
              HasSubstr("needs one run_records in all shards, but there are 10 and, in shard 2, 9"));
  // Each source of a mix may have its own.
  shape->source_shards = {2, 2};
  shape->shards[3].run_records = 9;
  const PlanOptions mixed{.assign = Assign::runs, .mix = {.schedule = {{0, {1, 1}}}}};
  EXPECT_TRUE(Plan::make(shape, mixed));
  shape->shards[3].run_records = 8;
  EXPECT_THAT(refusal(shape, mixed, Errc::invalid_option),
              HasSubstr("in all shards of a source, but there are 9 and, in shard 3, 8"));
}

// Whole files of 20, 1 and 1 records on two ranks: an epoch in which both small ones meet would
// have no step.
TEST(PlanTest, JudgesWholeFilesByTheWorstEpoch) {
  const auto shape = shape_of({20, 1, 1});
  const PlanOptions options{.world = 2, .batch = 2, .assign = Assign::files};
  EXPECT_EQ(refusal(shape, options, Errc::no_steps),
            "batch = 2 takes 2 records of every lane for a step, but one has 1 in some epoch: the largest batch that "
            "works is 1; tail = pad fills up a larger one");
  const Plan plan = Plan::make(shape, {.world = 2, .batch = 1, .assign = Assign::files}).value();
  for (std::uint32_t epoch = 0; epoch < 50; ++epoch) EXPECT_GE(plan.steps(epoch).value(), 1u);
  // The epochs after a change of world are judged as well.
  const State state = Plan::make(shape, {.batch = 2, .assign = Assign::files})->state({0, 3}).value();
  EXPECT_THAT(Plan::resume(shape, options, state), Fails(Errc::no_steps));
}

// Each run of an uncommon length takes memory in a lane, and a manifest can claim any number of
// them.
TEST(PlanTest, RefusesMoreOddRunsThanMemoryCanHold) {
  auto shape = shape_of({std::uint64_t{1} << 50, std::uint64_t{1} << 50}, 1);
  shape->shards[1].run_records = 2;
  EXPECT_THAT(refusal(shape, {}, Errc::invalid_option), HasSubstr("pack the shards with one run_records"));
  shape->shards[1].run_records = std::uint64_t{1} << 31;
  const auto plan = Plan::make(shape, {});
  ASSERT_TRUE(plan);
  LaneCursor cursor = plan->epoch(0)->lane(0).cursor();
  Pick pick;
  cursor.next({&pick, 1});
  EXPECT_TRUE(pick.planned());
}

TEST(PlanTest, HugeRunLengthsDoNotOverflow) {
  const auto plan = Plan::make(shape_of({10, 20, 30}, kHuge), {.world = 2, .batch = 3});
  ASSERT_TRUE(plan);
  const EpochPlan epoch = plan->epoch(0).value();
  EXPECT_EQ(epoch.lane(0).records() + epoch.lane(1).records(), 60u);
}

TEST(PlanTest, RefusalsOfZeroStepsNameWhatWorks) {
  EXPECT_EQ(refusal(shape_of({50, 50}), {.world = 4, .batch = 32}, Errc::no_steps),
            "batch = 32 takes 32 records of every lane for a step, but one has 25: the largest batch that works is 25; "
            "tail = pad fills up a larger one");
  EXPECT_TRUE(Plan::make(shape_of({50, 50}), {.world = 4, .batch = 32, .tail = Tail::pad}));
  EXPECT_EQ(refusal(shape_of({3}), {.world = 8, .batch = 2}, Errc::no_steps),
            "one of 8 lanes has no record: the largest world that works is 1");
  EXPECT_EQ(refusal(shape_of({3}), {.world = 8, .batch = 4}, Errc::no_steps),
            "one of 8 lanes has no record: the largest world that works is 3 (with batch = 1)");
  EXPECT_EQ(refusal(shape_of({3}), {.world = 8, .batch = 2, .tail = Tail::wrap}, Errc::no_steps),
            "one of 8 lanes has no record: the largest world that works is 3");
  EXPECT_EQ(refusal(shape_of({10, 10, 0}), {.world = 3, .assign = Assign::files}, Errc::no_steps),
            "one of 3 lanes has no record in some epoch: the largest world that works is 1");
}

/// Applies what the message of a refusal advises.
void apply_advice(const std::string& message, PlanOptions& options) {
  const auto says = [&](const char* text) { return message.find(text) != message.npos; };
  const std::string works = " that works is ";
  const auto value = static_cast<std::uint32_t>(std::stoull(message.substr(message.find(works) + works.size())));
  (says("the largest batch") ? options.batch : options.world) = value;
  if (says("batch = 1)") || says("batch = 1 and")) options.batch = 1;
  if (says("lanes = 0")) options.lanes = 0;
}

TEST(PlanTest, WhatARefusalAdvisesWorksAndMoreDoesNot) {
  std::uint64_t refusals = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomSource random(seed);
    std::vector<std::uint64_t> records{1};
    for (std::uint32_t shards = random.between(0, 6); shards > 0; --shards) records.push_back(1 + random.below(20));
    const std::uint32_t replicate = random.between(1, 2);
    const std::uint32_t each = random.between(1, 3);
    const std::uint32_t readers = random.between(1, 12);
    PlanOptions options{.world = readers * replicate,
                        .batch = each * random.between(1, 30),
                        .replicate = replicate,
                        .lanes = random.chance(50) ? readers * each : 0,
                        .tail = random.one_of({Tail::drop, Tail::wrap})};
    options.assign = random.one_of({Assign::even, Assign::files});
    const auto shape = shape_of(records);
    std::uint32_t epoch = 3;
    const auto steps = [&](const PlanOptions& with) -> Result<std::uint64_t> {
      const auto plan = Plan::make(shape, with);
      return plan ? plan->steps(epoch) : plan.error();
    };
    const auto refused = steps(options);
    if (refused) continue;
    ++refusals;
    const std::string message = refused.error().detail();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + message);
    if (message.find("in epoch 0") != message.npos) epoch = 0;  // said of every epoch, with the numbers of this one
    const bool batch = message.find("largest batch") != message.npos;
    PlanOptions advised = options;
    apply_advice(message, advised);
    ASSERT_TRUE(steps(advised)) << steps(advised).error().to_string();
    (batch ? advised.batch : advised.world) += batch ? advised.lanes / readers + (advised.lanes == 0) : replicate;
    EXPECT_THAT(steps(advised), Fails(Errc::no_steps));
  }
  EXPECT_GT(refusals, 500u);
}

TEST(PlanTest, PlanIdNamesEveryInputAndOrderIdOnlyThoseOfTheOrder) {
  const PlanOptions base{.world = 4, .batch = 12, .lanes = 4};
  const Plan plan = Plan::make(shape_of({500, 500}), base).value();
  struct Change {
    std::function<void(PlanOptions&)> apply;
    bool order;
  };
  const std::vector<Change> changes{
      {[](PlanOptions& o) { o.world = 2; }, false},
      {[](PlanOptions& o) { o.batch = 24; }, false},
      {[](PlanOptions& o) { o.replicate = 2; }, false},
      {[](PlanOptions& o) { o.tail = Tail::pad; }, false},
      {[](PlanOptions& o) { o.lanes = 8; }, true},
      {[](PlanOptions& o) { o.order = OrderKind::sequential; }, true},
      {[](PlanOptions& o) {
         o.assign = Assign::files;
         o.tail = Tail::pad;
       },
       true},
      {[](PlanOptions& o) { o.open_runs = 33; }, true},
      {[](PlanOptions& o) { o.pool = 257; }, true},
      {[](PlanOptions& o) { o.sticky = true; }, true},
      {[](PlanOptions& o) {
         o.mix.schedule = {{0, {1}}};
       },
       true},
      {[](PlanOptions& o) { o.seed = 1; }, true},
      {[](PlanOptions& o) { o.seed = std::uint64_t{1} << 32; }, true},
  };
  std::set<Hash128> ids{plan.plan_id()};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    PlanOptions options = base;
    changes[i].apply(options);
    const Plan other = Plan::make(shape_of({500, 500}), options).value();
    EXPECT_TRUE(ids.insert(other.plan_id()).second) << "change " << i;
    EXPECT_EQ(other.order_id() != plan.order_id(), changes[i].order) << "change " << i;
    EXPECT_NE(other.plan_checksum(), plan.plan_checksum()) << "change " << i;
  }
  auto renamed = shape_of({500, 500});
  renamed->fingerprint.low ^= 1;
  const Plan other = Plan::make(renamed, base).value();
  EXPECT_NE(other.plan_id(), plan.plan_id());
  EXPECT_NE(other.order_id(), plan.order_id());
}

TEST(PlanTest, IdsHashTheWordsThatTheSpecificationLists) {
  const PlanOptions options{.world = 6,
                            .batch = 8,
                            .replicate = 2,
                            .lanes = 12,
                            .order = OrderKind::shuffle,
                            .assign = Assign::files,
                            .tail = Tail::wrap,
                            .open_runs = 5,
                            .pool = 7,
                            .seed = 0x1122334455667788,
                            .sticky = true};
  const auto shape = shape_of(std::vector<std::uint64_t>(20, 9));
  const Plan plan = Plan::make(shape, options).value();
  const std::uint64_t high = shape->fingerprint.high;
  const std::uint64_t low = shape->fingerprint.low;
  EXPECT_EQ(plan.plan_id(), detail::hash_words(std::vector<std::uint64_t>{2, high, low, 6, 8, 2, 12, 0, 1, 2, 1, 5, 7,
                                                                          0x1122334455667788, 0, 0}));
  EXPECT_EQ(plan.order_id(), detail::hash_words(std::vector<std::uint64_t>{2, 0x6F72646572, high, low, 12, 0, 1, 1, 5,
                                                                           7, 0x1122334455667788, 0, 0}));
  const Hash128 begun = detail::hash_words(std::vector<std::uint64_t>{plan.plan_id().high, plan.plan_id().low, 3, 14});
  EXPECT_EQ(plan.plan_checksum({3, 14}), begun.high ^ begun.low);
  EXPECT_EQ(plan.plan_checksum(), plan.plan_checksum({0, 0}));
}

TEST(PlanTest, TellsWhatItWasMadeOf) {
  const auto shape = shape_of({10, 20});
  const PlanOptions options{.world = 6, .batch = 1, .replicate = 2};
  const Plan plan = Plan::make(shape, options).value();
  EXPECT_EQ(plan.options(), options);
  EXPECT_EQ(&plan.dataset(), shape.get());
  EXPECT_EQ(plan.records(), 30u);
  EXPECT_EQ(plan.readers(), 3u);
  EXPECT_EQ(plan.lanes(), 3u);
}

TEST(PlanTest, TotalStepsAddUpTheEpochs) {
  const Plan even = Plan::make(shape_of({100, 50}), {.world = 2, .batch = 7}).value();
  EXPECT_EQ(even.total_steps(0).value(), 0u);
  EXPECT_EQ(even.total_steps(5).value(), 5 * even.steps(0).value());

  const Plan files =
      Plan::make(shape_of({10, 20, 30, 40, 50}), {.world = 2, .batch = 3, .assign = Assign::files}).value();
  std::uint64_t total = 0;
  std::set<std::uint64_t> different;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    total += files.steps(epoch).value();
    different.insert(files.steps(epoch).value());
  }
  EXPECT_EQ(files.total_steps(20).value(), total);
  EXPECT_GT(different.size(), 1u) << "the case shows nothing if all epochs are alike";
}

TEST(PlanTest, TotalStepsOutOfRangeAreRefused) {
  const Plan plan = Plan::make(shape_of({(std::uint64_t{1} << 55) - 1}), {}).value();
  EXPECT_TRUE(plan.total_steps(512));
  EXPECT_THAT(plan.total_steps(std::numeric_limits<std::uint32_t>::max()), Fails(Errc::invalid_option));
}

}  // namespace
}  // namespace dovetail::test
