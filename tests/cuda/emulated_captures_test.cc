// SPDX-License-Identifier: Apache-2.0
// Captures of streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/emulated_fixture.h"
#include "tests/cuda/emulated_runtime.h"

namespace dovetail::test::emulated_cuda {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

cudaStreamCaptureStatus capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  return status;
}

/// Sets the mode of this thread; the one before.
cudaStreamCaptureMode exchange(cudaStreamCaptureMode mode) {
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  return mode;
}

void on_another_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

void count(void* counter) {
  ++*static_cast<std::atomic<int>*>(counter);
}

class EmulatedCaptureTest : public EmulatedRuntimeTest {
 protected:
  struct Call {
    const char* name;
    std::function<cudaError_t()> make;
  };

  /// What no capture in global mode bears, in an order in which all succeed in relaxed mode.
  std::vector<Call> unsafe_calls() {
    return {
        {"cudaEventQuery", [this] { return cudaEventQuery(event_); }},
        {"cudaEventSynchronize", [this] { return cudaEventSynchronize(event_); }},
        {"cudaStreamQuery", [this] { return cudaStreamQuery(stream_); }},
        {"cudaStreamSynchronize", [this] { return cudaStreamSynchronize(stream_); }},
        {"cudaMalloc", [this] { return cudaMalloc(&memory_, kBytes); }},
        {"cudaFree", [this] { return cudaFree(std::exchange(memory_, nullptr)); }},
        {"cudaHostAlloc", [this] { return cudaHostAlloc(&memory_, kBytes, cudaHostAllocDefault); }},
        {"cudaFreeHost", [this] { return cudaFreeHost(std::exchange(memory_, nullptr)); }},
        {"cudaMallocHost", [this] { return cudaMallocHost(&memory_, kBytes); }},
        {"cudaFreeHost", [this] { return cudaFreeHost(std::exchange(memory_, nullptr)); }},
        {"cudaHostRegister", [this] { return cudaHostRegister(pageable_, kBytes, 0); }},
        {"cudaHostUnregister", [this] { return cudaHostUnregister(pageable_); }},
        {"cudaMemcpy", [this] { return cudaMemcpy(device_, pinned_, kBytes, cudaMemcpyDefault); }},
    };
  }

  void SetUp() override {
    EmulatedRuntimeTest::SetUp();
    ASSERT_EQ(cudaStreamCreateWithFlags(&captured_, cudaStreamNonBlocking), cudaSuccess);
  }

  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(captured_), cudaSuccess);
    EmulatedRuntimeTest::TearDown();
  }

  cudaStream_t captured_ = nullptr;
  void* memory_ = nullptr;
  char pageable_[kBytes] = {};
};

TEST_F(EmulatedCaptureTest, AStreamSaysThatItIsCaptured) {
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusNone);
  begin_capture(captured_);
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusActive);
  EXPECT_EQ(capture_of(stream_), cudaStreamCaptureStatusNone);
  on_another_thread([this] { EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusActive); });
  EXPECT_THAT(leftovers(), HasSubstr(", 1 capture"));
  EXPECT_TRUE(end_capture(captured_));
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusNone);
}

