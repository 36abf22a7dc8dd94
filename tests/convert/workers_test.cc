// SPDX-License-Identifier: Apache-2.0
#include "convert/workers.h"

#include <chrono>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "convert/shard_jobs.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::detail {
namespace {

TEST(ProgressMeterTest, AskingWhetherItWasCancelledWaitsForNoOtherReport) {
  constexpr std::chrono::minutes kPatience{1};
  ProgressMeter* asked = nullptr;
  std::future<bool> other;
  ProgressMeter meter(
      [&](const ConvertProgress&) {
        other = std::async(std::launch::async, [&] { return asked->cancelled(); });
        EXPECT_EQ(other.wait_for(kPatience), std::future_status::ready) << "it waits until this function returns";
        return false;
      },
      0, 0);
  asked = &meter;
  EXPECT_THAT(meter.add({.records = 1}), test::Fails(ErrorKind::cancelled));
  EXPECT_FALSE(other.get()) << "the answer was not there yet";
  EXPECT_TRUE(meter.cancelled());
}

using ReadRangeTest = test::FolderTest;

// Another thread has found damage in an earlier shard. To find the fault in line 1 of this file, it
// would have to read on.
TEST_F(ReadRangeTest, DoesNotSkipInputForAShardThatIsUselessNow) {
  const std::string path = folder_ / "a.jsonl";
  test::write_file(path, std::string(100, ' ') + "\n{\"n\": 2}\n{\"n\": 3}\n");
  const auto line = InputLine::open({path}, {.format = SourceFormat::jsonl, .max_record_bytes = 50}).value();
  ProgressMeter meter({}, 0, 0);
  const auto take = [](const LineCursor&) -> Result<void> { return {}; };
  const auto read = [&](bool useless) {
    LineCursor cursor(line);
    return read_range(
        cursor, 111, InputLine::kEnd, meter, [useless] { return useless; }, take);
  };
  EXPECT_THAT(read(false), test::Fails(Errc::record_too_large).in(path));
  EXPECT_TRUE(read(true));
}

}  // namespace
}  // namespace dovetail::detail
