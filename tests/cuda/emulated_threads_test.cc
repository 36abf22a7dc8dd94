// SPDX-License-Identifier: Apache-2.0
// What the emulated runtime makes by itself: contexts of devices and streams of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "tests/cuda/emulated_fixture.h"
#include "tests/cuda/emulated_runtime.h"

namespace dovetail::test::emulated_cuda {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Fresh contexts on three devices; `work` has a thread whose current device is the first.
void without_contexts(const std::function<void()>& work) {
  reset();
  set_device_count(3);
  std::thread(work).join();
  set_device_count(1);
}

TEST(EmulatedContextTest, CallsThatOnlyAskMakeNone) {
  without_contexts([] {
    int number = 0;
    char address[16];
    auto mode = cudaStreamCaptureModeRelaxed;
    EXPECT_EQ(cudaGetDeviceCount(&number), cudaSuccess);
    EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetPCIBusId(address, sizeof(address), 1), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetAttribute(&number, cudaDevAttrIntegrated, 1), cudaSuccess);
    EXPECT_EQ(cudaRuntimeGetVersion(&number), cudaSuccess);
    EXPECT_EQ(cudaDriverGetVersion(&number), cudaSuccess);
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_STREQ(cudaGetErrorName(cudaSuccess), "cudaSuccess");
    EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
    EXPECT_THAT(contexts(), IsEmpty());
  });
}

TEST(EmulatedContextTest, MakingADeviceCurrentGivesItsContext) {
  without_contexts([] {
    EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
    fail_next("cudaSetDevice", cudaErrorUnknown);
    EXPECT_EQ(cudaSetDevice(1), cudaErrorUnknown);
    EXPECT_THAT(contexts(), IsEmpty());
    EXPECT_EQ(cudaSetDevice(2), cudaSuccess);
    EXPECT_THAT(contexts(), ElementsAre(2)) << "and not the device that was current before";
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
    EXPECT_THAT(contexts(), ElementsAre(2));
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_THAT(contexts(), ElementsAre(1, 2));
  });
  EXPECT_THAT(contexts(), ElementsAre(1, 2)) << "of the process, not of the thread";
  reset();
  EXPECT_THAT(contexts(), IsEmpty());
}

TEST(EmulatedContextTest, EveryOtherCallGivesTheCurrentDeviceItsContextEvenIfItFails) {
  void* memory = nullptr;
  int number = 0;
  std::size_t bytes = 0;
  char byte = 0;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaPointerAttributes attributes;
  const std::vector<std::function<cudaError_t()>> calls = {
      [] { return cudaDeviceSynchronize(); },
      [] { return cudaEventCreateWithFlags(nullptr, 0); },
      [] { return cudaEventDestroy(nullptr); },
      [] { return cudaEventQuery(nullptr); },
      [] { return cudaEventRecord(nullptr, nullptr); },
      [] { return cudaEventSynchronize(nullptr); },
      [] { return cudaFree(nullptr); },
      [] { return cudaFreeHost(nullptr); },
      [&] { return cudaHostAlloc(&memory, 0, cudaHostAllocDefault); },
      [] { return cudaHostRegister(nullptr, 0, 0); },
      [] { return cudaHostUnregister(nullptr); },
      [] { return cudaLaunchHostFunc(nullptr, nullptr, nullptr); },
      [&] { return cudaMalloc(&memory, 0); },
      [&] { return cudaMallocHost(&memory, 0); },
      [&] { return cudaMemGetInfo(&bytes, &bytes); },
      [] { return cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault); },
      [] { return cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, nullptr); },
      [&] { return cudaPointerGetAttributes(&attributes, &byte); },
      [] { return cudaStreamCreateWithFlags(nullptr, 0); },
      [] { return cudaStreamDestroy(nullptr); },
      [&] { return cudaStreamGetDevice(nullptr, &number); },
      [&] { return cudaStreamIsCapturing(nullptr, &status); },
      [] { return cudaStreamQuery(nullptr); },
      [] { return cudaStreamSynchronize(nullptr); },
      [] { return cudaStreamWaitEvent(nullptr, nullptr, 0); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    without_contexts([&] {
      EXPECT_THAT(contexts(), IsEmpty());
      (void)calls[i]();
      EXPECT_THAT(contexts(), ElementsAre(0));
    });
  }
}

class EmulatedThreadStreamTest : public EmulatedRuntimeTest {};

TEST_F(EmulatedThreadStreamTest, EachThreadHasItsOwn) {
  Gate gate;
  gate.block(cudaStreamPerThread);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess) << "is not the default stream";
  EXPECT_THAT(leftovers(), HasSubstr(", 1 busy stream of a thread,"));
  std::thread([this] {
    EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  }).join();
  EXPECT_THAT(on_device(), Each('a'));
  gate.open();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "waits for it as well";
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
  expect_last_error(cudaErrorInvalidResourceHandle);
}

TEST_F(EmulatedThreadStreamTest, EachDeviceHasItsOwn) {
  set_device_count(2);
  Gate gate;
  gate.block(cudaStreamPerThread);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int device = -1;
  EXPECT_EQ(cudaStreamGetDevice(cudaStreamPerThread, &device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaStreamGetDevice(cudaStreamPerThread, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
}

TEST_F(EmulatedThreadStreamTest, ItsWorkOutlivesItsThread) {
  Gate gate;
  std::thread([&] {
    gate.block(cudaStreamPerThread);
    ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, cudaStreamPerThread), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event_, cudaStreamPerThread), cudaSuccess);
  }).join();
  EXPECT_THAT(leftovers(), HasSubstr(", 1 busy destroyed stream,"));
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_THAT(on_device(), Each('\xCD'));
  gate.open();
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('a'));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(EmulatedThreadStreamTest, ItsCaptureEndsWithItsThread) {
  std::thread([] {
    begin_capture(cudaStreamPerThread);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(cudaStreamPerThread, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  }).join();
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "nothing is captured";
}

TEST_F(EmulatedThreadStreamTest, AfterAResetAThreadGetsAFreshOne) {
  std::promise<void> used;
  std::promise<void> was_reset;
  std::thread thread([&] {
    EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess);
    used.set_value();
    was_reset.get_future().wait();
    ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  });
  used.get_future().wait();
  EXPECT_THROW(reset(), std::logic_error);
  SetUp();
  was_reset.set_value();
  thread.join();
  EXPECT_THAT(on_device(), Each('a'));
}

}  // namespace
}  // namespace dovetail::test::emulated_cuda
