// SPDX-License-Identifier: Apache-2.0
// Calls that hang: they are logged or given up, and whatever comes back later does no harm.
#include "reader/storage/watched_storage.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "reader/storage/thread_pool.h"
#include "tests/reader/storage/storage_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/gated_storage.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

using detail::InputFile;
using detail::Storage;

constexpr std::chrono::milliseconds kAfter{20};

/// Lines of a log, to be waited for.
class Lines {
 public:
  void add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
    changed_.notify_all();
  }
  /// Waits for so many lines that begin and end with these words.
  void wait_for(std::ptrdiff_t count, std::string_view begin, std::string_view end) const {
    std::unique_lock lock(mutex_);
    const auto is_one = [&](const std::string& line) { return line.starts_with(begin) && line.ends_with(end); };
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1),
                                  [&] { return std::count_if(lines_.begin(), lines_.end(), is_one) >= count; }))
        << begin << "..." << end;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
};

/// Calls that do not come back before they are released.
class HangingCalls {
 public:
  ~HangingCalls() { release(); }
  /// `witness` goes with the call.
  Storage::Call call(const std::shared_ptr<void>& witness = {}) const {
    return [released = released_, witness]() -> Storage::Answer {
      released.wait();
      return std::make_shared<int>(7);
    };
  }
  void release() {
    if (!std::exchange(done_, true)) release_.set_value();
  }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  bool done_ = false;
};

/// Completes a sample read with the outcome of a call.
Storage::CallHandler completes(SampleRead& done) {
  return [&done](const Storage::Answer& answer) {
    done.complete(answer.has_value() ? Result<void>() : Result<void>(answer.error()));
  };
}

class ReadWatchTest : public FolderTest {
 protected:
  /// A watched storage that withholds the reads of "slow".
  void watch(bool gives_up, std::chrono::nanoseconds after = kAfter) {
    auto gate = std::make_unique<GatedStorage>(detail::make_pread_pool(2), GatedStorage::Immediate::no,
                                               [](const std::string& path) { return path.ends_with("slow"); });
    gate_ = gate.get();
    const auto gone = std::make_shared<std::promise<void>>();
    gone_ = gone->get_future();
    // The log goes last, after all that hung has come back.
    const auto log = [this, witness = std::shared_ptr<void>(nullptr, [gone](void*) { gone->set_value(); })](
                         std::string_view line) { lines_.add(line); };
    storage_ = detail::watch_storage(
        std::move(gate), {.after = after, .gives_up = gives_up, .log = log, .executor = timers_.executor()});
  }
  void TearDown() override { end_all(); }
  InputFile sample_file(std::size_t bytes, const std::string& name) {
    write_file(folder_.path(name), sample_bytes(bytes));
    return InputFile::open(folder_.path(name)).value();
  }

  /// Lets go what hangs, and waits until all of it has come back, and the storage with it is gone.
  /// Idempotent.
  void end_all() {
    storage_.reset();  // it lets go of all when it is stopped
    gone_.wait();
  }

  Lines lines_;
  std::future<void> gone_;
  detail::ThreadPool timers_{1};
  GatedStorage* gate_ = nullptr;
  std::unique_ptr<Storage> storage_;
};

