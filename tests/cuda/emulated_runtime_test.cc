// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "reader/memory/host_memory.h"
#include "tests/cuda/emulated_calls.h"
#include "tests/cuda/emulated_fixture.h"

namespace dovetail::test::emulated_cuda {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;

TEST_F(EmulatedRuntimeTest, EachDeviceHasItsStreamsEventsAndMemory) {
  set_device_count(2);
  int number = -1;
  EXPECT_EQ(cudaGetDeviceCount(&number), cudaSuccess);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  expect_last_error(cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
  EXPECT_EQ(number, 1);
  std::thread([] {
    int elsewhere = -1;
    EXPECT_EQ(cudaGetDevice(&elsewhere), cudaSuccess);
    EXPECT_EQ(elsewhere, 0);
  }).join();

  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), cudaSuccess);
  EXPECT_EQ(cudaStreamGetDevice(stream, &number), cudaSuccess);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(cudaStreamGetDevice(nullptr, &number), cudaSuccess);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(cudaStreamGetDevice(stream_, &number), cudaSuccess);
  EXPECT_EQ(number, 0);
  EXPECT_EQ(cudaEventRecord(event_, stream), cudaErrorInvalidResourceHandle) << "an event of another device";
  expect_last_error(cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event_, 0), cudaSuccess) << "waiting is allowed across devices";

  Gate gate;
  gate.block(stream_);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "waits for its own streams only";
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, device_ + kBytes - 1), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, SomethingHappensAtTheNthCallOfAll) {
  std::string met;
  int number = 0;
  {
    AtCall second(
        2, [&](std::string_view function) { met += function; }, cudaErrorNotPermitted);
    EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
    EXPECT_EQ(cudaGetDeviceCount(&number), cudaErrorNotPermitted);
    EXPECT_EQ(cudaGetDeviceCount(&number), cudaSuccess) << "once";
    EXPECT_TRUE(second.disarm());
    expect_last_error(cudaErrorNotPermitted);
  }
  {
    AtCall first(1, [&](std::string_view function) { met += function; });
    std::thread([&] { EXPECT_EQ(cudaGetDevice(&number), cudaSuccess); }).join();
    EXPECT_TRUE(first.disarm());
  }
  AtCall third(3, [&](std::string_view) { met += "more"; });
  EXPECT_EQ(cudaGetDevice(&number), cudaSuccess);
  EXPECT_FALSE(third.disarm());
  EXPECT_EQ(met, "cudaGetDeviceCountcudaGetDevice");
}

TEST_F(EmulatedRuntimeTest, DevicesSayWhatTheyAre) {
  char address[16];
  EXPECT_EQ(cudaDeviceGetPCIBusId(address, sizeof(address), 0), cudaSuccess);
  EXPECT_STREQ(address, "0000:E0:00.0");
  EXPECT_EQ(cudaDeviceGetPCIBusId(address, 12, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetPCIBusId(address, sizeof(address), 1), cudaErrorInvalidDevice);
  expect_last_error(cudaErrorInvalidDevice);
  int number = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&number, cudaDevAttrUnifiedAddressing, 0), cudaSuccess);
  EXPECT_EQ(number, 1);
  EXPECT_EQ(cudaRuntimeGetVersion(&number), cudaSuccess);
  EXPECT_EQ(number, CUDART_VERSION);
  EXPECT_EQ(cudaDriverGetVersion(&number), cudaSuccess);
  EXPECT_GE(number, CUDART_VERSION);
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, total - kBytes);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, free + 1), cudaErrorMemoryAllocation);
  expect_last_error(cudaErrorMemoryAllocation);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusActive;
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &capture), cudaSuccess);
  EXPECT_EQ(capture, cudaStreamCaptureStatusNone);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device_) % 512, 0u);
}

TEST_F(EmulatedRuntimeTest, WithoutADeviceCallsSaySo) {
  set_device_count(0);
  int number = -1;
  EXPECT_EQ(cudaGetDeviceCount(&number), cudaErrorNoDevice);
  EXPECT_EQ(number, 0);
  char byte = 0;
  EXPECT_EQ(cudaHostRegister(&byte, 1, 0), cudaErrorNoDevice);
  EXPECT_EQ(cudaRuntimeGetVersion(&number), cudaSuccess);
  expect_last_error(cudaErrorNoDevice);
  set_device_count(1);
}

