// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_file.h"

#include <filesystem>

#include "tests/support/fails.h"
#include "tests/tools/plan_shapes.h"
#include "tools/command/text_file.h"
#include "tools/plan/plan_arguments.h"

namespace dovetail::tools {
namespace {

PlanOptions unusual_options() {
  return {.world = 6,
          .batch = 20,
          .replicate = 2,
          .lanes = 12,
          .tail = Tail::pad,
          .open_runs = 7,
          .pool = 33,
          .seed = ~std::uint64_t{0},
          .sticky = true,
          .mix = {.schedule = {{0, {3, 1}}, {5, {1, 65535}}}, .stop = MixStop::steps, .steps = 9}};
}

std::shared_ptr<const DatasetShape> two_sources() {
  auto shape = std::make_shared<DatasetShape>(*equal_shards(10, 50));
  shape->source_shards = {4, 6};
  return shape;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in " << text;
  return text.replace(at, what.size(), by);
}

/// The plan that a text makes of a dataset.
Result<Plan> plan_again(const std::string& text, const std::shared_ptr<const DatasetShape>& dataset) {
  const auto saved = saved_plan_from_text(text);
  if (!saved) return saved.error();
  return PlanRequest{saved->options, saved->state, *saved}.plan(dataset);
}

TEST(PlanFileTest, EveryOptionIsReadBack) {
  const Plan plan = Plan::make(two_sources(), unusual_options()).value();
  const SavedPlan saved = saved_plan_from_text(to_text(saved_plan(plan, {}))).value();
  EXPECT_EQ(saved.options, unusual_options());
  EXPECT_FALSE(saved.state);
  EXPECT_EQ(saved.plan_id, plan.plan_id());
  EXPECT_EQ(saved.order_id, plan.order_id());
  EXPECT_EQ(saved.records, 500u);
  EXPECT_EQ(plan_again(to_text(saved), two_sources())->plan_id(), plan.plan_id());
}

TEST(PlanFileTest, TheNumberOfLanesIsSavedAlsoWhereItWasChosen) {
  const Plan plan = Plan::make(equal_shards(4, 50), {.world = 4, .batch = 5}).value();
  EXPECT_EQ(saved_plan(plan, {}).options.lanes, 4u);
  EXPECT_TRUE(plan_again(to_text(saved_plan(plan, {})), equal_shards(4, 50)));
}

TEST(PlanFileTest, APlanThatContinuesAnEpochIsReadBack) {
  const auto dataset = equal_shards(4, 50);
  const Plan before = Plan::make(dataset, {.world = 4, .batch = 5}).value();
  const State state = before.state({2, 3}).value();
  const Plan after = Plan::resume(dataset, state.options(3, 8), state).value();
  const Plan again = plan_again(to_text(saved_plan(after, state)), dataset).value();
  EXPECT_EQ(again.plan_id(), after.plan_id());
  EXPECT_EQ(again.start(), (Position{2, 3}));
  EXPECT_TRUE(again.changes_world());
}

TEST(PlanFileTest, AnotherDatasetIsRefusedAndNamed) {
  const Plan plan = Plan::make(equal_shards(4, 50), {.world = 2, .batch = 5}).value();
  EXPECT_THAT(plan_again(to_text(saved_plan(plan, {})), equal_shards(4, 51)),
              test::Fails(Errc::state_mismatch).saying(plan.dataset().fingerprint.to_hex()));
}

TEST(PlanFileTest, AnAlteredPlanIsRefusedAndSaysWhatDiffers) {
  const auto dataset = equal_shards(4, 50);
  const std::string text = to_text(saved_plan(Plan::make(dataset, {.world = 2, .batch = 5}).value(), {}));
  const std::pair<const char*, const char*> changes[] = {
      {"\"seed\":0", "\"seed\":1"},    {"\"pool\":256", "\"pool\":255"},        {"\"batch\":5", "\"batch\":10"},
      {"\"drop\"", "\"pad\""},         {"\"sticky\":false", "\"sticky\":true"}, {"\"even\"", "\"files\""},
      {"\"lanes\":2", "\"lanes\":10"}, {"\"shuffle\"", "\"sequential\""},       {"\"records\":200", "\"records\":201"}};
  for (const auto& [from, to] : changes) {
    const auto again = plan_again(replaced(text, from, to), dataset);
    ASSERT_THAT(again, test::Fails(Errc::state_mismatch)) << to;
    const bool names = again.error().to_string().find("plan_id") != std::string::npos ||
                       again.error().to_string().find("records") != std::string::npos;
    EXPECT_TRUE(names) << again.error().to_string();
  }
}

TEST(PlanFileTest, AFlagThatContradictsThePlanIsNamed) {
  const auto dataset = equal_shards(4, 50);
  const std::string path = test_file("plan");
  ASSERT_TRUE(save_plan(path, saved_plan(Plan::make(dataset, {.world = 2, .batch = 5}).value(), {})));
  PlanFlags flags;
  flags.plan_path = path;
  EXPECT_TRUE(plan_request(flags)->plan(dataset));
  flags.world = 3;
  flags.seed = 8;
  const auto plan = plan_request(flags)->plan(dataset);
  ASSERT_THAT(plan, test::Fails(Errc::state_mismatch)
                        .saying("world is 3, in the saved plan 2")
                        .saying("seed is 8, in the saved plan 0"));
  std::filesystem::remove(path);
}

TEST(PlanFileTest, CutAnywhereItIsRefused) {
  const Plan plan = Plan::make(two_sources(), unusual_options()).value();
  const std::string text = to_text(saved_plan(plan, {}));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_THAT(saved_plan_from_text(text.substr(0, length)), test::Fails(Errc::bad_state)) << length;
  }
}

TEST(PlanFileTest, AnyChangedByteIsRefusedOrChangesNothing) {
  const auto dataset = two_sources();
  const Plan plan = Plan::make(dataset, unusual_options()).value();
  const std::string text = to_text(saved_plan(plan, {}));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto again = plan_again(changed, dataset);
    if (!again) continue;
    EXPECT_EQ(again->plan_id(), plan.plan_id()) << changed;
  }
}