TEST_F(ReadWatchTest, AReadThatHangsIsToldWithFileOffsetAndAgeUntilItComesBack) {
  watch(false);
  const InputFile slow = sample_file(100'000, "slow");
  const auto read = start_read(*storage_, slow, 4096, 5000);
  ASSERT_TRUE(start_read(*storage_, sample_file(1000, "fast"), 0, 1000)->wait());
  // On a busy machine the other read is late as well.
  const std::string line = "reading 5000 bytes at offset 4096 of " + slow.path() + " has taken ";
  lines_.wait_for(2, line, " s so far");
  const detail::HungReads hung = storage_->hung_reads();
  EXPECT_GE(hung.met, 1u);
  EXPECT_EQ(hung.given_up, 0u);
  ASSERT_EQ(hung.now.size(), 1u);
  EXPECT_EQ(hung.now[0].file, slow.path());
  EXPECT_EQ(hung.now[0].offset, 4096u);
  EXPECT_EQ(hung.now[0].bytes, 5000u);
  EXPECT_GE(hung.now[0].age, 2 * kAfter);
  EXPECT_FALSE(read->completed());

  gate_->let_go(GatedStorage::Open::for_ever);
  ASSERT_TRUE(read->wait());
  EXPECT_EQ(read->complaint(), "");
  lines_.wait_for(1, line, " s until it came back");
  EXPECT_TRUE(storage_->hung_reads().now.empty());
}

TEST_F(ReadWatchTest, AFileThatHangsWhileItIsOpenedIsTold) {
  watch(false);
  HangingCalls hanging;
  SampleRead done(0, 1, 0);
  storage_->call("/far/away", hanging.call(), completes(done));
  lines_.wait_for(1, "opening /far/away has taken ", " s so far");
  EXPECT_EQ(storage_->hung_reads().now.at(0).bytes, 0u);
  hanging.release();
  EXPECT_TRUE(done.wait());
}

TEST_F(ReadWatchTest, WhatHangsIsGivenUpWithFileOffsetAndReason) {
  watch(true);
  const InputFile slow = sample_file(2 << 20, "slow");
  const auto read = start_read(*storage_, slow, 1234, 1'000'000, 77);
  const auto result = read->wait();
  ASSERT_FALSE(result);
  EXPECT_TRUE(storage_->gave_up(result.error()));
  EXPECT_THAT(result, Fails().in(slow.path()).at(1234u).saying("has hung"));
  EXPECT_EQ(storage_->hung_reads().given_up, 1u);
  lines_.wait_for(1, "", " s, and was abandoned");

  // What hangs of the file hangs for all of it, until it comes back.
  const auto later = start_read(*storage_, slow, 50, 100)->wait();
  ASSERT_FALSE(later);
  EXPECT_TRUE(storage_->gave_up(later.error()));
  EXPECT_THAT(later, Fails().saying("earlier calls on this file hang"));
  // Other files are read. On a busy machine such a read may be late, too, and then comes back.
  const InputFile fast = sample_file(1000, "fast");
  while (!start_read(*storage_, fast, 0, 1000)->wait().has_value()) std::this_thread::sleep_for(kAfter);
  gate_->let_go(GatedStorage::Open::for_ever);
  while (!start_read(*storage_, slow, 50, 100)->wait().has_value()) std::this_thread::sleep_for(kAfter);
  end_all();
  for (const std::byte byte : read->into().first) ASSERT_EQ(byte, std::byte{0xA5}) << "written after it was given up";
  for (const std::byte byte : read->into().second) ASSERT_EQ(byte, std::byte{0xA5}) << "written after it was given up";
}

TEST_F(ReadWatchTest, AReadThatFailsFailsAtOnce) {
  watch(true, std::chrono::hours(1));
  EXPECT_THAT(start_read(*storage_, sample_file(1000, "short"), 900, 200)->wait(), Fails(Errc::truncated).at(1000u));
}

TEST_F(ReadWatchTest, AnOpeningThatHangsIsGivenUp) {
  watch(true);
  HangingCalls hanging;
  SampleRead done(0, 1, 0);
  storage_->call("/far/away", hanging.call(), completes(done));
  const Result<void> outcome = done.wait();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().to_string(), AllOf(HasSubstr("/far/away"), HasSubstr("opening it has hung")));
}

