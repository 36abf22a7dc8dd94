// SPDX-License-Identifier: Apache-2.0
// What every storage promises, held against each of them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "reader/storage/thread_pool.h"
#include "reader/storage/watched_storage.h"
#include "tests/reader/storage/storage_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/sanitizers.h"
#include "tests/support/shuffled_storage.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

using detail::InputFile;
using detail::ReadInto;
using detail::Storage;

constexpr std::size_t kPage = 4096;

enum class Watch : std::uint8_t { none, waits, gives_up };

struct BackEnd {
  std::string name;
  StorageKind kind;
  unsigned threads = 1;
  bool shuffled = false;
  Watch watch = Watch::none;

  friend std::ostream& operator<<(std::ostream& out, const BackEnd& back_end) { return out << back_end.name; }
};

class StorageConformanceTest : public ::testing::TestWithParam<BackEnd> {
 protected:
  void SetUp() override {
    auto made = make();
    if (!made) GTEST_SKIP() << made.error().to_string();
    storage_ = std::move(*made);
  }

  Result<std::unique_ptr<Storage>> make() {
    auto made = detail::make_storage(GetParam().kind, GetParam().threads);
    if (made && GetParam().shuffled) made = std::make_unique<ShuffledStorage>(std::move(*made), 7);
    if (!made || GetParam().watch == Watch::none) return made;
    return detail::watch_storage(std::move(*made), {.after = std::chrono::hours(1),
                                                    .gives_up = GetParam().watch == Watch::gives_up,
                                                    .log = [](std::string_view line) { ADD_FAILURE() << line; },
                                                    .executor = timers_.executor()});
  }

  InputFile sample_file(std::size_t bytes, const std::string& name = "sample") {
    write_file(folder_.path(name), sample_bytes(bytes));
    return InputFile::open(folder_.path(name)).value();
  }

  static void expect_good(const std::vector<std::shared_ptr<SampleRead>>& reads) {
    for (const auto& read : reads) {
      const auto result = read->wait();
      ASSERT_TRUE(result) << result.error().to_string();
      ASSERT_EQ(read->complaint(), "");
    }
  }

  TempFolder folder_;
  detail::ThreadPool timers_{1};
  std::unique_ptr<Storage> storage_;
};

TEST_P(StorageConformanceTest, ReadsEverySizeFromEveryOffsetAroundPageBoundariesInOneOrTwoParts) {
  std::vector<std::size_t> places;
  for (const std::size_t boundary : {std::size_t{0}, std::size_t{512}, kPage, 2 * kPage, 3 * kPage}) {
    for (const std::size_t place : {boundary - 1, boundary, boundary + 1, boundary + 63}) {
      if (place < 4 * kPage) places.push_back(place);
    }
  }
  const InputFile file = sample_file(6 * kPage + 77);
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (const std::size_t offset : places) {
    for (const std::size_t bytes : places) {
      for (const std::size_t split : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes}) {
        reads.push_back(start_read(*storage_, file, offset, std::min(bytes, file.size() - offset), split));
      }
    }
  }
  expect_good(reads);
}

TEST_P(StorageConformanceTest, ReadsUpToTheLastByteOfAFileOfAnySize) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{511}, kPage - 1, kPage, kPage + 1, 3 * kPage + 513}) {
    const InputFile file = sample_file(size, "of" + std::to_string(size));
    std::vector<std::shared_ptr<SampleRead>> reads;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, size / 2, size}) {
      reads.push_back(start_read(*storage_, file, size - bytes, bytes, bytes / 3));
    }
    expect_good(reads);
  }
}

TEST_P(StorageConformanceTest, ReadsAreAsLargeAsTheyWant) {
  constexpr std::size_t kSize = (std::size_t{5} << 20) + 12345;
  const InputFile file = sample_file(kSize);
  expect_good({start_read(*storage_, file, 0, kSize), start_read(*storage_, file, 1, kSize - 1, 64),
               start_read(*storage_, file, 999, kSize - 2000, kSize / 2)});
}

TEST_P(StorageConformanceTest, ManyReadsAtOnceFromManyThreadsAllGetTheirBytes) {
  constexpr std::size_t kSize = std::size_t{3} << 20;
  constexpr int kReads = kSanitized ? 60 : 200;
  const std::array<InputFile, 2> files{sample_file(kSize, "a"), sample_file(kSize, "b")};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      std::vector<std::shared_ptr<SampleRead>> reads;
      for (int i = 0; i < kReads; ++i) {
        const std::size_t bytes = random() % (random() % 8 == 0 ? 700'000 : 20'000);
        reads.push_back(start_read(*storage_, files[random() % 2], random() % (kSize - bytes), bytes,
                                   bytes == 0 ? 0 : random() % bytes));
      }
      expect_good(reads);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(StorageConformanceTest, AReadPastTheEndIsTruncatedWhereTheFileEnds) {
  constexpr std::size_t kSize = 300'000;
  const InputFile file = sample_file(kSize);
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{5000}, std::uint64_t{kSize - 1}}) {
    const auto read = start_read(*storage_, file, offset, kSize - offset + 1, 100);
    EXPECT_THAT(read->wait(), Fails(Errc::truncated).in(file.path()).at(kSize));
    EXPECT_TRUE(read->guards_are_whole());
  }
}