TEST(PlanFileTest, ValuesOfTheWrongKindAreRefused) {
  const std::string text = to_text(saved_plan(Plan::make(two_sources(), unusual_options()).value(), {}));
  const std::pair<const char*, const char*> changes[] = {{"\"world\":6", "\"world\":\"6\""},
                                                         {"\"world\":6", "\"world\":-6"},
                                                         {"\"world\":6", "\"world\":6.5"},
                                                         {"\"world\":6", "\"world\":4294967296"},
                                                         {"\"world\":6", "\"planet\":6"},
                                                         {"\"shuffle\"", "\"waltz\""},
                                                         {"\"sticky\":true", "\"sticky\":1"},
                                                         {"[3,1]", "[3,\"1\"]"},
                                                         {"[3,1]", "3"},
                                                         {"\"from_step\":5", "\"from_step\":null"},
                                                         {"\"dovetail_plan\":1", "\"plan\":1"}};
  for (const auto& [from, to] : changes) {
    EXPECT_THAT(saved_plan_from_text(replaced(text, from, to)), test::Fails(Errc::bad_state)) << to;
  }
  EXPECT_THAT(saved_plan_from_text(replaced(text, "\"dovetail_plan\":1", "\"dovetail_plan\":2")),
              test::Fails(Errc::unsupported_version));
}

TEST(PlanRequestTest, TheWorldIsOneAndTheBatchIsNeeded) {
  PlanFlags flags;
  flags.world = 4;
  EXPECT_THAT(plan_request(flags), test::Fails(Errc::invalid_option).saying("--batch is required"));
  flags.world.reset();
  flags.batch = 4;
  EXPECT_EQ(plan_request(flags).value().options.world, 1u);
}

TEST(PlanRequestTest, TheMixesFlagsNeedWeights) {
  PlanFlags flags;
  flags.world = flags.batch = 1;
  flags.stop = MixStop::all;
  EXPECT_THAT(plan_request(flags), test::Fails().saying("--weights"));
}

TEST(PlanRequestTest, AStateTellsTheOrderAndAFlagMustNotContradictIt) {
  const auto dataset = equal_shards(4, 50);
  const PlanOptions options{.world = 2, .batch = 5, .tail = Tail::pad, .open_runs = 3, .pool = 9, .seed = 6};
  const std::string path = test_file("state");
  ASSERT_TRUE(replace_text(path, Plan::make(dataset, options)->state({1, 4})->to_text()));
  PlanFlags flags;
  flags.world = 4;
  flags.batch = 3;
  flags.state_path = path;
  const Plan plan = plan_request(flags)->plan(dataset).value();
  EXPECT_EQ(plan.options().seed, 6u);
  EXPECT_EQ(plan.options().tail, Tail::pad);
  EXPECT_EQ(plan.start(), (Position{1, 4}));
  flags.seed = 7;
  EXPECT_THAT(plan_request(flags)->plan(dataset), test::Fails(Errc::state_mismatch).saying("seed"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dovetail::tools