TEST_F(ReadWatchTest, StoppingDoesNotWaitForWhatIsGivenUp) {
  watch(true);
  const InputFile slow = sample_file(1000, "slow");
  HangingCalls hanging;
  const auto gone = std::make_shared<std::promise<void>>();
  SampleRead done(0, 1, 0);
  // The witness goes with the call, once nothing hangs any longer.
  storage_->call("/far/away", hanging.call(std::shared_ptr<void>(nullptr, [gone](void*) { gone->set_value(); })),
                 completes(done));
  const auto read = start_read(*storage_, slow, 0, 1000);
  storage_->stop();
  EXPECT_TRUE(done.completed());
  EXPECT_FALSE(read->wait().has_value());
  storage_.reset();
  hanging.release();
  gone->get_future().wait();
}

TEST_F(ReadWatchTest, StoppingBeginsNoMoreOnceSomethingHangs) {
  watch(true, std::chrono::milliseconds(kSanitized ? 500 : 100));
  std::vector<InputFile> files;
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (int i = 0; i < 40; ++i) {
    files.push_back(sample_file(1000, std::to_string(i) + "slow"));
    reads.push_back(start_read(*storage_, files.back(), 0, 1000));
  }
  const std::uint64_t begun = gate_->counts().reads;
  storage_->stop();
  EXPECT_LE(gate_->counts().reads, begun + 2) << "some at a time, it would take long";
  for (const auto& read : reads) EXPECT_TRUE(read->completed());
}

TEST_F(ReadWatchTest, WhatThereWillBeNoRoomForFailsAtOnce) {
  watch(true);
  gate_->add_no_places();
  std::vector<InputFile> slow;
  std::vector<std::shared_ptr<SampleRead>> hanging;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(sample_file(1000, std::to_string(i) + "slow"));
    hanging.push_back(start_read(*storage_, slow.back(), 0, 1000));
  }
  const InputFile fast = sample_file(1000, "fast");
  const auto waiting = start_read(*storage_, fast, 0, 1000);
  for (const auto& read : hanging) EXPECT_FALSE(read->wait().has_value());
  const auto refused = waiting->wait();
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(storage_->gave_up(refused.error()));
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr("fast"), HasSubstr("too many calls to the storage hang")));
  gate_->let_go(GatedStorage::Open::for_ever);
  while (!start_read(*storage_, fast, 0, 1000)->wait().has_value()) std::this_thread::sleep_for(kAfter);
}

/// Rounds of calls that hang, each of another file, and of one that does not.
void expect_others_are_answered(Storage& storage, const HangingCalls& hanging, int calls) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<SampleRead>> hung;
    for (int i = 0; i < calls; ++i) {
      hung.push_back(std::make_unique<SampleRead>(0, 1, 0));
      storage.call("/far/away/" + std::to_string(round * calls + i), hanging.call(), completes(*hung.back()));
    }
    SampleRead other(0, 1, 0);
    storage.call(
        "/near", [] { return Storage::Answer(std::make_shared<int>(7)); }, completes(other));
    EXPECT_TRUE(other.wait().has_value()) << "round " << round;
    for (const auto& read : hung) EXPECT_FALSE(read->wait().has_value());
  }
}

// Longer than a busy machine takes for a call that does not hang.
constexpr std::chrono::milliseconds kLongAfter{200};

TEST_F(ReadWatchTest, OpeningsThatHangCostNoOthers) {
  watch(true, kLongAfter);
  const HangingCalls hanging;
  expect_others_are_answered(*storage_, hanging, 8);
}

TEST(ReadWatchRingTest, OpeningsThatHangCostNoOthers) {
  detail::ThreadPool timers(1);
  auto ring = detail::make_storage(StorageKind::io_uring_direct, 1);
  if (!ring.has_value()) GTEST_SKIP() << ring.error().to_string();
  const auto storage = detail::watch_storage(
      std::move(*ring), {.after = kLongAfter, .gives_up = true, .log = {}, .executor = timers.executor()});
  HangingCalls hanging;
  expect_others_are_answered(*storage, hanging, 4);
  storage->stop();
  hanging.release();
}