TEST_F(EmulatedRuntimeTest, HostMemoryIsRegisteredOnce) {
  std::vector<char> memory(3 * kBytes);
  char* const middle = memory.data() + kBytes;
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes;
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(cudaHostRegister(middle, 0, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaHostRegister(middle, kBytes, cudaHostRegisterPortable), cudaSuccess);
  EXPECT_EQ(leftovers(), "1 stream, 1 event, 1 host registration, 1 host allocation, 1 device allocation");
  EXPECT_EQ(cudaHostRegister(middle, kBytes, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(middle + kBytes - 1, 1, 0), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(memory.data(), kBytes + 1, 0), cudaErrorHostMemoryAlreadyRegistered);
  expect_last_error(cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostRegister(memory.data(), kBytes, 0), cudaSuccess) << "only touches it";
  EXPECT_EQ(cudaHostUnregister(memory.data()), cudaSuccess);
  EXPECT_EQ(type_of(middle - 1), cudaMemoryTypeUnregistered);
  EXPECT_EQ(type_of(middle), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(middle + kBytes - 1), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(middle + kBytes), cudaMemoryTypeUnregistered);
  EXPECT_EQ(type_of(pinned_), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(device_), cudaMemoryTypeDevice);
  EXPECT_EQ(cudaHostUnregister(middle + 1), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(pinned_), cudaErrorHostMemoryNotRegistered) << "allocated, not registered";
  EXPECT_EQ(cudaFreeHost(middle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pinned_), cudaErrorInvalidValue);
  expect_last_error(cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(middle), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, NothingIsAllocatedAndFreedAsNull) {
  void* memory = pinned_;
  EXPECT_EQ(cudaMalloc(&memory, 0), cudaSuccess);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMallocHost(&memory, 1), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, TheLastErrorIsOfTheThreadAndStaysUntilItIsTaken) {
  EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  expect_last_error(cudaErrorInvalidDevice);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidDevice), "invalid device ordinal");
}

TEST_F(EmulatedRuntimeTest, CallsAreCountedAndFailOnceWhereATestAsksForIt) {
  fail_next("cudaEventRecord", cudaErrorUnknown);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event_, stream_), cudaErrorUnknown);
  EXPECT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  expect_last_error(cudaErrorUnknown);
  EXPECT_EQ(calls("cudaEventRecord"), 2u);
  EXPECT_EQ(calls("cudaStreamSynchronize"), 0u);
  EXPECT_THROW(calls("cudaEventRecrod"), std::invalid_argument);
  EXPECT_THROW(fail_next("", cudaErrorUnknown), std::invalid_argument);
}

TEST_F(EmulatedRuntimeTest, ABrokenContextAnswersEverythingWithItsErrorAndDropsTheWork) {
  Gate gate;
  gate.block(stream_);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  std::future<cudaError_t> waiting = std::async(std::launch::async, [&] { return cudaEventSynchronize(event_); });
  break_context(cudaErrorIllegalAddress);
  EXPECT_EQ(waiting.get(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamDestroy(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(device_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress) << "cannot be taken";
  gate.open();
  EXPECT_THAT(on_device(), Each('\xCD'));
  EXPECT_EQ(leftovers(), "");
  SetUp();  // a new context, for the end of the test to destroy
}

TEST_F(EmulatedRuntimeTest, ABrokenContextLetsNoStreamPassAnEvent) {
  for (int round = 0; round < 20; ++round) {  // whichever of the streams learns of it first
    cudaStream_t other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    Gate gate;
    gate.block(stream_);
    ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(other, event_, 0), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, other), cudaSuccess);
    break_context(cudaErrorIllegalAddress);
    EXPECT_THAT(on_device(), Each('\xCD'));
    SetUp();
  }
}

TEST_F(EmulatedRuntimeTest, ABreakingContextEndsADelay) {
  set_copy_delay(1h);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  break_context(cudaErrorLaunchFailure);
  EXPECT_THAT(on_device(), Each('\xCD'));
  SetUp();
}

TEST_F(EmulatedRuntimeTest, ResetThrowsWhatIsLeftAndStartsAfresh) {
  Gate gate;
  gate.block(stream_);
  gate.block(nullptr);
  set_device_count(3);
  fail_next("cudaMalloc", cudaErrorUnknown);
  EXPECT_EQ(cudaSetDevice(9), cudaErrorInvalidDevice);
  const std::string left = "1 stream, 1 busy default stream, 1 event, 1 host allocation, 1 device allocation";
  EXPECT_EQ(leftovers(), left);
  try {
    reset();
    ADD_FAILURE() << "does not say what is left";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(left));
  }
  EXPECT_EQ(leftovers(), "");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(calls("cudaSetDevice"), 0u);
  int devices = 0;
  EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  EXPECT_EQ(devices, 1);
  SetUp();
}

TEST_F(EmulatedRuntimeTest, TheLibraryRegistersItsSlotsHere) {
  {
    dovetail::detail::HostMemoryOptions options;
    options.registration = Registration::required;
    const auto memory = dovetail::detail::HostMemory::make(1 << 16, options);
    ASSERT_TRUE(memory.has_value());
    EXPECT_TRUE(memory->registered());
    EXPECT_THAT(leftovers(), HasSubstr("1 host registration,"));
  }
  EXPECT_EQ(calls("cudaHostRegister"), 1u);
  EXPECT_EQ(calls("cudaHostUnregister"), 1u);
}

}  // namespace
}  // namespace dovetail::test::emulated_cuda
