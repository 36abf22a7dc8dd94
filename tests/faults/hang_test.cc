// SPDX-License-Identifier: Apache-2.0
// Calls of the system that do not return: for every n, the n-th open or read of a reader hangs, and
// then all from there on.
#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

/// Calls from the n-th on wait until they are released.
class Hang {
 public:
  void arm(std::uint64_t first, std::uint64_t last) {
    const std::lock_guard lock(mutex_);
    first_ = first;
    last_ = last;
    calls_ = 0;
    hung_ = 0;
    armed_ = true;
  }
  /// Large reads of these files hang, whoever reads them and however often.
  void arm_large_reads(std::vector<std::string> paths) {
    arm(0, 0);
    const std::lock_guard lock(mutex_);
    paths_ = std::move(paths);
  }
  /// Lets all go, and waits until they have gone. How many there were.
  std::uint64_t release() {
    std::unique_lock lock(mutex_);
    armed_ = false;
    paths_.clear();
    changed_.notify_all();
    changed_.wait(lock, [this] { return inside_ == 0; });
    return hung_;
  }
  void pass(int file = -1, std::size_t bytes = 0) {
    std::unique_lock lock(mutex_);
    if (!armed_) return;
    const std::uint64_t call = ++calls_;
    if (!is_large_read(file, bytes) && (call < first_ || call > last_)) return;
    wait(lock);
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock) {
    ++hung_;
    ++inside_;
    changed_.wait(lock, [this] { return !armed_; });
    --inside_;
    changed_.notify_all();
  }
  bool is_large_read(int file, std::size_t bytes) const {
    constexpr std::size_t kLarge = 16 << 10;
    if (paths_.empty() || bytes < kLarge) return false;
    const std::string path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    return std::find(paths_.begin(), paths_.end(), path) != paths_.end();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> paths_;
  bool armed_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t hung_ = 0;
  std::uint64_t inside_ = 0;
};

Hang hang;

}  // namespace
}  // namespace dovetail::test

extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_preadv(int file, const iovec* parts, int count, off_t offset);

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  if (std::string_view(path).ends_with(".dvt")) dovetail::test::hang.pass();
  return __real_open(path, flags, mode);
}

ssize_t __wrap_preadv(int file, const iovec* parts, int count, off_t offset) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  dovetail::test::hang.pass(file, bytes);
  return __real_preadv(file, parts, count, offset);
}

// Nothing is there without waiting.
ssize_t __wrap_preadv2(int, const iovec*, int, off_t, int) {
  errno = EAGAIN;
  return -1;
}
}

namespace dovetail::test {
namespace {

const SampleShape kShape{.shard_records = {30, 20}, .max_bytes = 300, .block_bytes = 2048};

class HangTest : public FolderTest {
 protected:
  HangTest() : dataset_(make_sample(folder_.path("data"), kShape)) {}

  static ReaderOptions options(OnDamage on_damage, std::chrono::milliseconds after) {
    return {.plan = {.batch = 5, .open_runs = 4, .pool = 16},
            .epochs = 1,
            .on_damage = on_damage,
            .on_hung_read = OnHungRead::fail,
            .hung_after = after,
            .decode_threads = 2,
            .registration = Registration::off};
  }