TEST_F(ReadWatchTest, ReadingAgainGivesTheBytes) {
  watch(true, std::chrono::hours(1));
  const InputFile file = sample_file(2'000'000, "fast");
  SampleRead read(100, 1'500'000, 7);
  ASSERT_TRUE(storage_->read_again(file, read.offset(), read.into()));
  EXPECT_EQ(read.complaint(), "");
}

TEST_F(ReadWatchTest, AWatchOfNoTimeAtAllStillAnswersEachReadOnce) {
  watch(true, std::chrono::nanoseconds(1));
  const InputFile fast = sample_file(1 << 20, "fast");
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (std::size_t i = 0; i < 200; ++i) reads.push_back(start_read(*storage_, fast, i, 50'000, i));
  for (const auto& read : reads) {
    if (const auto result = read->wait(); result.has_value()) {
      EXPECT_EQ(read->complaint(), "");
    } else {
      EXPECT_TRUE(storage_->gave_up(result.error())) << result.error().to_string();
    }
  }
  storage_->stop();
}

TEST_F(ReadWatchTest, HoweverManyReadsWaitForAFileThatHangsAllAreAnswered) {
  watch(true);
  const InputFile slow = sample_file(1000, "slow");
  constexpr unsigned kReads = 100'000;
  std::byte into{};
  std::atomic<unsigned> answered = 0;
  for (unsigned i = 0; i < kReads; ++i) {
    storage_->read(slow, 0, detail::ReadInto{{&into, 1}}, [&](const Result<void>& read) {
      EXPECT_FALSE(read.has_value());
      ++answered;
    });
  }
  while (answered < kReads) std::this_thread::sleep_for(kAfter);
  EXPECT_GE(storage_->hung_reads().now.size(), 1u) << "what hangs is named until it comes back";
}

/// Answered while it is given up.
class AnsweredLate final : public detail::Awaited {
 public:
  explicit AnsweredLate(detail::ReadWatch& watch) : Awaited({}), watch_(watch) {}
  void give_up() noexcept override { in_time = watch_.end(*this); }
  std::optional<bool> in_time;

 private:
  detail::ReadWatch& watch_;
};

TEST(ReadWatchLateTest, AnAnswerThatComesWhileACallIsGivenUpIsTooLate) {
  detail::ThreadPool timers(1);
  const auto watch = std::make_shared<detail::ReadWatch>(
      detail::WatchOptions{.after = std::chrono::hours(1), .gives_up = true, .log = {}, .executor = timers.executor()});
  const auto in_time = std::make_shared<AnsweredLate>(*watch);
  watch->begin(in_time);
  watch->look();
  EXPECT_TRUE(watch->end(*in_time));
  watch->begin(in_time);  // the next piece
  EXPECT_TRUE(watch->end(*in_time));
  watch->stop();

  const auto at_once = std::make_shared<detail::ReadWatch>(detail::WatchOptions{
      .after = std::chrono::nanoseconds(1), .gives_up = true, .log = {}, .executor = timers.executor()});
  const auto late = std::make_shared<AnsweredLate>(*at_once);
  at_once->begin(late);
  while (at_once->hung_reads().given_up == 0) at_once->look();
  timers.join();
  EXPECT_EQ(late->in_time, false);
  EXPECT_TRUE(at_once->hung_reads().now.empty());
  at_once->stop();
}

TEST_F(ReadWatchTest, AReadOfManyPiecesGivesItsBytesInTwoParts) {
  watch(true, std::chrono::hours(1));
  const InputFile file = sample_file(5 << 20, "fast");
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (std::size_t i = 0; i < 2 * detail::kMostCallsOut; ++i) {
    reads.push_back(start_read(*storage_, file, i, 4 * detail::kDeadlinePiece + i, 100'000 * i % 1'000'000));
  }
  for (const auto& read : reads) {
    ASSERT_TRUE(read->wait());
    EXPECT_EQ(read->complaint(), "");
  }
}

}  // namespace
}  // namespace dovetail::test
