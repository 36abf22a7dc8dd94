// SPDX-License-Identifier: Apache-2.0
#include "format/text/wildcard.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace dovetail::format {
namespace {

struct MatchCase {
  const char* name;
  const char* pattern;
  bool match;
};

class WildcardTest : public ::testing::TestWithParam<MatchCase> {};

TEST_P(WildcardTest, MatchesByteByByte) {
  EXPECT_EQ(matches(GetParam().name, GetParam().pattern), GetParam().match)
      << GetParam().name << " against " << GetParam().pattern;
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, WildcardTest,
    ::testing::Values(MatchCase{"", "", true}, MatchCase{"", "*", true}, MatchCase{"a", "", false},
                      MatchCase{"abc", "abc", true}, MatchCase{"abc", "ab", false}, MatchCase{"ab", "abc", false},
                      MatchCase{"abc", "a?c", true}, MatchCase{"abc", "????", false}, MatchCase{"abc", "*", true},
                      MatchCase{"abc", "***", true}, MatchCase{"abc", "a*", true}, MatchCase{"abc", "*c", true},
                      MatchCase{"abcabd", "*abd", true}, MatchCase{"abcabd", "a*b*d", true},
                      MatchCase{"abcabd", "a*x*d", false}, MatchCase{"shard-07.dvt", "shard-[0-9][0-9].dvt", true},
                      MatchCase{"shard-x7.dvt", "shard-[0-9][0-9].dvt", false}, MatchCase{"b", "[abc]", true},
                      MatchCase{"d", "[abc]", false}, MatchCase{"d", "[!abc]", true}, MatchCase{"a", "[^abc]", false},
                      MatchCase{"]", "[]]", true}, MatchCase{"a", "[!]]", true}, MatchCase{"-", "[a-]", true},
                      MatchCase{"*", "[*]", true}, MatchCase{"x", "[*]", false}, MatchCase{"[", "[", true},
                      MatchCase{"[a", "[a", true}, MatchCase{"[]", "[]", true}, MatchCase{"a*b", "a[*]b", true},
                      MatchCase{"\xC3\xA9", "??", true}, MatchCase{"\xFF", "[\x80-\xFF]", true},
                      MatchCase{"5", "[[:digit:]]", true}, MatchCase{"d", "[[:digit:]]", false},
                      MatchCase{"-", "[[.-.]]", true}, MatchCase{"a.", "a[.[]", true}, MatchCase{"[", "[.[]", true},
                      MatchCase{"a", "[a-", false}, MatchCase{"-", "[a-", false}, MatchCase{"a.", "a[[.]", false},
                      MatchCase{"[", "[[.]", false}, MatchCase{"bc", "[b[.]*", false}, MatchCase{".hidden", "*", false},
                      MatchCase{".hidden", "?hidden", false}, MatchCase{".hidden", "[.]hidden", false},
                      MatchCase{".hidden", ".h*", true}));

TEST(WildcardNulTest, APatternWithANulByteMatchesNothing) {
  using namespace std::string_view_literals;
  EXPECT_FALSE(matches("a.jpg", "*.jpg\0.bak"sv));
  EXPECT_FALSE(matches("a.jpg", "a.jpg\0"sv));
  EXPECT_FALSE(matches("", "\0"sv));
}

TEST(WildcardCostTest, ManyStarsStayCheap) {
  EXPECT_FALSE(matches(std::string(2000, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}

}  // namespace
}  // namespace dovetail::format
