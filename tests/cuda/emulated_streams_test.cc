// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/emulated_fixture.h"
#include "tests/cuda/emulated_runtime.h"

namespace dovetail::test::emulated_cuda {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;

/// Overwrites bytes that a stream has still to read, which is the error that the thread sanitizer
/// is there to find.
__attribute__((no_sanitize("thread"))) void overwrite_unseen(volatile char* bytes, char value) {
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = value;
}

TEST_F(EmulatedRuntimeTest, AStreamDoesItsWorkInOrderAndInItsOwnTime) {
  std::vector<int> order;
  struct Note {
    std::vector<int>* order;
    int number;
  };
  std::array<Note, 100> notes;
  Gate gate;
  gate.block(stream_);
  for (int i = 0; i < 100; ++i) {
    notes[static_cast<std::size_t>(i)] = {&order, i};
    const auto note = [](void* data) {
      const Note& it = *static_cast<Note*>(data);
      it.order->push_back(it.number);
    };
    ASSERT_EQ(cudaLaunchHostFunc(stream_, note, &notes[static_cast<std::size_t>(i)]), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "not ready is no error";
  EXPECT_TRUE(order.empty());
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaSuccess);
  EXPECT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(EmulatedRuntimeTest, HostFunctionsMustNotCallCuda) {
  cudaError_t status = cudaSuccess;
  const auto call = [](void* data) {
    int device = 0;
    *static_cast<cudaError_t*>(data) = cudaGetDevice(&device);
  };
  ASSERT_EQ(cudaLaunchHostFunc(stream_, call, &status), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(status, cudaErrorNotPermitted);
}

TEST_F(EmulatedRuntimeTest, ACopyReadsItsSourceWhenItsTurnHasCome) {
  Gate gate;
  gate.block(stream_);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('\xCD'));
  std::fill_n(pinned_, kBytes, 'b');  // too early
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('b'));
}

TEST_F(EmulatedRuntimeTest, ADelayedCopyReadsItsSourceAfterTheDelay) {
  set_copy_delay(200ms);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyDefault, stream_), cudaSuccess);
  overwrite_unseen(pinned_, 'b');
  ASSERT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
  EXPECT_THAT(on_device(), Each('b'));
}

TEST_F(EmulatedRuntimeTest, PageableBytesAreTakenAtTheCall) {
  std::string pageable(kBytes, 'p');
  Gate gate;
  gate.block(stream_);
  ASSERT_EQ(cudaMemcpyAsync(device_, pageable.data(), kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  std::fill(pageable.begin(), pageable.end(), 'q');
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('p'));
}

TEST_F(EmulatedRuntimeTest, CopiesThatEndInPageableMemoryReturnOnceTheBytesAreThere) {
  std::string pageable(kBytes, 'p');
  set_copy_delay(20ms);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pageable.data(), device_, kBytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_THAT(pageable, Each('a'));
  std::fill_n(pinned_, kBytes, 'b');
  ASSERT_EQ(cudaMemcpyAsync(pageable.data(), pinned_, kBytes, cudaMemcpyHostToHost, stream_), cudaSuccess);
  EXPECT_THAT(pageable, Each('b'));
}

TEST_F(EmulatedRuntimeTest, SynchronousCopiesGoEachWay) {
  std::string pageable(kBytes, 'p');
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, kBytes), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device_, pageable.data(), kBytes, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(other, device_, kBytes, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(pinned_, other, kBytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_THAT(std::string(pinned_, kBytes), Each('p'));
  EXPECT_EQ(cudaFree(other), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, CopiesHaveToFitTheirMemory) {
  std::string pageable(2 * kBytes, 'p');
  const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, stream_);
    EXPECT_EQ(cudaGetLastError(), status);
    return status;
  };
  EXPECT_EQ(copy(device_, pageable.data(), kBytes + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device_ + 1, pinned_, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device_, pinned_ + 1, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(pageable.data(), pinned_, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device_, pinned_, kBytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(nullptr, pinned_, kBytes, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device_, pinned_, kBytes, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  ASSERT_EQ(cudaHostRegister(pageable.data(), kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(copy(device_, pageable.data() + kBytes / 2, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  ASSERT_EQ(cudaHostUnregister(pageable.data()), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, AnEventStandsForAllWorkBeforeIt) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "never recorded";
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  Gate first;
  Gate second;
  first.block(stream_);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  second.block(stream_);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  first.open();
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('a'));
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady) << "work after the event";
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady) << "recorded again";
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, AStreamWaitsForWhatAnEventStoodForAtTheCall) {
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  Gate first;
  Gate second;
  first.block(stream_);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, event_, 0), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, other), cudaSuccess);
  second.block(stream_);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);  // does not matter to the other stream
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  EXPECT_THAT(on_device(), Each('\xCD'));
  first.open();
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_THAT(on_device(), Each('a'));
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, AnEventIsDestroyedWhileStreamsWaitForIt) {
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  Gate gate;
  gate.block(stream_);
  ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
  expect_last_error(cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, DestroyingAStreamNeitherWaitsForItsWorkNorDropsIt) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  Gate gate;
  gate.block(stream);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
  expect_last_error(cudaErrorInvalidResourceHandle);
  EXPECT_THAT(leftovers(), ::testing::HasSubstr("1 busy destroyed stream"));
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('a'));
}

TEST_F(EmulatedRuntimeTest, FreeingWaitsForTheDevice) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
  Gate gate;
  gate.block(stream_);
  std::future<cudaError_t> freed = std::async(std::launch::async, [&] { return cudaFree(memory); });
  EXPECT_EQ(freed.wait_for(20ms), std::future_status::timeout);
  gate.open();
  EXPECT_EQ(freed.get(), cudaSuccess);
}

TEST_F(EmulatedRuntimeTest, ManyThreadsUseManyStreams) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        cudaStream_t stream = nullptr;
        cudaEvent_t event = nullptr;
        void* target = nullptr;
        std::vector<char> source(kBytes, static_cast<char>(round));
        std::vector<char> back(kBytes);
        ASSERT_EQ(cudaHostRegister(source.data(), kBytes, 0), cudaSuccess);
        ASSERT_EQ(cudaMalloc(&target, kBytes), cudaSuccess);
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(target, source.data(), kBytes, cudaMemcpyDefault, stream), cudaSuccess);
        ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamWaitEvent(nullptr, event, 0), cudaSuccess);
        ASSERT_EQ(cudaMemcpyAsync(back.data(), target, kBytes, cudaMemcpyDefault, nullptr), cudaSuccess);
        EXPECT_EQ(back, source);
        ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
        ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
        ASSERT_EQ(cudaHostUnregister(source.data()), cudaSuccess);
        ASSERT_EQ(cudaFree(target), cudaSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dovetail::test::emulated_cuda
