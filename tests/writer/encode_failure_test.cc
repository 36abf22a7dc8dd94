// SPDX-License-Identifier: Apache-2.0
// A block that cannot be encoded, for want of memory on the thread that encodes it: its shard is never finished without it.
// This program replaces operator new.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/writer/test_files.h"
#include "writer/shard_stream.h"

namespace {

constexpr std::size_t kLargeBytes = std::size_t{4} << 20;
std::atomic<bool> refuses_large = false;
const std::thread::id kMain = std::this_thread::get_id();

}  // namespace

// gcc takes the inlined pair for a mismatch.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t bytes) {
  if (bytes >= kLargeBytes && refuses_large && std::this_thread::get_id() != kMain) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dovetail::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EncodeFailureTest : public ::testing::Test {
 protected:
  ~EncodeFailureTest() override { refuses_large = false; }

  // Shards 0, 1 and 2, of which the second has a record that is too large for the encoder's memory.
  Result<void> write(unsigned threads) {
    WriterOptions shard;
    shard.dataset_id = DatasetId{};
    shard.run_records = 1000;
    const auto publish = [this](FinishedShard finished) -> Result<void> {
      published_.push_back(finished.info.name);
      return finished.file.publish(false);
    };
    auto stream =
        ShardStream::start(OutputFolder::open(folder_.path()).value(), {.shard = shard, .threads = threads}, publish)
            .value();
    const std::string large(2 * kLargeBytes, 'x');
    refuses_large = true;
    Result<void> written;
    for (std::uint32_t number = 0; number < 3 && written; ++number) {
      written = stream->begin(number);
      for (int i = 0; i < 50 && written; ++i) {
        written = stream->append(number == 1 && i == 25 ? as_bytes(large) : as_bytes("a small record"));
      }
      if (written) written = stream->end();
    }
    const Result<void> finished = stream->finish();
    return written ? finished : written;
  }

  test::TempFolder folder_;
  std::vector<std::string> published_;
};

TEST_F(EncodeFailureTest, ShardsBeforeItAreKeptAndItsOwnIsNot) {
  for (const unsigned threads : {1u, 4u}) {
    published_.clear();
    const Result<void> written = write(threads);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), boost::system::errc::not_enough_memory);
    EXPECT_THAT(published_, ElementsAre("shard-000000.dvt")) << threads << " threads";
    EXPECT_EQ(test::read_shard_file(folder_ / "shard-000000.dvt").records.size(), 50u);
    EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("shard-000000.dvt"));
    std::remove((folder_ / "shard-000000.dvt").c_str());
  }
}

}  // namespace
}  // namespace dovetail::detail