TEST_F(EmulatedCaptureTest, TheDefaultStreamIsOutOfUseDuringAGlobalCapture) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  begin_capture(captured_, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(capture_of(nullptr), cudaStreamCaptureStatusNone);
  EXPECT_TRUE(end_capture(captured_));
  begin_capture(captured_, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
  expect_last_error(cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(capture_of(cudaStreamPerThread), cudaStreamCaptureStatusNone);
  EXPECT_TRUE(end_capture(captured_)) << "asking does not invalidate it";
  EXPECT_EQ(capture_of(nullptr), cudaStreamCaptureStatusNone);
}

TEST_F(EmulatedCaptureTest, WhatIsCapturedIsNeverDone) {
  std::atomic<int> ran{0};
  Gate gate;
  gate.block(stream_);
  cudaEvent_t never = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&never, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(never, stream_), cudaSuccess);
  begin_capture(captured_);
  EXPECT_EQ(cudaStreamWaitEvent(captured_, never, 0), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, captured_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(pageable_, device_, kBytes, cudaMemcpyDeviceToHost, captured_), cudaSuccess);
  EXPECT_EQ(cudaLaunchHostFunc(captured_, count, &ran), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyDeviceToHost, captured_), cudaErrorInvalidValue);
  expect_last_error(cudaErrorInvalidValue);
  EXPECT_TRUE(end_capture(captured_));
  EXPECT_EQ(cudaStreamSynchronize(captured_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('\xCD'));
  EXPECT_THAT(pageable_, Each('\0'));
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(cudaLaunchHostFunc(captured_, count, &ran), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(captured_), cudaSuccess);
  EXPECT_EQ(ran, 1) << "not captured any more";
  EXPECT_EQ(cudaEventDestroy(never), cudaSuccess);
}

TEST_F(EmulatedCaptureTest, AStreamGoesOnWithWhatItHadBeforeItsCapture) {
  Gate gate;
  gate.block(captured_);
  ASSERT_EQ(cudaMemcpyAsync(device_, pinned_, kBytes, cudaMemcpyHostToDevice, captured_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event_, captured_), cudaSuccess);
  begin_capture(captured_);
  EXPECT_EQ(exchange(cudaStreamCaptureModeRelaxed), cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  gate.open();
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_THAT(on_device(), Each('a'));
  EXPECT_TRUE(end_capture(captured_));
  exchange(cudaStreamCaptureModeGlobal);
}

TEST_F(EmulatedCaptureTest, UnsafeCallsOfAnyThreadInvalidateGlobalCaptures) {
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  for (const Call& call : unsafe_calls()) {
    SCOPED_TRACE(call.name);
    on_another_thread([&] {
      EXPECT_EQ(call.make(), cudaSuccess);
      EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    });
  }
  std::vector<Call> calls = unsafe_calls();
  calls.push_back({"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }});  // not even in relaxed mode
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    begin_capture(captured_);
    begin_capture(other, cudaStreamCaptureModeRelaxed);
    on_another_thread([&] {
      EXPECT_EQ(call.make(), cudaErrorStreamCaptureUnsupported);
      expect_last_error(cudaErrorStreamCaptureUnsupported);
    });
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error is the other thread's";
    EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(cudaLaunchHostFunc(captured_, count, nullptr), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaEventRecord(event_, captured_), cudaErrorStreamCaptureInvalidated);
    expect_last_error(cudaErrorStreamCaptureInvalidated);
    EXPECT_FALSE(end_capture(captured_));
    EXPECT_TRUE(end_capture(other)) << "one that allows them stays valid";
    EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusNone);
  }
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(EmulatedCaptureTest, AllGlobalCapturesAreInvalidatedAndForbidNothingThen) {
  begin_capture(captured_);
  begin_capture(stream_);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorStreamCaptureUnsupported);
  expect_last_error(cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), cudaErrorStreamCaptureImplicit) << "until they end";
  expect_last_error(cudaErrorStreamCaptureImplicit);
  EXPECT_FALSE(end_capture(captured_));
  EXPECT_FALSE(end_capture(stream_));
}

TEST_F(EmulatedCaptureTest, AThreadLocalModeDoesNotHelpAgainstGlobalCaptures) {
  begin_capture(captured_);
  on_another_thread([this] {
    exchange(cudaStreamCaptureModeThreadLocal);
    EXPECT_EQ(cudaEventQuery(event_), cudaErrorStreamCaptureUnsupported);
  });
  EXPECT_FALSE(end_capture(captured_));
}

TEST_F(EmulatedCaptureTest, UnsafeCallsDoNothingWhereTheyFail) {
  begin_capture(captured_);
  EXPECT_EQ(cudaMemcpy(device_, pinned_, kBytes, cudaMemcpyDefault), cudaErrorStreamCaptureUnsupported);
  expect_last_error(cudaErrorStreamCaptureUnsupported);
  EXPECT_FALSE(end_capture(captured_));
  EXPECT_THAT(on_device(), Each('\xCD'));
}

TEST_F(EmulatedCaptureTest, ARelaxedThreadMakesUnsafeCalls) {
  begin_capture(captured_);
  on_another_thread([this] {
    EXPECT_EQ(exchange(cudaStreamCaptureModeRelaxed), cudaStreamCaptureModeGlobal);
    for (const Call& call : unsafe_calls()) {
      SCOPED_TRACE(call.name);
      EXPECT_EQ(call.make(), cudaSuccess);
    }
    EXPECT_EQ(exchange(cudaStreamCaptureModeThreadLocal), cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(exchange(cudaStreamCaptureModeGlobal), cudaStreamCaptureModeThreadLocal);
  });
  EXPECT_EQ(exchange(cudaStreamCaptureModeGlobal), cudaStreamCaptureModeGlobal) << "of each thread its own";
  EXPECT_TRUE(end_capture(captured_));
}

TEST_F(EmulatedCaptureTest, AThreadLocalCaptureForbidsUnsafeCallsOfItsThreadOnly) {
  begin_capture(captured_, cudaStreamCaptureModeThreadLocal);
  on_another_thread([this] { EXPECT_EQ(cudaEventQuery(event_), cudaSuccess); });
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorStreamCaptureUnsupported);
  expect_last_error(cudaErrorStreamCaptureUnsupported);
  EXPECT_FALSE(end_capture(captured_));
}

TEST_F(EmulatedCaptureTest, AnEventOfACaptureCannotBeAsked) {
  begin_capture(captured_, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaEventRecord(event_, captured_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, event_, 0), cudaErrorCapturedEvent);
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusActive);
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorCapturedEvent);
  EXPECT_EQ(capture_of(captured_), cudaStreamCaptureStatusInvalidated);
  EXPECT_FALSE(end_capture(captured_));
  EXPECT_EQ(cudaEventSynchronize(event_), cudaErrorCapturedEvent) << "also when the capture has ended";
  expect_last_error(cudaErrorCapturedEvent);
  ASSERT_EQ(cudaEventRecord(event_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess) << "recorded elsewhere";
}