  const Dataset dataset_;
};

TEST_F(HangTest, ForEveryCallFromWhichOnAllHangTheEpochEndsWithItsRowsMarked) {
  const std::chrono::milliseconds after(kSanitized ? 100 : 30);
  const std::uint64_t step = kSanitized ? 7 : 1;
  std::uint64_t hung = 1;
  std::uint64_t faults = 0;
  for (std::uint64_t n = 1; hung > 0 && !HasFailure(); n += step) {
    SCOPED_TRACE("call " + std::to_string(n) + " and later");
    test::hang.arm(n, UINT64_MAX);
    {
      // Stopping waits for none of them.
      BatchReader reader = BatchReader::open(dataset_, options(OnDamage::empty, after)).value();
      const Result<std::uint64_t> lost = count_lost_rows(reader, kShape);
      EXPECT_TRUE(lost && *lost == reader.stats().rows_damaged_empty) << ::testing::PrintToString(lost);
    }
    hung = test::hang.release();
    faults += hung > 0 ? 1 : 0;
  }
  EXPECT_GE(faults, kSanitized ? 2u : 10u);
  std::printf("%llu places from which on all calls hung\n", static_cast<unsigned long long>(faults));
}

TEST_F(HangTest, FilesOfWhichNothingComesBackCostNoRowOfOthers) {
  // More of each than may be in flight at a time, and than there are threads for.
  const SampleShape shape{.shard_records = {120, 180, 90, 100, 80, 110, 70, 100, 90},
                          .min_bytes = 65536,
                          .max_bytes = 65536,
                          .codec = Codec::none,
                          .block_bytes = 65536};
  const Dataset dataset = make_sample(folder_.path("large"), shape);
  const std::vector<std::vector<std::uint32_t>> choices{{1}, {1, 5}, {0, 3, 4, 7}, {0, 1, 2, 4, 5, 6, 7}};
  std::uint64_t others_told = 0;
  for (const std::vector<std::uint32_t>& hung : choices) {
    for (const std::uint32_t io_threads : {2u, 8u}) {
      if (kSanitized && (hung.size() % 2 == 0 || io_threads == 2)) continue;
      SCOPED_TRACE(::testing::Message() << hung.size() << " of 9 hang, threads: " << io_threads);
      std::vector<std::string> paths;
      for (const std::uint32_t shard : hung) paths.push_back(std::filesystem::canonical(dataset.shard_path(shard)));
      test::hang.arm_large_reads(paths);
      ReaderOptions options = HangTest::options(OnDamage::empty, std::chrono::milliseconds(kSanitized ? 2000 : 500));
      options.io_threads = io_threads;
      options.plan.open_runs = 16;
      options.plan.pool = 64;
      options.plan.batch = 20;
      std::mutex told_mutex;
      std::set<std::string> told;
      options.log = [&](std::string_view line) {
        const std::size_t end = line.find(" has taken ");
        const std::lock_guard lock(told_mutex);
        if (end != std::string_view::npos) told.emplace(line.substr(0, end));
      };
      BatchReader reader = BatchReader::open(dataset, options).value();
      const Rows planned = test::planned(reader.plan(), 0, 0);
      std::size_t at = 0;
      for (const Batch& batch : reader.epoch()) {
        for (std::uint32_t row = 0; row < batch.rows(); ++row, ++at) {
          const std::uint64_t id = batch.ids()[row];
          ASSERT_EQ(id, planned.at(at).id);
          const bool hangs = std::find(hung.begin(), hung.end(), dataset.locate(id).shard) != hung.end();
          ASSERT_EQ(batch.status()[row], hangs ? RowStatus::damaged_empty : RowStatus::first) << id;
          if (!hangs) {
            ASSERT_EQ(as_chars(batch.row(row)), sample_record(id, shape));
          }
        }
      }
      EXPECT_EQ(at, planned.size());
      reader.stop();
      EXPECT_GT(test::hang.release(), 0u);
      const std::lock_guard lock(told_mutex);
      for (const std::string& read : told) {
        others_told +=
            std::none_of(paths.begin(), paths.end(), [&](const std::string& path) { return read.ends_with(path); });
      }
    }
  }
  EXPECT_LT(others_told, 40u) << "reads of others wait for those that hang: or the machine stands still now and then";
}

TEST_F(HangTest, WithFailTheReaderStopsWithTheFile) {
  test::hang.arm(3, UINT64_MAX);
  {
    BatchReader reader = BatchReader::open(dataset_, options(OnDamage::fail, std::chrono::milliseconds(30))).value();
    Result<std::optional<Batch>> batch = reader.next();
    while (batch.has_value() && batch->has_value()) {
      batch = std::optional<Batch>();
      batch = reader.next();
    }
    ASSERT_THAT(batch, Fails(boost::system::errc::timed_out));
    EXPECT_FALSE(batch.error().path().empty());
  }
  EXPECT_GT(test::hang.release(), 0u);
}

}  // namespace
}  // namespace dovetail::test
