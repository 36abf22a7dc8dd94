// SPDX-License-Identifier: Apache-2.0
// What is asked of the driver where the runtime is too old to tell has to be what a newer one
// tells.
#include "reader/memory/cuda_versions.h"

#include <cstddef>
#include <thread>
#include <vector>

#include "tests/cuda/device_fixture.h"

namespace dovetail::test {
namespace {

using detail::device_of;
using detail::device_of_by_driver;

class CudaVersionsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
#ifdef DOVETAIL_EMULATED_CUDA
    emulated_cuda::set_device_count(3);
#endif
    int devices = 0;
    ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
    for (int device = 0; device < devices; ++device) {
      ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
      ASSERT_EQ(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking), cudaSuccess);
    }
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  void TearDown() override {
    for (const cudaStream_t stream : streams_) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    DeviceTest::TearDown();
  }

  void expect_device(cudaStream_t stream, int expected) const {
    int before = -1;
    EXPECT_EQ(cudaGetDevice(&before), cudaSuccess);
    EXPECT_EQ(device_of(stream).value(), expected);
    EXPECT_EQ(device_of_by_driver(stream).value(), expected);
    int after = -1;
    EXPECT_EQ(cudaGetDevice(&after), cudaSuccess);
    EXPECT_EQ(after, before) << "asking leaves the current device";
  }

  std::vector<cudaStream_t> streams_;  // one of each device
};

TEST_F(CudaVersionsTest, AStreamIsOneOfItsDeviceWhateverIsCurrent) {
  const int devices = static_cast<int>(streams_.size());
  for (int current = 0; current < devices; ++current) {
    ASSERT_EQ(cudaSetDevice(current), cudaSuccess);
    for (int device = 0; device < devices; ++device) expect_device(streams_[static_cast<std::size_t>(device)], device);
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  std::thread([&] { expect_device(streams_.back(), devices - 1); }).join();
}

TEST_F(CudaVersionsTest, DefaultStreamsAreThoseOfTheCurrentDevice) {
  for (int current = 0; current < static_cast<int>(streams_.size()); ++current) {
    ASSERT_EQ(cudaSetDevice(current), cudaSuccess);
    for (const cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
      expect_device(stream, current);
    }
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace dovetail::test
