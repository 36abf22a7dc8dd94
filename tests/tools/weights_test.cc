// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/weights.h"
#include "tests/support/fails.h"

namespace dovetail::tools {
namespace {

using Schedule = std::vector<MixWeights>;

TEST(WeightsTest, OneListHoldsForTheWholeEpoch) {
  EXPECT_EQ(parse_weights("3,1").value(), (Schedule{{0, {3, 1}}}));
  EXPECT_EQ(parse_weights("7").value(), (Schedule{{0, {7}}}));
  EXPECT_EQ(parse_weights("0,4294967295,2").value(), (Schedule{{0, {0, 4294967295, 2}}}));
}

TEST(WeightsTest, DecimalsBecomeWholeNumbersInTheSameProportion) {
  EXPECT_EQ(parse_weights("0.7,0.3").value(), (Schedule{{0, {7, 3}}}));
  EXPECT_EQ(parse_weights("1,0.25,.5").value(), (Schedule{{0, {100, 25, 50}}}));
  EXPECT_EQ(parse_weights("0.000000001,0").value(), (Schedule{{0, {1, 0}}}));
}

TEST(WeightsTest, AScheduleNamesTheStepOfEachList) {
  EXPECT_EQ(parse_weights("0=3:1,1000=1:1").value(), (Schedule{{0, {3, 1}}, {1000, {1, 1}}}));
  EXPECT_EQ(parse_weights("0=0.5:1").value(), (Schedule{{0, {5, 10}}}));
}

TEST(WeightsTest, TextIsReadBack) {
  const Schedule schedule{{0, {3, 1, 0}}, {77, {1, 4294967295, 9}}};
  EXPECT_EQ(parse_weights(to_text(schedule)).value(), schedule);
}

TEST(WeightsTest, RefusesWhatIsNoWeight) {
  for (const char* text :
       {"",   ",",  "3,", "3,,1", "a",      "-1,2",  "1;2", "1e3",   "1.",         "1..2",           "1.2.3",
        " 1", "0=", "=1", "0=1:", "0=1,2=", "0=1,2", "x=1", "0=1=2", "4294967296", "1,0.0000000001", "5,0.000000001",
        "0:1"}) {
    EXPECT_THAT(parse_weights(text), test::Fails(Errc::invalid_option)) << text;
  }
}

}  // namespace
}  // namespace dovetail::tools
