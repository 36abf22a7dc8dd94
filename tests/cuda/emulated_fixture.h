// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/cuda/emulated_runtime.h"

namespace dovetail::test::emulated_cuda {

inline constexpr std::size_t kBytes = 1000;

/// A stream and an event on the current device, and bytes in each kind of memory.
class EmulatedRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reset();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), cudaSuccess);
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    device_ = static_cast<char*>(memory);
    ASSERT_EQ(cudaHostAlloc(&memory, kBytes, cudaHostAllocDefault), cudaSuccess);
    pinned_ = static_cast<char*>(memory);
    std::fill_n(pinned_, kBytes, 'a');
  }

  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess);
    EXPECT_EQ(cudaFree(device_), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(pinned_), cudaSuccess);
    EXPECT_EQ(leftovers(), "");
  }

  /// What is on the device, without a call that might wait for it. Only after the copy is known to
  /// be complete.
  std::string on_device() const { return {device_, kBytes}; }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  char* device_ = nullptr;
  char* pinned_ = nullptr;
};

/// Takes the last error of this thread, so that it is not the next check's.
inline void expect_last_error(cudaError_t error) {
  EXPECT_STREQ(cudaGetErrorName(cudaPeekAtLastError()), cudaGetErrorName(error));
  EXPECT_EQ(cudaGetLastError(), error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace dovetail::test::emulated_cuda
