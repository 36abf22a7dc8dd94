// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

namespace asio = boost::asio;

class AsyncNextTest : public FolderTest {
 protected:
  AsyncNextTest() : dataset_(make_sample(folder_.path("data"), {.shard_records = {400, 300}})) {}

  BatchReader open(ReaderOptions options = {}) {
    options.plan.batch = 10;
    options.epochs = 1;
    return BatchReader::open(dataset_, options).value();
  }

  Dataset dataset_;
};

asio::awaitable<void> count_steps(BatchReader& reader, std::uint64_t& steps) {
  for (;;) {
    std::optional<Batch> batch = co_await reader.async_next(asio::use_awaitable);
    if (!batch.has_value()) co_return;
    ++steps;
  }
}

TEST_F(AsyncNextTest, WorksWithCoroutines) {
  BatchReader reader = open();
  asio::io_context context;
  std::uint64_t steps = 0;
  std::exception_ptr failure;
  asio::co_spawn(context, count_steps(reader, steps), [&](std::exception_ptr error) { failure = error; });
  context.run();
  EXPECT_FALSE(failure);
  EXPECT_EQ(steps, reader.steps(0).value());
}

TEST_F(AsyncNextTest, WorksWithFutures) {
  BatchReader reader = open();
  std::uint64_t steps = 0;
  while (reader.async_next(asio::use_future).get().has_value()) ++steps;
  EXPECT_EQ(steps, reader.steps(0).value());
}

TEST_F(AsyncNextTest, ASecondRequestIsBusyAndStopsNothing) {
  ReaderOptions options{.max_held = 1};
  BatchReader reader = open(options);
  asio::io_context context;
  std::uint64_t steps = 0;
  int busy = 0;
  for (int i = 0; i < 50; ++i) {
    for (int k = 0; k < 2; ++k) {
      reader.async_next(asio::bind_executor(context, [&](boost::system::error_code error, std::optional<Batch> batch) {
        if (error == Errc::busy || error == Errc::slots_held) {
          ++busy;
        } else if (batch.has_value()) {
          EXPECT_EQ(batch->step(), steps++);
        }
      }));
    }
    context.restart();
    context.run();
  }
  EXPECT_GT(busy, 0);
  EXPECT_FALSE(reader.error().has_value());
}

TEST_F(AsyncNextTest, StopCompletesAnOutstandingRequestAndIsIdempotent) {
  for (int i = 0; i < 20; ++i) {
    BatchReader reader = open();
    asio::io_context context;
    int completions = 0;
    reader.async_next(asio::bind_executor(context, [&](boost::system::error_code error, std::optional<Batch> batch) {
      EXPECT_TRUE(batch.has_value() || error == asio::error::operation_aborted);
      ++completions;
    }));
    reader.stop();
    reader.stop();
    context.run();
    EXPECT_EQ(completions, 1);
    const Result<std::optional<Batch>> after = reader.next();
    ASSERT_THAT(after, Fails(ErrorKind::cancelled));
  }
}

TEST_F(AsyncNextTest, AReaderMayBeDestroyedInAnyState) {
  for (std::uint64_t taken = 0; taken < 40; ++taken) {
    BatchReader reader = open();
    std::vector<Batch> held;
    for (std::uint64_t i = 0; i < taken; ++i) {
      std::optional<Batch> batch = reader.next().value();
      if (held.empty()) held.push_back(std::move(*batch));
    }
  }
}

}  // namespace
}  // namespace dovetail::test
