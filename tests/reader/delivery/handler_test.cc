// SPDX-License-Identifier: Apache-2.0
// Handlers: where they run, and what they may do to their reader.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"
#include "tests/support/starved_executor.h"

namespace dovetail::test {
namespace {

namespace asio = boost::asio;

/// Runs each function on a thread of its own, and has it done when submitting returns: a scheduler
/// that happens to let the other thread go first.
struct OtherThreadFirst {
  template <class Function>
  void execute(Function function) const {
    std::thread(std::move(function)).join();
  }
  OtherThreadFirst require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  bool operator==(const OtherThreadFirst&) const noexcept { return true; }
  bool operator!=(const OtherThreadFirst&) const noexcept { return false; }
};

/// Asks the reader from another thread, as the trainer's could at that moment, while a handler is
/// handed to it; and runs it on a thread of its own.
struct AsksTheReader : OtherThreadFirst {
  struct Seen {
    const BatchReader* reader = nullptr;
    std::thread::id trainer;
    unsigned from_reader = 0;
    std::vector<std::future<void>> asked;
  };
  template <class Function>
  void execute(Function function) const {
    seen->from_reader += std::this_thread::get_id() != seen->trainer ? 1 : 0;
    seen->asked.push_back(std::async(std::launch::async, [reader = seen->reader] { (void)reader->stats(); }));
    const auto answered = seen->asked.back().wait_for(std::chrono::minutes(1));
    EXPECT_EQ(answered, std::future_status::ready) << "the reader's lock is held";
    OtherThreadFirst::execute(std::move(function));
  }
  AsksTheReader require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  bool operator==(const AsksTheReader& other) const noexcept { return seen == other.seen; }
  bool operator!=(const AsksTheReader& other) const noexcept { return seen != other.seen; }

  Seen* seen;
};

class HandlerTest : public SampleReaderTest {
 protected:
  static BatchReader open() { return BatchReader::open(dataset(), options(0, 1, 8)).value(); }
  static void wait_until_ready(const BatchReader& reader) {
    while (reader.stats().waiting_for_consumer == std::chrono::nanoseconds(0)) std::this_thread::yield();
  }
};

TEST_F(HandlerTest, NeverRunsInsideTheCallAlsoOnAThreadOfItsExecutor) {
  for (const bool erased : {false, true}) {
    SCOPED_TRACE(erased);
    BatchReader reader = open();
    const std::uint64_t steps = reader.steps(0).value();
    asio::io_context context;
    bool calling = false;
    std::uint64_t inside = 0;
    std::uint64_t elsewhere = 0;
    std::uint64_t taken = 0;
    std::function<void()> ask;
    const auto take = [&](boost::system::error_code error, std::optional<Batch> batch) {
      EXPECT_FALSE(error);
      inside += calling ? 1 : 0;
      elsewhere += context.get_executor().running_in_this_thread() ? 0 : 1;
      if (!batch.has_value()) return;
      ++taken;
      batch.reset();
      ask();
    };
    ask = [&] {
      calling = true;
      if (erased) {
        using Erased = asio::any_completion_handler<BatchReader::NextSignature>;
        reader.async_next(Erased(asio::bind_executor(context, take)));
      } else {
        reader.async_next(asio::bind_executor(context, take));
      }
      calling = false;
    };
    asio::post(context, ask);
    context.run();
    EXPECT_EQ(inside, 0u);
    EXPECT_EQ(elsewhere, 0u);
    EXPECT_EQ(taken, steps);
  }
}

TEST_F(HandlerTest, WithoutAnExecutorRunsOnNoThreadOfTheCallerNorOfTheReader) {
  std::optional<BatchReader> reader = open();
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) wait_until_ready(*reader);
    std::promise<std::thread::id> ran_on;
    reader->async_next([&](boost::system::error_code, std::optional<Batch> batch) {
      batch.reset();
      ran_on.set_value(std::this_thread::get_id());
    });
    EXPECT_NE(ran_on.get_future().get(), std::this_thread::get_id());
  }
  // A thread of the reader would wait for itself here.
  std::promise<void> destroyed;
  reader->async_next([&](boost::system::error_code, std::optional<Batch>) {
    reader.reset();
    destroyed.set_value();
  });
  destroyed.get_future().wait();
}

TEST_F(HandlerTest, MayDestroyTheReaderWhileTheCallHasNotReturned) {
  auto reader = std::make_unique<BatchReader>(open());
  wait_until_ready(*reader);
  std::optional<Batch> kept;
  reader->async_next(
      asio::bind_executor(OtherThreadFirst{}, [&](boost::system::error_code, std::optional<Batch> batch) {
        kept = std::move(batch);
        reader.reset();
      }));
  ASSERT_TRUE(kept.has_value());
  Rows rows;
  append_checked(*kept, kSampleShape, rows);
}

TEST_F(HandlerTest, IsHandedToItsExecutorUnderNoLockOfTheReader) {
  unsigned from_reader = 0;
  for (int i = 0; i < 10; ++i) {
    BatchReader reader = open();
    AsksTheReader::Seen seen{.reader = &reader, .trainer = std::this_thread::get_id(), .asked = {}};
    std::promise<bool> got;
    // Nothing is ready yet, so that a thread of the reader hands it over, if that is not very fast.
    reader.async_next(asio::bind_executor(
        AsksTheReader{{}, &seen},
        [&](boost::system::error_code, std::optional<Batch> batch) { got.set_value(batch.has_value()); }));
    EXPECT_TRUE(got.get_future().get());
    from_reader += seen.from_reader;
  }
  EXPECT_GT(from_reader, 0u);
}

TEST_F(HandlerTest, WhoseExecutorHasNoMemoryIsDestroyedAndItsBatchIsNotLost) {
  for (const bool ready : {false, true}) {
    SCOPED_TRACE(ready);
    BatchReader reader = open();
    if (ready) wait_until_ready(reader);
    const auto alive = std::make_shared<int>();
    std::atomic<bool> ran = false;
    reader.async_next(asio::bind_executor(
        StarvedExecutor{}, [alive, &ran](boost::system::error_code, std::optional<Batch>) { ran = true; }));
    while (alive.use_count() > 1) std::this_thread::yield();
    Result<std::optional<Batch>> after = reader.next();
    while (!after.has_value() && after.error().is(Errc::busy)) after = reader.next();
    ASSERT_THAT(after, Fails(boost::system::errc::not_enough_memory));
    EXPECT_FALSE(ran);
    EXPECT_EQ(reader.state().position().step, 0u) << "a reader that continues from here delivers the batch";
  }
}

TEST_F(HandlerTest, OfARefusedCallThatThrowsIsNotCalled) {
  BatchReader reader = open();
  const BatchReader moved = std::move(reader);
  const auto handler = [](boost::system::error_code, std::optional<Batch>) { ADD_FAILURE(); };
  EXPECT_THROW(reader.async_next(asio::bind_executor(StarvedExecutor{}, handler)), std::bad_alloc);
}

TEST_F(HandlerTest, OfASecondRequestGetsBusyAndStopsNothing) {
  ReaderOptions options = HandlerTest::options(0, 1, 8);
  options.max_held = 1;
  BatchReader reader = BatchReader::open(dataset(), options).value();
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

TEST_F(HandlerTest, RunsOnceWhenTheReaderIsStopped) {
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

TEST_F(HandlerTest, AReaderMayBeDestroyedInAnyState) {
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
