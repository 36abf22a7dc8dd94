// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/state.h>

#include "tests/tools/plan_shapes.h"
#include "tools/command/svg.h"

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
  return draw_plan(report_plan(plan, plan.epoch(epoch).value()), "data").value();
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

TEST(PlanSvgTest, TheMapHasSixteenCellsForEachColumn) {
  const std::string svg = draw(equal_shards(4, 1000), {.batch = 100});
  // 8 rows a cell, on average.
  EXPECT_EQ(cells(svg), 16u * 31);
  const std::string two = draw(equal_shards(4, 1000), {.world = 2, .batch = 100, .order = OrderKind::sequential});
  EXPECT_EQ(cells(two), 16u * 16 + 16 * 20);
}

TEST(PlanSvgTest, AHundredThousandShardsAndAThousandRanksStaySmall) {
  const std::string svg = draw(equal_shards(100000, 200), {.world = 990, .batch = 32});
  EXPECT_LT(svg.size(), 2u << 20);
  EXPECT_LE(parts(svg), 1120u);
  EXPECT_EQ(cuts(svg), 0u);
  EXPECT_EQ(bars(svg), 3u * 120);
  EXPECT_LE(cells(svg), 2u * 16 * 160);
  EXPECT_EQ(count(svg, " parts; each stripe"), 1u);
  EXPECT_EQ(count(svg, "in a sample"), 1u) << "of all ranks; rank 0 is seen whole";
}

TEST(PlanSvgTest, OneShardWithOneRecordIsDrawn) {
  const std::string svg = draw(equal_shards(1, 1), {.tail = Tail::pad});
  EXPECT_EQ(parts(svg), 1u);
  EXPECT_EQ(cells(svg), 16u);
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

TEST(PlanSvgTest, RunsAreNotCut) {
  const std::string svg = draw(equal_shards(8, 100), {.world = 2, .batch = 10, .assign = Assign::runs});
  EXPECT_EQ(parts(svg), 8u);
  EXPECT_EQ(cuts(svg), 0u);
  EXPECT_THAT(svg, HasSubstr("Every rank gets runs of all shards"));
}

TEST(PlanSvgTest, WhatWasMeasuredIsDrawn) {
  const Plan plan = Plan::make(equal_shards(1, 4000), {.world = 4, .batch = 50}).value();
  PlanReport report = report_plan(plan, plan.epoch(0).value());
  EXPECT_THAT(draw_plan(report, "data").value(), Not(HasSubstr("weak: ")));
  report.mixing = measure_mixing(report.plan, report.epoch);
  const std::string weak = draw_plan(report, "data").value();
  EXPECT_THAT(weak, HasSubstr("weak: a batch has records of 4.0 slices"));
  EXPECT_THAT(weak, HasSubstr("--assign runs"));
  EXPECT_THAT(weak, HasSubstr("slices in the global batch"));
  const Plan good = Plan::make(equal_shards(40, 500), {.batch = 50}).value();
  PlanReport other = report_plan(good, good.epoch(0).value());
  other.mixing = measure_mixing(other.plan, other.epoch);
  EXPECT_THAT(draw_plan(other, "data").value(), HasSubstr("good: the batches are mixed well"));
}

TEST(PlanReportTest, LabelsOfFewBatchesAreNotJudged) {
  const Plan plan = Plan::make(equal_shards(40, 500), {.batch = 50}).value();
  PlanReport report = report_plan(plan, plan.epoch(0).value());
  report.mixing = measure_mixing(report.plan, report.epoch);
  add_labels(*report.mixing, measure_labels({}));
  for (const std::string& text : {to_text(report), draw_plan(report, "data").value()}) {
    EXPECT_THAT(text, HasSubstr("good: the batches are mixed well; the labels were not judged"));
    EXPECT_THAT(text, HasSubstr("the labels of 0 records in 0 batches, too few to judge"));
    EXPECT_THAT(text, Not(HasSubstr("0.0, 0")));
  }
  EXPECT_FALSE(to_json(report).at("mixing").at("labels").at("judged").as_bool());
}

TEST(PlanReportTest, BatchesThatAreTooLargeAreNotMeasured) {
  const Plan plan = Plan::make(equal_shards(4, 100), {.batch = 1'000'000'000, .tail = Tail::pad}).value();
  PlanReport report = report_plan(plan, plan.epoch(0).value());
  report.mixing = measure_mixing(report.plan, report.epoch);
  for (const std::string& text : {to_text(report), draw_plan(report, "data").value()}) {
    EXPECT_THAT(text, HasSubstr("not measured: batches of 1000000000 rows are too large"));
    EXPECT_THAT(text, Not(HasSubstr("good: ")));
  }
  EXPECT_EQ(to_json(report).at("mixing").at("batches").to_number<int>(), 0);
}

TEST(PlanReportTest, NarrowLanesAreNoted) {
  const auto narrow = [](const std::shared_ptr<const DatasetShape>& dataset, const PlanOptions& options) {
    const Plan plan = Plan::make(dataset, options).value();
    return narrow_lanes(report_plan(plan, plan.epoch(0).value())).value_or("");
  };
  EXPECT_EQ(narrow(equal_shards(20, 1000), {.batch = 10}), "");
  EXPECT_EQ(narrow(equal_shards(100, 1000), {.world = 2, .batch = 10}), "");
  EXPECT_EQ(narrow(equal_shards(20, 1000), {.world = 4, .batch = 10, .order = OrderKind::global}), "");
  EXPECT_EQ(narrow(equal_shards(20, 1000), {.world = 4, .batch = 10, .assign = Assign::runs}), "");
  EXPECT_EQ(narrow(equal_shards(20, 1000), {.world = 4, .batch = 10}),
            "a rank's share is from only 5 shards: use --assign runs, which deals the runs of all shards and needs "
            "equal --run-records, or --order global");
  EXPECT_THAT(narrow(equal_shards(1, 10'000), {.world = 4, .batch = 10}), HasSubstr("from only 1 shard: "));
  EXPECT_EQ(narrow(equal_shards(20, 100, 50), {.world = 4, .batch = 10, .assign = Assign::runs}),
            "a lane has only 10 runs: pack with fewer --run-records, or use --order global");
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
  EXPECT_THAT(draw_plan(report_plan(after, epoch), "data").value(), HasSubstr(">lane 2<"));

  const State end = before.state({0, 20}).value();
  const Plan nothing = Plan::resume(dataset, end.options(1, 4), end).value();
  EXPECT_TRUE(draw_plan(report_plan(nothing, nothing.epoch(0).value()), "data"));
}

TEST(PlanSvgTest, NamesAreEscaped) {
  const Plan plan = Plan::make(equal_shards(2, 10), {}).value();
  const std::string svg = draw_plan(report_plan(plan, plan.epoch(0).value()), "a<b>&\"\x01\xFF\u202E\u009B").value();
  EXPECT_THAT(svg, HasSubstr(R"(a&lt;b&gt;&amp;&quot;\x01\xff\u202e\u009b)"));
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
