// SPDX-License-Identifier: Apache-2.0
#include "tools/command/sink.h"
#include "tests/support/fails.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace dovetail::tools {
namespace {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST(SinkTest, WritesEverythingInOrder) {
  const std::string path = ::testing::TempDir() + "dovetail-sink-test";
  std::string expected;
  {
    Result<Sink> sink = Sink::create(path);
    ASSERT_TRUE(sink);
    for (int i = 0; i < 100'000; ++i) {
      const std::string line = std::to_string(i) + '\n';
      expected += line;
      sink->write(line);
    }
    EXPECT_TRUE(sink->finish());
  }
  EXPECT_EQ(content(path), expected);
  std::filesystem::remove(path);
}

TEST(SinkTest, FailureIsKeptAndNamesTheFile) {
  Result<Sink> sink = Sink::create("/dev/full");
  ASSERT_TRUE(sink);
  sink->write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(sink->good());
  sink->write("more");
  const Result<void> finished = sink->finish();
  EXPECT_THAT(finished, test::Fails(ErrorKind::io).in("/dev/full"));
}

TEST(SinkTest, FailureOfTheLastBytesIsNotLost) {
  Result<Sink> sink = Sink::create("/dev/full");
  ASSERT_TRUE(sink);
  sink->write("few");
  EXPECT_TRUE(sink->good());
  EXPECT_FALSE(sink->finish());
}

TEST(SinkTest, FileThatCannotBeCreatedIsAnError) {
  const Result<Sink> sink = Sink::create("/nonexistent/folder/file");
  ASSERT_THAT(sink, test::Fails().in("/nonexistent/folder/file"));
}

}  // namespace
}  // namespace dovetail::tools
