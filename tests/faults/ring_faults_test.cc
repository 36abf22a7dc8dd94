// SPDX-License-Identifier: Apache-2.0
// Reading through io_uring while the n-th completion or submission fails, or the ring cannot be
// had, for every n until a run passes untouched: the storage makes up for it.
#include <cerrno>
#include <cstdint>
#include <string>

#include <dovetail/batch_reader.h>

#include "tests/faults/faulty_epoch.h"
#include "tests/faults/ring_faults.h"
#include "tests/faults/system_faults.h"
#include "tests/reader/storage/storage_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"

namespace dovetail::test {
namespace {

// Blocks of small records; and records of several reads each, that go straight into their rows.
const SampleShape kSmall{.shard_records = {60, 0, 45}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};
const SampleShape kLarge{.shard_records = {5, 4},
                         .min_bytes = 100'000,
                         .max_bytes = 1'500'000,
                         .codec = Codec::none,
                         .block_bytes = 4096,
                         .run_records = 2};

/// Epochs through both kinds of rings.
class RingFaultsTest : public test::FaultyEpochTest, public ::testing::WithParamInterface<StorageKind> {
 protected:
  RingFaultsTest() : FaultyEpochTest(kSmall) {}
  explicit RingFaultsTest(const SampleShape& shape) : FaultyEpochTest(shape) {}

  void SetUp() override {
    const auto reader = BatchReader::open(dataset_, options());
    if (!reader) GTEST_SKIP() << reader.error().to_string();
  }
  ReaderOptions options(OnDamage on_damage = OnDamage::fail) const {
    return FaultyEpochTest::options(on_damage, GetParam());
  }
  void read_with_every_ring_fault() {
    const std::uint64_t faults = with_every_ring_fault([&] { return read_epoch(options()); });
    EXPECT_GT(faults, 50 / kFaultStep);
    count_faults(faults);
  }

  ColdCache cold_;
};

class RingFaultsOfLargeRecordsTest : public RingFaultsTest {
 protected:
  RingFaultsOfLargeRecordsTest() : RingFaultsTest(kLarge) {}
};

TEST_P(RingFaultsTest, AnEpochIsRight) {
  read_with_every_ring_fault();
}

TEST_P(RingFaultsOfLargeRecordsTest, AnEpochIsRight) {
  read_with_every_ring_fault();
}

TEST_P(RingFaultsTest, AnEpochIsRightOrEndsWithAnErrorThatNamesAFileWhereOrdinaryReadsFailToo) {
  const RingFaultAt ring(RingFault::read_error, 1, true);
  for (const OnDamage on_damage : {OnDamage::fail, OnDamage::substitute, OnDamage::empty}) {
    const std::uint64_t faults = with_every_fault([&] { return read_epoch(options(on_damage)); }, [](bool) {});
    EXPECT_GT(faults, 20 / kFaultStep);
    count_faults(faults);
  }
}

TEST_P(RingFaultsTest, ARingThatCannotBeHadIsAnErrorThatSaysWhy) {
  const std::size_t descriptors = open_descriptors();
  for (const int error : {ENOSYS, EPERM, EACCES, ENOMEM, EMFILE, ENFILE, EINVAL, EAGAIN}) {
    const RingRefused refuse(RingRefused::Call::queue_init, error, 1000);
    EXPECT_THAT(BatchReader::open(dataset_, options()), Fails(Errc::resource_limit).saying("use pread")) << error;
    EXPECT_EQ(open_descriptors(), descriptors);
  }
}

TEST_P(RingFaultsTest, ARingThatCannotBeAskedWhatItKnowsIsAnErrorThatSaysWhy) {
  const std::size_t descriptors = open_descriptors();
  const std::pair<int, const char*> reasons[] = {
      {EPERM, "io_uring_register"}, {ENOMEM, "memory"}, {EINVAL, "the kernel"}, {EIO, "Input/output error"}};
  for (const auto& [error, words] : reasons) {
    const RingRefused refuse(RingRefused::Call::probe, error, 1);
    const auto refused = BatchReader::open(dataset_, options());
    ASSERT_THAT(refused, Fails(Errc::resource_limit)) << error;
    EXPECT_THAT(refused.error().to_string(), ::testing::AllOf(HasSubstr(words), HasSubstr("use pread")));
    EXPECT_EQ(open_descriptors(), descriptors);
  }
}

TEST_P(RingFaultsTest, AShortageThatPassesIsWaitedFor) {
  for (const unsigned times : {1u, 3u}) {
    const RingRefused refuse(RingRefused::Call::queue_init, ENOMEM, times);
    EXPECT_TRUE(read_epoch(options()));
    EXPECT_EQ(RingRefused::failures(), times);
  }
}

TEST_P(RingFaultsTest, BuffersThatCannotBeRegisteredCostSpeedOnly) {
  const RingRefused refuse(RingRefused::Call::register_buffers, ENOMEM, 1);
  EXPECT_TRUE(read_epoch(options()));
  EXPECT_EQ(RingRefused::failures(), 1u);
}

const auto kKinds = ::testing::Values(StorageKind::io_uring_direct);
const auto kNameOfKind = [](const auto& tested) { return std::string(to_string(tested.param)); };
INSTANTIATE_TEST_SUITE_P(Kinds, RingFaultsTest, kKinds, kNameOfKind);
INSTANTIATE_TEST_SUITE_P(Kinds, RingFaultsOfLargeRecordsTest, kKinds, kNameOfKind);

}  // namespace
}  // namespace dovetail::test
