// SPDX-License-Identifier: Apache-2.0
// How a storage is chosen, what it does where something is forbidden, and what the kinds differ in.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "tests/reader/storage/storage_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

using detail::InputFile;
using detail::make_storage;
using detail::ReadInto;
using detail::Storage;

class StorageKindsTest : public FolderTest {
 protected:
  static constexpr std::size_t kSize = 1'000'003;

  StorageKindsTest() {
    write_file(folder_.path("a"), sample_bytes(kSize));
    file_ = std::make_unique<InputFile>(InputFile::open(folder_.path("a")).value());
  }

  /// Whether the file is now out of the page cache; the system may refuse.
  bool evict() {
    const int fd = ::open(folder_.path("a").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::fsync(fd), 0);
    ::close(fd);
    file_->drop_cache(0, kSize);
    return cached_pages(folder_.path("a")) == 0;
  }

  void expect_reads(Storage& storage) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{4097}, kSize - 100'000}) {
      const auto read = start_read(storage, *file_, offset, 100'000, 64);
      ASSERT_TRUE(read->wait());
      EXPECT_EQ(read->complaint(), "");
    }
  }

  std::unique_ptr<InputFile> file_;
};

TEST_F(StorageKindsTest, AutomaticIsPread) {
  const auto storage = make_storage(StorageKind::automatic).value();
  EXPECT_EQ(storage->facts().kind, StorageKind::pread);
  EXPECT_EQ(storage->facts().memory_bytes, 0u);
  expect_reads(*storage);
}

TEST_F(StorageKindsTest, EveryKindHasAName) {
  EXPECT_EQ(to_string(StorageKind::automatic), "automatic");
  EXPECT_EQ(to_string(StorageKind::pread), "pread");
  EXPECT_EQ(to_string(StorageKind::io_uring_direct), "io_uring_direct");
}

TEST_F(StorageKindsTest, WhereASandboxForbidsIoUringAskingForItSaysWhatToDo) {
  if (!make_storage(StorageKind::io_uring_direct)) GTEST_SKIP() << "no io_uring here to forbid";
  const std::size_t before = open_descriptors();
  without_system_call(SYS_io_uring_setup, [&] {
    EXPECT_THAT(make_storage(StorageKind::io_uring_direct),
                Fails(Errc::resource_limit).saying("seccomp").saying("or use pread"));
    expect_reads(*make_storage(StorageKind::automatic).value());
  });
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(StorageKindsTest, WhereNoThreadCanBeStartedEveryKindIsAnError) {
  const std::size_t before = open_descriptors();
  without_system_call(SYS_clone3, [&] {
    try {
      std::thread([] {}).join();
      GTEST_SKIP() << "threads are started in another way here";
    } catch (const std::system_error&) {
    }
    for (const StorageKind kind : {StorageKind::automatic, StorageKind::pread, StorageKind::io_uring_direct}) {
      EXPECT_THAT(make_storage(kind), Fails(Errc::resource_limit));
    }
  });
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(StorageKindsTest, WhereTooLittleMemoryMayBeLockedDirectReadsGoOnAndSaySo) {
  if (const auto usable = make_storage(StorageKind::io_uring_direct); !usable) {
    GTEST_SKIP() << usable.error().to_string();
  } else {
    EXPECT_EQ((*usable)->facts().note, "");
  }
  with_little_locked_memory([&] {
    const auto storage = make_storage(StorageKind::io_uring_direct);
    ASSERT_TRUE(storage) << storage.error().to_string();
    EXPECT_THAT((*storage)->facts().note, HasSubstr("RLIMIT_MEMLOCK"));
    expect_reads(**storage);
  });
}

TEST_F(StorageKindsTest, WhereASandboxForbidsTryingItIsANoAndReadsGoOn) {
  const auto can_try = [](const InputFile& file) {
    SampleRead read(0, 1000, 0);
    return file.try_read(0, read.into()).value();
  };
  const bool could = can_try(*file_);
  without_system_call(SYS_preadv2, [&] {
    const auto storage = make_storage(StorageKind::pread).value();
    for (int i = 0; i < 3; ++i) {
      SampleRead read(0, 1000, 0);
      EXPECT_FALSE(storage->try_read(*file_, 0, read.into()).value());
    }
    expect_reads(*storage);
  });
  // The refusal is remembered, for this open file only.
  EXPECT_FALSE(can_try(*file_));
  EXPECT_EQ(can_try(InputFile::open(folder_.path("a")).value()), could);
}

TEST_F(StorageKindsTest, DirectReadsLeaveThePageCacheAlone) {
  const auto storage = make_storage(StorageKind::io_uring_direct);
  if (!storage) GTEST_SKIP() << storage.error().to_string();
  if (!file_->direct()) GTEST_SKIP() << "this file system has no direct reads";
  if (!evict()) GTEST_SKIP() << "the page cache cannot be emptied here";
  const auto read = start_read(**storage, *file_, 0, kSize);
  ASSERT_TRUE(read->wait());
  EXPECT_EQ(read->complaint(), "");
  EXPECT_EQ((*storage)->cached_reads(), 0u);
  EXPECT_EQ(cached_pages(folder_.path("a")), 0u);
}

TEST_F(StorageKindsTest, AFileThatCannotBeReadDirectlyIsReadThroughThePageCacheAndCounted) {
  const auto storage = make_storage(StorageKind::io_uring_direct);
  if (!storage) GTEST_SKIP() << storage.error().to_string();
  file_->refuse_direct();
  EXPECT_FALSE(file_->direct());
  expect_reads(**storage);
  EXPECT_EQ((*storage)->cached_reads(), 3u);
}

TEST_F(StorageKindsTest, ADirectDescriptorIsThatOfTheOpenFileNotOfOneThatTookItsPath) {
  if (!file_->direct()) GTEST_SKIP() << "this file system has no direct reads";
  const auto storage = make_storage(StorageKind::io_uring_direct);
  if (!storage) GTEST_SKIP() << storage.error().to_string();
  const InputFile opened = InputFile::open(folder_.path("a")).value();
  write_file(folder_.path("other"), std::string(kSize, 'x'));
  ASSERT_EQ(::rename(folder_.path("other").c_str(), folder_.path("a").c_str()), 0);
  const auto read = start_read(**storage, opened, 10, 5000);
  ASSERT_TRUE(read->wait());
  EXPECT_EQ(read->complaint(), "");
  EXPECT_EQ((*storage)->cached_reads(), 0u);
}

TEST(ReadIntoTest, TheFrontAndTheRestTogetherAreTheWhole) {
  std::vector<std::byte> memory(10);
  const std::span<std::byte> all(memory);
  const ReadInto into{.first = all.first(4), .second = all.subspan(6)};
  ASSERT_EQ(into.size(), 8u);
  for (std::size_t bytes = 0; bytes <= into.size(); ++bytes) {
    const ReadInto front = into.before(bytes);
    const ReadInto rest = into.after(bytes);
    EXPECT_EQ(front.size(), bytes);
    EXPECT_EQ(rest.size(), into.size() - bytes);
    EXPECT_EQ(front.first.size() + rest.first.size(), 4u);
    EXPECT_EQ(rest.first.data() + rest.first.size(), memory.data() + 4);
    EXPECT_EQ(rest.second.data() + rest.second.size(), memory.data() + memory.size());
  }
}

}  // namespace
}  // namespace dovetail::test
