// SPDX-License-Identifier: Apache-2.0
// How many threads a reader runs.
#include <sched.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

std::size_t threads() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

class ThreadsTest : public SampleReaderTest {
 protected:
  ThreadsTest() { CPU_ZERO(&before_); }
  void SetUp() override {
    ASSERT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  void TearDown() override { ASSERT_EQ(::sched_setaffinity(0, sizeof before_, &before_), 0); }

 private:
  cpu_set_t before_;
};

TEST_F(ThreadsTest, OnOneCoreThereAreThreeWithTheTrainersOwn) {
  // A sanitizer has a thread of its own.
  const std::size_t others = threads() - 1;
  ReaderOptions endless = options(0, 1, 16);
  endless.epochs = 0;
  BatchReader reader = BatchReader::open(dataset(), endless).value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  do {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << threads() << " threads";
    for (int batch = 0; batch < 100; ++batch) ASSERT_TRUE(reader.next().has_value());
  } while (threads() > 3 + others);
}

}  // namespace
}  // namespace dovetail::test
