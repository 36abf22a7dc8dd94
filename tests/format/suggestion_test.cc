// SPDX-License-Identifier: Apache-2.0
#include "format/text/suggestion.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail::format {
namespace {

TEST(SuggestionTest, IsTheNearestThatIsNotFarOff) {
  const std::vector<std::string> known = {"inspect", "index", "read", "--world", "--replay", "-h"};
  EXPECT_EQ(closest("inspekt", known), "inspect");
  EXPECT_EQ(closest("inspcet", known), "inspect") << "two letters swapped";
  EXPECT_EQ(closest("--word", known), "--world");
  EXPECT_EQ(closest("raed", known), "read");
  EXPECT_EQ(closest("write", known), "");
  EXPECT_EQ(closest("--rank", known), "") << "dashes are no letters that fit";
  EXPECT_EQ(closest("", known), "");
  EXPECT_EQ(closest("read", {}), "");
  EXPECT_EQ(suggestion("inspekt", known), "; did you mean 'inspect'?");
  EXPECT_EQ(suggestion("write", known), "");
}

}  // namespace
}  // namespace dovetail::format