TEST_F(EmulatedCaptureTest, ACapturedStreamAndItsDeviceCannotBeAskedInAnyMode) {
  exchange(cudaStreamCaptureModeRelaxed);
  const std::vector<std::function<cudaError_t()>> questions = {
      [this] { return cudaStreamQuery(captured_); },
      [this] { return cudaStreamSynchronize(captured_); },
      [] { return cudaDeviceSynchronize(); },
  };
  for (const auto& ask : questions) {
    begin_capture(captured_, cudaStreamCaptureModeRelaxed);
    EXPECT_EQ(ask(), cudaErrorStreamCaptureUnsupported);
    expect_last_error(cudaErrorStreamCaptureUnsupported);
    EXPECT_FALSE(end_capture(captured_));
    EXPECT_EQ(ask(), cudaSuccess);
  }
  exchange(cudaStreamCaptureModeGlobal);
}

TEST_F(EmulatedCaptureTest, CapturesBeginAndEndOnce) {
  EXPECT_THROW(begin_capture(nullptr), std::invalid_argument);
  EXPECT_THROW(begin_capture(cudaStreamLegacy), std::invalid_argument);
  EXPECT_THROW(end_capture(captured_), std::invalid_argument);
  begin_capture(captured_);
  EXPECT_THROW(begin_capture(captured_), std::invalid_argument);
  on_another_thread([this] { EXPECT_TRUE(end_capture(captured_)); });
  EXPECT_THROW(end_capture(captured_), std::invalid_argument);
  cudaStream_t destroyed = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&destroyed, cudaStreamNonBlocking), cudaSuccess);
  begin_capture(destroyed);
  EXPECT_EQ(cudaStreamDestroy(destroyed), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "the capture is gone";
  EXPECT_THROW(end_capture(destroyed), std::invalid_argument);
}

TEST_F(EmulatedCaptureTest, ABrokenContextInvalidatesCapturesAndResetEndsThem) {
  begin_capture(captured_);
  exchange(cudaStreamCaptureModeRelaxed);
  break_context(cudaErrorIllegalAddress);
  EXPECT_FALSE(end_capture(captured_));
  begin_capture(captured_);
  SetUp();
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(exchange(cudaStreamCaptureModeGlobal), cudaStreamCaptureModeGlobal);
}

TEST_F(EmulatedCaptureTest, TheModeOfAThreadIsCheckedCountedAndMadeToFail) {
  auto mode = static_cast<cudaStreamCaptureMode>(3);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaErrorInvalidValue);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
  expect_last_error(cudaErrorInvalidValue);
  fail_next("cudaThreadExchangeStreamCaptureMode", cudaErrorUnknown);
  mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaErrorUnknown);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  expect_last_error(cudaErrorUnknown);
  EXPECT_EQ(exchange(cudaStreamCaptureModeGlobal), cudaStreamCaptureModeGlobal);
  EXPECT_EQ(calls("cudaThreadExchangeStreamCaptureMode"), 4u);
}

}  // namespace
}  // namespace dovetail::test::emulated_cuda
