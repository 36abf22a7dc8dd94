// SPDX-License-Identifier: Apache-2.0
#include <dovetail/state.h>

#include <functional>
#include <string>
#include <vector>

#include <dovetail/plan.h>

#include "tests/plan/random_source.h"
#include "tests/plan/shapes.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

State random_state(RandomSource& random) {
  State state;
  state.order = random.one_of({OrderKind::shuffle, OrderKind::sequential, OrderKind::global});
  state.assign = random.one_of({Assign::even, Assign::files, Assign::runs});
  state.tail = random.one_of({Tail::drop, Tail::pad, Tail::wrap});
  state.sticky = random.chance(50);
  state.mixed = random.chance(50);
  state.open_runs = random.between(1, 1u << 16);
  state.pool = random.between(1, 1u << 24);
  state.seed = random.word();
  state.replicate = random.between(1, ~0u);
  state.content = {random.word(), random.word()};
  state.epoch = static_cast<std::uint32_t>(random.word());
  for (std::uint32_t phases = random.between(1, 9); phases > 0; --phases) {
    state.phases.push_back(
        {1 + random.below(std::uint64_t{1} << 50), random.between(1, 1u << 24), random.between(1, ~0u)});
  }
  if (random.chance(30)) state.phases.back().steps = 0;
  return state;
}

TEST(StateTest, BothFormsKeepEverythingWithinTheirLimit) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RandomSource random(seed);
    const State state = random_state(random);
    const std::vector<std::byte> bytes = state.to_bytes();
    const std::string text = state.to_text();
    ASSERT_LE(bytes.size(), State::kMaxBytes);
    ASSERT_LE(text.size(), State::kMaxBytes);
    ASSERT_EQ(State::from_bytes(bytes).value(), state) << "seed " << seed;
    ASSERT_EQ(State::from_text(text).value(), state) << "seed " << seed;
    ASSERT_EQ(State::from_text(" \n" + text + "\r\n").value(), state);
  }
}

TEST(StateTest, TypicalStateHasSixtyBytes) {
  const Plan plan = Plan::make(shape_of({1000, 500}), {.world = 4, .batch = 8}).value();
  EXPECT_EQ(plan.state({3, 14})->to_bytes().size(), 60u);
  EXPECT_EQ(plan.state({3, 14})->to_text().size(), 84u);
}

TEST(StateTest, OfAnOlderOrderIsRefusedWithOneSentence) {
  std::vector<std::byte> bytes = Plan::make(shape_of({10}), {})->state({0, 1})->to_bytes();
  bytes[0] = std::byte{1};
  EXPECT_THAT(State::from_bytes(bytes), Fails(Errc::unsupported_version).saying("of an older version of the order"));
}

TEST(StateTest, EveryFlippedBitAndEveryCutIsFound) {
  RandomSource random(1);
  for (int i = 0; i < 20; ++i) {
    const State state = random_state(random);
    const std::vector<std::byte> bytes = state.to_bytes();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << bit % 8;
      const auto read = State::from_bytes(flipped);
      // Version 2 without its bit is 0, which never was.
      const bool other = bit < 8 && bit != 1;
      ASSERT_THAT(read, Fails(other ? Errc::unsupported_version : Errc::bad_state)) << "bit " << bit;
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_TRUE(State::from_bytes(ByteView(bytes).first(size)).has_error()) << size;
      ASSERT_TRUE(State::from_text(state.to_text().substr(0, size)).has_error()) << size;
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    ASSERT_TRUE(State::from_bytes(longer).has_error());
  }
}

TEST(StateTest, RandomBytesAndTextAreNoState) {
  RandomSource random(2);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes(random.below(200));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.word());
    if (!bytes.empty() && random.chance(80)) bytes[0] = std::byte{1};
    ASSERT_TRUE(State::from_bytes(bytes).has_error());
    ASSERT_TRUE(State::from_text("dvt:" + std::string(as_chars(bytes))).has_error());
  }
}

// A checksum is no proof: numbers that no run could have are refused as well.
TEST(StateTest, ImpossibleNumbersAreRefused) {
  RandomSource random(3);
  const State good = random_state(random);
  const std::vector<std::function<void(State&)>> spoils{
      [](State& state) { state.order = static_cast<OrderKind>(3); },
      [](State& state) { state.tail = static_cast<Tail>(3); },
      [](State& state) { state.replicate = 0; },
      [](State& state) { state.phases.clear(); },
      [](State& state) {
        state.phases.assign(10, {1, 1, 1});
      },
      [](State& state) {
        state.phases = {{0, 1, 1}, {1, 1, 1}};
      },
      [](State& state) {
        state.phases = {{1, 0, 1}};
      },
      [](State& state) {
        state.phases = {{1, (1u << 24) + 1, 1}};
      },
      [](State& state) {
        state.phases = {{1, 1, 0}};
      },
      [](State& state) {
        state.phases = {{std::uint64_t{1} << 55, 1, 1}};
      },
  };
  for (std::size_t i = 0; i < spoils.size(); ++i) {
    State state = good;
    spoils[i](state);
    EXPECT_THAT(State::from_bytes(state.to_bytes()), Fails(Errc::bad_state)) << "spoil " << i;
    EXPECT_THAT(Plan::resume(shape_of({100}), {.batch = 10}, state), Fails(Errc::bad_state))
        << "spoil " << i << ", a state made by hand";
  }
}

