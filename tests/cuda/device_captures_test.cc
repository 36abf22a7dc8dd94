// SPDX-License-Identifier: Apache-2.0
// What captures of streams into graphs, and contexts on devices, mean to the library. Emulated
// only: a test must not leave captures or contexts of a device to those after it.

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>

#include "tests/cuda/device_fixture.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using emulated_cuda::begin_capture;
using emulated_cuda::contexts;
using emulated_cuda::end_capture;

class DeviceCapturesTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudaStreamCreateWithFlags(&captured_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(captured_), cudaSuccess);
    DeviceTest::TearDown();
  }
  cudaStream_t captured_ = nullptr;
};

TEST_F(DeviceCapturesTest, ReadingInvalidatesNobodysCapture) {
  BatchReader reader = BatchReader::open(dataset(), options(4)).value();
  begin_capture(captured_);
  for (int step = 0; step < 40; ++step) {
    std::optional<Batch> batch = reader.next().value();
    if (batch.has_value()) {
      ASSERT_TRUE(batch->release(stream()).has_value());
    }
  }
  EXPECT_TRUE(end_capture(captured_));
}

TEST_F(DeviceCapturesTest, CopyingInvalidatesNobodysCapture) {
  begin_capture(captured_);
  {
    DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options(4)).value(), {}).value();
    for (int step = 0; step < 40; ++step) {
      std::optional<DeviceBatch> batch = reader.next().value();
      if (!batch.has_value()) continue;
      ASSERT_TRUE(batch->wait_on(stream()).has_value());
      EXPECT_TRUE(eventually([&] { return batch->ready(); }));
    }
  }
  EXPECT_TRUE(end_capture(captured_));
}

TEST_F(DeviceCapturesTest, ABatchIsNotReleasedIntoACapture) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  Batch batch = std::move(*reader.next().value());
  begin_capture(captured_);
  const Result<void> released = batch.release(DeviceStream{captured_});
  ASSERT_THAT(released, Fails(Errc::stream_captured));
  EXPECT_EQ(batch.rows(), 64u);
  EXPECT_THAT(batch.release(DeviceStream{}), Fails(Errc::stream_captured)) << "the default stream waits for all";
  EXPECT_TRUE(end_capture(captured_));
  EXPECT_TRUE(batch.release(DeviceStream{captured_}).has_value());
}

TEST_F(DeviceCapturesTest, ABatchIsNotWaitedForInACapture) {
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options()).value(), {}).value();
  std::optional<DeviceBatch> batch = reader.next().value();
  begin_capture(captured_);
  EXPECT_THAT(batch->wait_on(DeviceStream{captured_}), Fails(Errc::stream_captured));
  EXPECT_TRUE(end_capture(captured_));
  EXPECT_TRUE(batch->wait_on(DeviceStream{captured_}).has_value());
}

TEST_F(DeviceCapturesTest, ASlabWaitsForTheEndOfACapture) {
  DeviceReader reader =
      DeviceReader::open(BatchReader::open(dataset(), options()).value(), {.prefetch = 1, .max_held = 1}).value();
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  // Both slabs leave inside of captures.
  for (cudaStream_t stream : {captured_, other}) {
    std::optional<DeviceBatch> batch = reader.next().value();
    ASSERT_TRUE(batch->wait_on(DeviceStream{stream}).has_value());
    begin_capture(stream, cudaStreamCaptureModeRelaxed);
  }
  auto third = std::async(std::launch::async, [&] { return reader.next().value()->step(); });
  EXPECT_EQ(third.wait_for(kAMoment), std::future_status::timeout);
  EXPECT_TRUE(end_capture(captured_));
  EXPECT_EQ(third.get(), 2u);
  EXPECT_TRUE(end_capture(other));
  std::uint64_t step = 3;
  while (std::optional<DeviceBatch> batch = reader.next().value()) EXPECT_EQ(batch->step(), step++);
  EXPECT_EQ(step, reader.plan().steps(0).value());
  ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

class DeviceContextsTest : public DeviceTest {};

TEST_F(DeviceContextsTest, ComeIntoBeingOnlyWhereBatchesAreFor) {
  ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  stream_ = nullptr;
  emulated_cuda::reset();
  emulated_cuda::set_device_count(3);
  {
    ReaderOptions of_reader = options(2);
    of_reader.device = 2;
    DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), of_reader).value(), {.device = 2}).value();
    cudaStream_t user = nullptr;
    std::thread([&] {
      ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
      ASSERT_EQ(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking), cudaSuccess);
    }).join();
    for (int step = 0; step < 10; ++step) {
      std::optional<DeviceBatch> batch = reader.next().value();
      // On a thread that never made a device current.
      EXPECT_TRUE(batch->wait_on(DeviceStream{user}).has_value());
      EXPECT_TRUE(eventually([&] { return batch->ready(); }));
    }
    reader.stop();
    std::thread([&] {
      ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
      ASSERT_EQ(cudaStreamDestroy(user), cudaSuccess);
    }).join();
  }
  EXPECT_EQ(contexts(), std::vector<int>{2});
  EXPECT_EQ(emulated_cuda::leftovers(), "");
}

TEST_F(DeviceContextsTest, AreNotNeededWithoutRegistration) {
  ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  stream_ = nullptr;
  emulated_cuda::reset();
  ReaderOptions plain = options();
  plain.registration = Registration::off;
  BatchReader reader = BatchReader::open(dataset(), plain).value();
  EXPECT_TRUE(reader.next().value().has_value());
  EXPECT_TRUE(contexts().empty());
}

}  // namespace
}  // namespace dovetail::test
