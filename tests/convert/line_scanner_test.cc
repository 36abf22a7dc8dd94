// SPDX-License-Identifier: Apache-2.0
#include "sources/bytes/line_scanner.h"

#include <string>
#include <string_view>

#include "tests/support/fails.h"
#include "tests/support/sample_records.h"

namespace dovetail::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<test::Records> scan(std::string_view text, std::size_t piece, std::uint32_t limit = 1000) {
  LineScanner scanner(limit);
  test::Records lines;
  for (std::size_t begin = 0;; begin += piece) {
    for (;;) {
      const auto line = scanner.next();
      if (!line) return line.error();
      if (!*line) break;
      lines.emplace_back(as_chars(**line));
    }
    if (begin >= text.size()) break;
    scanner.feed(as_bytes(text.substr(begin, piece)));
  }
  const auto last = scanner.finish();
  if (!last) return last.error();
  if (*last) lines.emplace_back(as_chars(**last));
  return lines;
}

/// The same, with `#` and the offset for a line above the limit.
test::Records scan_on(std::string_view text, std::size_t piece, std::uint32_t limit) {
  LineScanner scanner(limit);
  test::Records lines;
  const auto take = [&](const Result<std::optional<ByteView>>& line) {
    if (line && !*line) return false;
    lines.push_back(line ? std::string(as_chars(**line)) : '#' + std::to_string(scanner.record_offset()));
    return line || scanner.goes_on();
  };
  for (std::size_t begin = 0;; begin += piece) {
    while (take(scanner.next())) continue;
    if (begin >= text.size()) break;
    scanner.feed(as_bytes(text.substr(begin, piece)));
  }
  take(scanner.finish());
  return lines;
}

class LineScannerTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  test::Records lines(std::string_view text) const { return scan(text, GetParam()).value(); }
};

TEST_P(LineScannerTest, TakesEachLineWithoutItsNewline) {
  EXPECT_THAT(lines("one\ntwo\n"), ElementsAre("one", "two"));
  EXPECT_THAT(lines("\n\na\n\n"), ElementsAre("", "", "a", ""));
}

TEST_P(LineScannerTest, LeavesOutTheReturnBeforeANewline) {
  EXPECT_THAT(lines("one\r\ntwo\n\r\n\r\r\nlast\r"), ElementsAre("one", "two", "", "\r", "last"));
}

TEST_P(LineScannerTest, LeavesOutAByteOrderMarkBeforeTheFirstLine) {
  EXPECT_THAT(lines("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"), ElementsAre("one", "\xEF\xBB\xBFtwo"));
  EXPECT_THAT(lines("\xEF\xBB\xBF"), ElementsAre(""));
}

TEST_P(LineScannerTest, CountsALastLineWithoutNewline) {
  EXPECT_THAT(lines("one\ntwo"), ElementsAre("one", "two"));
  EXPECT_THAT(lines("one"), ElementsAre("one"));
}

TEST_P(LineScannerTest, FindsNoLineInNothing) {
  EXPECT_THAT(lines(""), IsEmpty());
}

TEST_P(LineScannerTest, KeepsEveryOtherByte) {
  const std::string odd("a\rb\0c\xFF\n", 7);
  EXPECT_THAT(lines(odd), ElementsAre(odd.substr(0, 6)));
}

TEST_P(LineScannerTest, RefusesLinesAboveTheLimit) {
  EXPECT_THAT(scan("12345\n12345", GetParam(), 5).value(), ElementsAre("12345", "12345"));
  for (const char* text : {"ok\n123456\n", "ok\n123456"}) {
    const auto refused = scan(text, GetParam(), 5);
    ASSERT_THAT(refused, test::Fails(Errc::record_too_large)) << text;
    EXPECT_EQ(refused.error().detail(), "line 2 is longer than 5 bytes");
  }
}

TEST_P(LineScannerTest, GoesOnBehindALineAboveTheLimit) {
  EXPECT_THAT(scan_on("ok\n12345678901\n\n123456\nlast", GetParam(), 5), ElementsAre("ok", "#3", "", "#16", "last"));
  EXPECT_THAT(scan_on("123456\n", GetParam(), 5), ElementsAre("#0"));
  EXPECT_THAT(scan_on("1\n123456", GetParam(), 5), ElementsAre("1", "#2"));
  EXPECT_THAT(scan_on("12345\r\n123456\r\n12345\r", GetParam(), 5), ElementsAre("12345", "#7", "12345"));
  EXPECT_THAT(scan_on("12345\rx\n1\n123456\r", GetParam(), 5), ElementsAre("#0", "1", "#10"));
}

INSTANTIATE_TEST_SUITE_P(Pieces, LineScannerTest, ::testing::Values(1, 2, 3, 7, 1000),
                         [](const auto& tested) { return "Of" + std::to_string(tested.param); });

}  // namespace
}  // namespace dovetail::detail