TEST(StateTest, OptionsOfAStateContinueItsOrder) {
  const PlanOptions options{.world = 6,
                            .batch = 4,
                            .replicate = 2,
                            .lanes = 6,
                            .order = OrderKind::shuffle,
                            .tail = Tail::wrap,
                            .open_runs = 7,
                            .pool = 9,
                            .seed = 11,
                            .sticky = true};
  const auto shape = shape_of({100, 200, 300});
  const Plan plan = Plan::make(shape, options).value();
  const State state = plan.state({5, 3}).value();
  EXPECT_EQ(state.position(), (Position{5, 3}));
  const Plan resumed = Plan::resume(shape, state.options(6, 4), state).value();
  EXPECT_EQ(resumed.plan_id(), plan.plan_id());
  EXPECT_EQ(resumed.order_id(), plan.order_id());
  EXPECT_EQ(resumed.start(), (Position{5, 3}));
  EXPECT_FALSE(resumed.changes_world());
  EXPECT_EQ(resumed.plan_checksum(), plan.plan_checksum({5, 3}));
  EXPECT_NE(resumed.plan_checksum(), plan.plan_checksum());
  EXPECT_EQ(resumed.state({5, 3}).value(), state);
}

TEST(StateTest, StepsThatAnEpochDoesNotHaveHaveNoState) {
  const Plan plan = Plan::make(shape_of({100}), {.batch = 10}).value();
  EXPECT_TRUE(plan.state({0, 10}).has_value());
  EXPECT_THAT(plan.state({0, 11}), Fails().saying("0 to 10 are possible"));
}

Error refusal(const std::shared_ptr<const DatasetShape>& shape, const PlanOptions& options, const State& state) {
  const auto resumed = Plan::resume(shape, options, state);
  EXPECT_TRUE(resumed.has_error());
  return resumed.has_error() ? resumed.error() : Error();
}

TEST(ResumeTest, NamesEveryDifference) {
  const auto shape = shape_of({100, 200});
  const PlanOptions options{.batch = 10, .seed = 5};
  const State state = Plan::make(shape, options)->state({0, 4}).value();
  PlanOptions other = options;
  other.order = OrderKind::global;
  other.tail = Tail::pad;
  other.seed = 7;
  other.pool = 3;
  other.open_runs = 4;
  auto renamed = shape_of({100, 200});
  renamed->fingerprint.low = 1;
  EXPECT_THAT(refusal(renamed, other, state), Fails(Errc::state_mismatch)
                                                  .saying("order is global, but was shuffle")
                                                  .saying("tail is pad, but was drop")
                                                  .saying("seed is 7, but was 5")
                                                  .saying("pool is 3, but was 256")
                                                  .saying("open_runs is 4")
                                                  .saying("another dataset"));
}

TEST(ResumeTest, TellsMixesFromPlainDatasetsAndFromEachOther) {
  auto shape = shape_of({100, 200});
  shape->source_shards = {1, 1};
  PlanOptions mixed{.batch = 10};
  mixed.mix.schedule = {{0, {1, 2}}};
  PlanOptions heavier = mixed;
  heavier.mix.schedule = {{0, {2, 2}}};
  const PlanOptions plain{.batch = 10};
  const State of_mix = Plan::make(shape, mixed)->state({0, 1}).value();
  const State of_plain = Plan::make(shape, plain)->state({0, 1}).value();
  EXPECT_THAT(refusal(shape, plain, of_mix).detail(), HasSubstr("was taken from a mix"));
  EXPECT_THAT(refusal(shape, mixed, of_plain).detail(), HasSubstr("was taken without a mix"));
  EXPECT_THAT(refusal(shape, heavier, of_mix).detail(), HasSubstr("weights, stop rule or sources"));
  auto other = std::make_shared<DatasetShape>(*shape);
  other->fingerprint.high ^= 4;
  EXPECT_THAT(refusal(other, mixed, of_mix).detail(), HasSubstr("the mix has other datasets"));
}

TEST(ResumeTest, RefusesStepsThatTheEpochCannotHaveTaken) {
  const auto shape = shape_of({100});
  const PlanOptions options{.batch = 10};
  State state = Plan::make(shape, options)->state({0, 10}).value();
  state.phases.back().steps = 11;
  EXPECT_TRUE(refusal(shape, options, state).is(Errc::state_mismatch));
  state.phases = {{11, 1, 10}, {0, 1, 5}};
  EXPECT_TRUE(refusal(shape, {.batch = 5}, state).is(Errc::state_mismatch));
  state.phases = {{10, 1, 10}, {1, 1, 5}, {0, 1, 2}};
  EXPECT_TRUE(refusal(shape, {.batch = 2}, state).is(Errc::state_mismatch)) << "the epoch had ended before";
}

}  // namespace
}  // namespace dovetail::test