TEST_P(StorageConformanceTest, AReadFromBeyondTheEndIsTruncatedWhereItBegins) {
  const InputFile file = sample_file(1000);
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::uint64_t offset : {std::uint64_t{1000}, std::uint64_t{1001}, std::uint64_t{1} << 40, kMax - 4,
                                     kMax + 1, std::numeric_limits<std::uint64_t>::max()}) {
    const auto read = start_read(*storage_, file, offset, 10);
    EXPECT_THAT(read->wait(), Fails(Errc::truncated).in(file.path()).at(offset)) << offset;
  }
}

TEST_P(StorageConformanceTest, AFileThatShrankHasChangedWhereItEndsNow) {
  constexpr std::size_t kNow = 200'001;
  const InputFile file = sample_file(700'000);
  std::filesystem::resize_file(file.path(), kNow);
  EXPECT_THAT(start_read(*storage_, file, 100, 600'000, 64)->wait(),
              Fails(Errc::file_changed).in(file.path()).at(kNow));
}

TEST_P(StorageConformanceTest, AFailedReadLeavesTheOthersAlone) {
  const InputFile file = sample_file(50'000);
  std::vector<std::shared_ptr<SampleRead>> good;
  std::vector<std::shared_ptr<SampleRead>> bad;
  for (std::size_t i = 0; i < 50; ++i) {
    good.push_back(start_read(*storage_, file, i * 500, 20'000, i));
    bad.push_back(start_read(*storage_, file, 40'000 + i, 10'000));
  }
  expect_good(good);
  EXPECT_TRUE(bad.front()->wait());
  for (std::size_t i = 1; i < bad.size(); ++i) EXPECT_FALSE(bad[i]->wait()) << i;
}

TEST_P(StorageConformanceTest, CompletionsNeverRunInsideTheCall) {
  static thread_local bool inside = false;
  const InputFile file = sample_file(100'000);
  std::atomic<int> wrong{0};
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (std::size_t i = 0; i < 300; ++i) {
    auto read = std::make_shared<SampleRead>(i, i % 3 == 0 ? 0 : 1000 * (i % 130), 0);
    inside = true;
    storage_->read(file, read->offset(), read->into(), [&wrong, read](Result<void> result) {
      if (inside) ++wrong;
      read->complete(std::move(result));
    });
    inside = false;
    reads.push_back(std::move(read));
  }
  for (const auto& read : reads) (void)read->wait();
  EXPECT_EQ(wrong, 0);
}

TEST_P(StorageConformanceTest, ACompletionMayAskForTheNextRead) {
  const InputFile file = sample_file(100'000);
  SampleRead last(0, 1, 0);
  int left = 200;
  std::vector<std::byte> into(1000);
  std::function<void(Result<void>)> next = [&](Result<void> result) {
    if (!result || --left == 0) return last.complete(std::move(result));
    storage_->read(file, static_cast<std::uint64_t>(left) * 400, ReadInto{into},
                   [&](Result<void> read) { next(read); });
  };
  storage_->read(file, 0, ReadInto{into}, [&](Result<void> read) { next(read); });
  EXPECT_TRUE(last.wait());
  EXPECT_EQ(left, 0);
}

TEST_P(StorageConformanceTest, StoppingCompletesWhatIsInFlightAndDropsWhatComesLater) {
  const InputFile file = sample_file(1 << 20);
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (std::size_t i = 0; i < 100; ++i) reads.push_back(start_read(*storage_, file, i, 100'000));
  storage_->stop();
  for (const auto& read : reads) EXPECT_TRUE(read->completed());
  expect_good(reads);

  const auto late = start_read(*storage_, file, 0, 100);
  storage_->stop();
  const std::weak_ptr<SampleRead> handler = late;
  storage_.reset();
  EXPECT_FALSE(late->completed());
  EXPECT_EQ(handler.use_count(), 1) << "the dropped completion was not destroyed";
}

TEST_P(StorageConformanceTest, DestroyingWaitsForWhatIsInFlight) {
  const InputFile file = sample_file(1 << 20);
  for (const bool stop_first : {false, true}) {
    std::unique_ptr<Storage> storage = make().value();
    std::vector<std::shared_ptr<SampleRead>> reads;
    for (std::size_t i = 0; i < 40; ++i) reads.push_back(start_read(*storage, file, i, 300'000, i));
    if (stop_first) storage->stop();
    storage.reset();
    for (const auto& read : reads) EXPECT_TRUE(read->completed());
    expect_good(reads);
  }
}

TEST_P(StorageConformanceTest, TwoStoragesReadTheSameFileAtOnce) {
  const InputFile file = sample_file(1 << 20);
  const std::unique_ptr<Storage> other = make().value();
  std::vector<std::shared_ptr<SampleRead>> reads;
  for (std::size_t i = 0; i < 60; ++i) {
    reads.push_back(start_read(i % 2 == 0 ? *storage_ : *other, file, i * 777, 90'000, 10));
  }
  expect_good(reads);
}

TEST_P(StorageConformanceTest, NoDescriptorIsLeftBehind) {
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    const InputFile file = sample_file(10'000);
    const std::unique_ptr<Storage> storage = make().value();
    expect_good({start_read(*storage, file, 5, 9'000)});
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(StorageConformanceTest, TryingGivesAllBytesOrSaysNoAndReadingIsThenGood) {
  const InputFile file = sample_file(200'000);
  for (std::size_t i = 0; i < 100; ++i) {
    auto read = std::make_shared<SampleRead>(i * 531, 1 + i * 1000, i * 7);
    const auto tried = storage_->try_read(file, read->offset(), read->into());
    ASSERT_TRUE(tried) << tried.error().to_string();
    if (*tried) {
      EXPECT_FALSE(storage_->facts().direct);
    } else {
      EXPECT_TRUE(read->guards_are_whole());
      storage_->read(file, read->offset(), read->into(),
                     [read](Result<void> result) { read->complete(std::move(result)); });
      ASSERT_TRUE(read->wait());
    }
    ASSERT_EQ(read->complaint(), "");
  }
}

TEST_P(StorageConformanceTest, TryingPastTheEndIsAnErrorOrANo) {
  const InputFile file = sample_file(1000);
  for (const std::uint64_t offset : {std::uint64_t{995}, std::uint64_t{1000}, ~std::uint64_t{0} - 5}) {
    SampleRead read(offset, 10, 3);
    const auto tried = storage_->try_read(file, offset, read.into());
    if (tried) {
      EXPECT_FALSE(*tried) << offset;
    } else {
      EXPECT_THAT(tried, Fails(Errc::truncated).in(file.path()));
    }
    EXPECT_TRUE(read.guards_are_whole());
  }
}

TEST_P(StorageConformanceTest, ReadsAgainOnTheSpot) {
  const InputFile file = sample_file(1'500'000);
  for (const std::size_t bytes : {std::size_t{1}, kPage, std::size_t{1'400'000}}) {
    SampleRead read(77, bytes, bytes / 3);
    ASSERT_TRUE(storage_->read_again(file, read.offset(), read.into()));
    EXPECT_EQ(read.complaint(), "");
  }
  SampleRead past(1'499'000, 1001, 5);
  EXPECT_THAT(storage_->read_again(file, past.offset(), past.into()), Fails(Errc::truncated));
}

TEST_P(StorageConformanceTest, CallsGiveWhatTheyFound) {
  SampleRead done(0, 1, 0);
  std::shared_ptr<const void> found;
  storage_->call(
      "seven", [] { return std::make_shared<int>(7); },
      [&](const Storage::Answer& answer) {
        found = answer.value();
        done.complete({});
      });
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(*static_cast<const int*>(found.get()), 7);

  SampleRead failed(0, 1, 0);
  storage_->call(
      "nothing", [] { return Storage::Answer(Error(Errc::truncated)); },
      [&](const Storage::Answer& answer) { failed.complete(answer.error()); });
  EXPECT_THAT(failed.wait(), Fails(Errc::truncated));
}

TEST_P(StorageConformanceTest, FactsAreThoseOfWhatWasAskedFor) {
  const detail::StorageFacts& facts = storage_->facts();
  EXPECT_EQ(facts.kind, GetParam().kind);
  EXPECT_EQ(facts.direct, GetParam().kind == StorageKind::io_uring_direct);
  EXPECT_GE(facts.depth, 1u);
  // 64 abandoned reads and those under way, repeated ones among the calls, have 256 KiB each.
  const std::size_t under_way = std::min(facts.depth, 32u) + std::min(facts.call_depth, 32u);
  const std::size_t for_deadlines = GetParam().watch == Watch::gives_up ? (64 + under_way) * (256 << 10) : 0;
  EXPECT_EQ(facts.memory_bytes > for_deadlines, facts.direct);
  EXPECT_LE(facts.memory_bytes, (17 << 20) + for_deadlines);
}

INSTANTIATE_TEST_SUITE_P(
    BackEnds, StorageConformanceTest,
    ::testing::Values(BackEnd{"pread_1", StorageKind::pread, 1}, BackEnd{"pread_8", StorageKind::pread, 8},
                      BackEnd{"direct", StorageKind::io_uring_direct, 2},
                      BackEnd{"shuffled_pread", StorageKind::pread, 4, true},
                      BackEnd{"shuffled_direct", StorageKind::io_uring_direct, 2, true},
                      BackEnd{"watched_pread", StorageKind::pread, 4, false, Watch::waits},
                      BackEnd{"watched_direct", StorageKind::io_uring_direct, 2, false, Watch::waits},
                      BackEnd{"deadline_pread", StorageKind::pread, 4, false, Watch::gives_up},
                      BackEnd{"deadline_shuffled", StorageKind::pread, 4, true, Watch::gives_up},
                      BackEnd{"deadline_direct", StorageKind::io_uring_direct, 2, false, Watch::gives_up}),
    [](const auto& back_end) { return back_end.param.name; });

}  // namespace
}  // namespace dovetail::test
