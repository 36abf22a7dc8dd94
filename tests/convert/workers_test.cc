// SPDX-License-Identifier: Apache-2.0
#include "convert/workers.h"

#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "tests/support/fails.h"

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

}  // namespace
}  // namespace dovetail::detail
