// SPDX-License-Identifier: Apache-2.0
// A reader and its batches in a child of the process that opened them.
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <dovetail/batch_reader.h>

#include "format/process_mark.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

constexpr int kGood = 42;

/// Runs it in a forked child; what it returns, or -1 where the child ended in another way.
template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a child that hangs ends
    ::_exit(work());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkTest : public SampleReaderTest {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers do not follow a process with threads into a fork";
  }
};

TEST_F(ForkTest, AReaderOfTheParentIsAnErrorThatSaysSo) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 16)).value();
  std::optional<Batch> held = reader.next().value();
  const auto work = [&] {
    const Result<std::optional<Batch>> next = reader.next();
    if (next.has_value() || !next.error().is(Errc::closed)) return 1;
    if (next.error().detail().find("forked") == std::string::npos) return 2;
    if (!reader.error().has_value() || !reader.error()->is(Errc::closed)) return 3;
    boost::asio::io_context context;
    bool told = false;
    reader.async_next(boost::asio::bind_executor(context, [&](boost::system::error_code code, std::optional<Batch>) {
      told = code == make_error_code(Errc::closed);
    }));
    context.run();
    return told ? kGood : 4;
  };
  EXPECT_EQ(in_child(work), kGood);
  Rows rows;
  append_checked(*held, kSampleShape, rows);
  held.reset();
  for (const Batch& batch : reader.epoch()) append_checked(batch, kSampleShape, rows);
  EXPECT_EQ(rows, planned(reader.plan(), 0, 0)) << "the parent's reader goes on";
}

TEST_F(ForkTest, AChildMayDropWhatIsTheParentsAtAnyTime) {
  // Forked while the reader's threads are at work, so that locks are in every state.
  for (int round = 0; round < 50; ++round) {
    ReaderOptions options = this->options(0, 1, 4);
    options.epochs = 0;
    options.decode_threads = 3;
    std::optional<BatchReader> reader = BatchReader::open(dataset(), options).value();
    std::optional<Batch> held = reader->next().value();
    auto reading = std::async(std::launch::async, [&] {
      for (int i = 0; i < 20 + round; ++i) (void)reader->next().value();
    });
    const int ended = in_child([&] {
      held->release();
      reader->stop();
      reader.reset();
      held.reset();
      return kGood;
    });
    reading.get();
    ASSERT_EQ(ended, kGood) << "round " << round;
  }
}

TEST_F(ForkTest, AChildMayOpenItsOwn) {
  BatchReader reader = BatchReader::open(dataset(), options(0, 1, 16)).value();
  (void)reader.next().value();
  const auto work = [&] {
    BatchReader own = BatchReader::open(dataset(), options(0, 1, 16)).value();
    Rows rows;
    for (const Batch& batch : own.epoch()) append_checked(batch, kSampleShape, rows);
    if (rows != planned(own.plan(), 0, 0)) return 1;
    // A child's child knows whose it is as well.
    return in_child([&] { return own.next().has_value() ? 2 : kGood; });
  };
  EXPECT_EQ(in_child(work), kGood);
}

TEST_F(ForkTest, AMarkKnowsItsProcess) {
  const detail::ProcessMark parent;
  EXPECT_FALSE(parent.forked());
  EXPECT_EQ(in_child([&] {
              const detail::ProcessMark child;
              return parent.forked() && !child.forked() ? kGood : 1;
            }),
            kGood);
  EXPECT_FALSE(parent.forked());
}

}  // namespace
}  // namespace dovetail::test
