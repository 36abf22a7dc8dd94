// SPDX-License-Identifier: Apache-2.0
// Large blocks, seen by what the threads that encode them ask the allocator for. One that cannot be
// encoded for want of memory: its shard is never finished without it. Several: each thread takes
// one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/decoded_shards.h"
#include "tests/support/fails.h"
#include "tests/support/folder_fixture.h"
#include "tests/support/replaced_new.h"
#include "writer/encode_pipeline.h"
#include "writer/shard_output.h"

namespace {

constexpr std::size_t kLargeBytes = std::size_t{4} << 20;
const std::thread::id kMain = std::this_thread::get_id();

bool is_small_or_on_the_main_thread(std::size_t bytes) {
  return bytes < kLargeBytes || std::this_thread::get_id() == kMain;
}

std::atomic<int> encoding = 0;

bool waits_for_a_second_thread(std::size_t bytes) {
  if (is_small_or_on_the_main_thread(bytes)) return true;
  ++encoding;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (encoding < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  return encoding >= 2;
}

}  // namespace

namespace dovetail::detail {
namespace {

using ::testing::ElementsAre;

class EncodeFailureTest : public test::FolderTest {
 protected:
  ~EncodeFailureTest() override { test::set_memory_rule(nullptr); }

  // Shards 0, 1 and 2, of which the second has a record that is too large for the encoder's memory.
  Result<void> write(unsigned threads) {
    WriterOptions shard{.run_records = 1000, .dataset_id = DatasetId{}};
    const auto publish = [this](FinishedShard finished) -> Result<void> {
      published_.push_back(finished.info.name);
      return finished.file.publish(false);
    };
    auto pipeline = EncodePipeline::start(OutputFolder::open(folder_.path()).value(),
                                          {.shard = shard, .threads = threads, .on_shard = publish})
                        .value();
    const std::string large(2 * kLargeBytes, 'x');
    test::set_memory_rule(&is_small_or_on_the_main_thread);
    Result<void> written;
    for (std::uint32_t number = 0; number < 3 && written; ++number) {
      written = pipeline->begin_shard(number);
      for (int i = 0; i < 50 && written; ++i) {
        written = pipeline->append(number == 1 && i == 25 ? as_bytes(large) : as_bytes("a small record"));
      }
      if (written) written = pipeline->end_shard();
    }
    const Result<void> finished = pipeline->finish();
    return written ? finished : written;
  }

  std::vector<std::string> published_;
};

TEST_F(EncodeFailureTest, ShardsBeforeItAreKeptAndItsOwnIsNot) {
  for (const unsigned threads : {1u, 4u}) {
    published_.clear();
    const Result<void> written = write(threads);
    ASSERT_THAT(written, test::Fails(boost::system::errc::not_enough_memory));
    EXPECT_THAT(published_, ElementsAre("shard-000000.dvt")) << threads << " threads";
    EXPECT_EQ(test::read_shard_file(folder_ / "shard-000000.dvt").records.size(), 50u);
    EXPECT_THAT(test::names_in(folder_.path()), ElementsAre("shard-000000.dvt"));
    std::remove((folder_ / "shard-000000.dvt").c_str());
  }
}

TEST_F(EncodeFailureTest, LargeBlocksDoNotWaitForOneAnotherOnOneThread) {
  auto pipeline =
      EncodePipeline::start(OutputFolder::open(folder_.path()).value(),
                            {.shard = {.dataset_id = DatasetId{}},
                             .threads = 2,
                             .on_shard = [](FinishedShard finished) { return finished.file.publish(false); }})
          .value();
  const std::string large(2 * kLargeBytes, 'x');
  test::set_memory_rule(&waits_for_a_second_thread);
  ASSERT_TRUE(pipeline->begin_shard(0));
  ASSERT_TRUE(pipeline->append(as_bytes(large)));
  ASSERT_TRUE(pipeline->append(as_bytes(large)));
  ASSERT_TRUE(pipeline->end_shard());
  EXPECT_TRUE(pipeline->finish()) << "one thread encodes both";
}

TEST_F(EncodeFailureTest, AShardDoesNotKeepTheBufferOfALargeBlock) {
  auto output =
      ShardOutput::create(OutputFolder::open(folder_.path()).value(), "shard-000000.dvt", DatasetId{}, 0, {}).value();
  const std::size_t before = test::allocated_bytes();
  {
    const format::EncodedBlock large{.body = std::vector<std::byte>(16 * kLargeBytes), .records = 1};
    ASSERT_TRUE(output.add(large));
  }
  EXPECT_LT(test::allocated_bytes(), before + 2 * kLargeBytes);
}

}  // namespace
}  // namespace dovetail::detail
