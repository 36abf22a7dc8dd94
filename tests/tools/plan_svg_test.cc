// SPDX-License-Identifier: Apache-2.0
#include "tools/plan_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/state.h>

#include "tests/tools/plan_shapes.h"
#include "tools/svg.h"

namespace dovetail::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string draw(const std::shared_ptr<const DatasetShape>& dataset, const PlanOptions& options,
                 std::uint32_t epoch = 0) {
  const Plan plan = Plan::make(dataset, options).value();
  return draw_plan(report_plan(plan, plan.epoch(epoch).value(), false), "data").value();
}

std::size_t parts(const std::string& svg) {
  return count(svg, "class=\"part\"");
}
std::size_t cuts(const std::string& svg) {
  return count(svg, "class=\"cut\"");
}
std::size_t bars(const std::string& svg) {
  return count(svg, "class=\"bar\"");
}
/// Cells of all shades.
std::size_t cells(const std::string& svg) {
  std::size_t found = 0;
  for (std::size_t at = svg.find("class=\"cells\""); at != std::string::npos;
       at = svg.find("class=\"cells\"", at + 1)) {
    found += count(svg.substr(at, svg.find("/>", at) - at), "M");
  }
  return found;
}

TEST(PlanSvgTest, EveryShardAndEveryCutIsDrawn) {
  const std::string svg = draw(equal_shards(3, 120), {.world = 4, .batch = 10});
  // Three cuts at 90, 180 and 270 of 360 records: two inside shards, one between none.
  EXPECT_EQ(parts(svg), 3u + 3u);
  EXPECT_EQ(cuts(svg), 3u);
  EXPECT_EQ(bars(svg), 3u * 4);
  for (const char* name : {"rank 0<", "rank 1<", "rank 2<", "rank 3<"}) EXPECT_THAT(svg, HasSubstr(name));
}

TEST(PlanSvgTest, TheMapHasACellForEachShardAndStepWhereThereAreRowsEnough) {
  const std::string svg = draw(equal_shards(4, 1000), {.batch = 100});
  EXPECT_EQ(cells(svg), 4u * 40);
  const std::string two = draw(equal_shards(4, 1000), {.world = 2, .batch = 100, .order = OrderKind::sequential});
  EXPECT_EQ(cells(two), 2u * 20 + 4 * 20);
}

TEST(PlanSvgTest, AHundredThousandShardsAndAThousandRanksStaySmall) {
  const std::string svg = draw(equal_shards(100000, 200), {.world = 990, .batch = 32});
  EXPECT_LT(svg.size(), 2u << 20);
  EXPECT_LE(parts(svg), 1120u);
  EXPECT_EQ(cuts(svg), 0u);
  EXPECT_EQ(bars(svg), 3u * 120);
  EXPECT_LE(cells(svg), 2u * 96 * 160);
  EXPECT_EQ(count(svg, " parts; each stripe"), 1u);
  EXPECT_EQ(count(svg, "in a sample"), 1u) << "of all ranks; rank 0 is seen whole";
}

TEST(PlanSvgTest, OneShardWithOneRecordIsDrawn) {
  const std::string svg = draw(equal_shards(1, 1), {.tail = Tail::pad});
  EXPECT_EQ(parts(svg), 1u);
  EXPECT_EQ(cells(svg), 1u);
}

TEST(PlanSvgTest, AllOrdersAndDealsAreDrawn) {
  for (const OrderKind order : {OrderKind::shuffle, OrderKind::sequential, OrderKind::global}) {
    const std::string svg = draw(equal_shards(8, 100), {.world = 2, .batch = 10, .order = order});
    EXPECT_EQ(parts(svg), 8u);
    EXPECT_EQ(cuts(svg), order == OrderKind::global ? 0u : 1u);
  }
  EXPECT_THAT(draw(equal_shards(8, 100), {.world = 2, .batch = 10, .assign = Assign::files}),
              HasSubstr("Whole shards"));
}

TEST(PlanSvgTest, AMixHasALineForEachSource) {
  auto dataset = std::make_shared<DatasetShape>(*equal_shards(10, 100));
  dataset->source_shards = {4, 6};
  const std::string svg = draw(dataset, {.world = 2, .batch = 10, .mix = {.schedule = {{0, {1, 1}}}}});
  EXPECT_THAT(svg, HasSubstr(">source 0<"));
  EXPECT_THAT(svg, HasSubstr(">source 1<"));
  EXPECT_EQ(parts(svg), 10u);
  EXPECT_EQ(cuts(svg), 2u);
}

TEST(PlanSvgTest, AfterAChangeOfWorldTheLanesOfTheBeginningAreNamed) {
  const auto dataset = equal_shards(6, 100);
  const Plan before = Plan::make(dataset, {.world = 3, .batch = 10}).value();
  const State state = before.state({0, 20}).value();
  const Plan after = Plan::resume(dataset, state.options(4, 5), state).value();
  const EpochPlan epoch = after.epoch(0).value();
  EXPECT_THAT(draw_plan(report_plan(after, epoch, false), "data").value(), HasSubstr(">lane 2<"));

  const State end = before.state({0, 20}).value();
  const Plan nothing = Plan::resume(dataset, end.options(1, 4), end).value();
  EXPECT_TRUE(draw_plan(report_plan(nothing, nothing.epoch(0).value(), false), "data"));
}

TEST(PlanSvgTest, NamesAreEscaped) {
  const Plan plan = Plan::make(equal_shards(2, 10), {}).value();
  const std::string svg = draw_plan(report_plan(plan, plan.epoch(0).value(), false), "a<b>&\"\x01\xFF").value();
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;\xEF\xBF\xBD\xEF\xBF\xBD"));
  EXPECT_THAT(svg, Not(HasSubstr("a<b")));
}

TEST(SvgTest, LengthsAreShort) {
  EXPECT_EQ(length_text(12), "12");
  EXPECT_EQ(length_text(12.5), "12.5");
  EXPECT_EQ(length_text(1.0 / 3), "0.33");
  EXPECT_EQ(length_text(-0.001), "0");
  EXPECT_EQ(length_text(100), "100");
}

TEST(SvgTest, TheScaleGoesFromDarkToBright) {
  EXPECT_EQ(scale_colour(0), "#440154");
  EXPECT_EQ(scale_colour(1), "#fde725");
  EXPECT_EQ(scale_colour(2), scale_colour(1));
}

}  // namespace
}  // namespace dovetail::tools
