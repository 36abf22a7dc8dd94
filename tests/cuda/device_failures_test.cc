// SPDX-License-Identifier: Apache-2.0
// What goes wrong with a device: only the emulated one fails on demand.

#include <sys/mman.h>

#include <dlpack/dlpack.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>
#include <dovetail/dlpack.h>

#include "reader/memory/host_memory.h"
#include "reader/memory/slot_ring.h"
#include "tests/cuda/device_fixture.h"
#include "tests/reader/memory/batch_of.h"
#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using detail::HostMemory;
using emulated_cuda::calls;
using emulated_cuda::fail_next;

constexpr int kBeforeStreamsTellTheirDevice = 12020;

class DeviceFailuresTest : public DeviceTest {};

TEST_F(DeviceFailuresTest, RefusedRegistrationFallsBackOrFails) {
  for (const Registration mode : {Registration::preferred, Registration::required}) {
    fail_next("cudaHostRegister", cudaErrorMemoryAllocation);
    const Result<HostMemory> memory = HostMemory::make(1 << 20, {.registration = mode, .provider = {}});
    if (mode == Registration::required) {
      EXPECT_THAT(memory, Fails(Errc::registration_failed).saying("cudaErrorMemoryAllocation"));
    } else {
      EXPECT_FALSE(memory->registered());
      EXPECT_NE(memory->note().find("cudaErrorMemoryAllocation"), std::string::npos);
    }
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

TEST_F(DeviceFailuresTest, SwitchedOffMakesNoCallAtAll) {
  const auto all = [] { return calls("cudaGetDeviceCount") + calls("cudaGetDevice") + calls("cudaHostRegister"); };
  const std::uint64_t before = all();
  const HostMemory memory = HostMemory::make(1 << 20, {.registration = Registration::off, .provider = {}}).value();
  EXPECT_EQ(all(), before);
}

TEST_F(DeviceFailuresTest, MemoryIsLeftWhereUnregisteringFails) {
  std::byte* begin = nullptr;
  {
    const HostMemory memory = HostMemory::make(4096, {.registration = Registration::required, .provider = {}}).value();
    begin = memory.bytes().data();
    fail_next("cudaHostUnregister", cudaErrorCudartUnloading);
  }
  *begin = std::byte{1};  // still mapped
  EXPECT_EQ(cudaHostUnregister(begin), cudaSuccess);
  ::munmap(begin, 4096);
}

TEST_F(DeviceFailuresTest, NamesTheDevicesThatThereAre) {
  emulated_cuda::set_device_count(2);
  ReaderOptions wanted = options();
  wanted.device = 2;
  const Result<BatchReader> reader = BatchReader::open(dataset(), wanted);
  ASSERT_THAT(reader, Fails().saying("no CUDA device 2; this process sees 2"));
  wanted.device = 1;
  EXPECT_TRUE(BatchReader::open(dataset(), wanted).value().registered());
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0) << "the caller's device stays current";
  wanted.device = -2;
  EXPECT_THAT(BatchReader::open(dataset(), wanted), Fails(Errc::invalid_option));
}

TEST_F(DeviceFailuresTest, NoDeviceIsSaidOnceWhereOneIsNamed) {
  emulated_cuda::set_device_count(0);
  ReaderOptions preferred = options();
  preferred.registration = Registration::preferred;
  std::vector<std::string> lines;
  preferred.log = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_FALSE(BatchReader::open(dataset(), preferred).value().registered());
  EXPECT_TRUE(lines.empty()) << lines[0];
  preferred.device = 0;
  BatchReader reader = BatchReader::open(dataset(), preferred).value();
  EXPECT_FALSE(reader.registered());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("cudaErrorNoDevice"), std::string::npos) << lines[0];
  EXPECT_THAT(DeviceReader::open(std::move(reader), {}), Fails(Errc::device_failed));
  EXPECT_THAT(BatchReader::open(dataset(), options()), Fails(Errc::registration_failed));
  emulated_cuda::set_device_count(1);  // for the stream
}

TEST_F(DeviceFailuresTest, AReleaseThatFailsKeepsTheBatch) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  Batch batch = std::move(*reader.next().value());
  const std::vector<std::byte> expected = copy_of(batch.slab());
  for (const char* const function :
       {"cudaStreamIsCapturing", "cudaGetDevice", "cudaEventCreateWithFlags", "cudaEventRecord"}) {
    fail_next(function, cudaErrorLaunchFailure);
    EXPECT_THAT(batch.release(stream()), Fails(Errc::device_failed).saying(function).saying("cudaErrorLaunchFailure"))
        << function;
    EXPECT_EQ(batch.rows(), 64u);
    EXPECT_EQ(copy_of(batch.slab()), expected);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
  EXPECT_TRUE(batch.release(stream()).has_value());
}

TEST_F(DeviceFailuresTest, AFailureOfTheCallersStaysPending) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  Batch batch = std::move(*reader.next().value());
  EXPECT_EQ(cudaSetDevice(100), cudaErrorInvalidDevice);
  EXPECT_TRUE(batch.release(stream()).has_value());
  DeviceReader on_device = DeviceReader::open(std::move(reader), {}).value();
  std::optional<DeviceBatch> copied = on_device.next().value();
  EXPECT_TRUE(copied->wait_on(stream()).has_value());
  EXPECT_TRUE(eventually([&] { return copied->ready(); }));
  copied.reset();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(DeviceFailuresTest, AnEventThatCannotBeAskedHasNotPassed) {
  using detail::SlotLease;
  const std::shared_ptr<detail::SlotRing> ring =
      detail::SlotRing::make(1, 4096, {.registration = Registration::required, .provider = {}}).value();
  Batch batch = batch_of(ring->acquire());
  Hold hold(stream_);
  ASSERT_TRUE(batch.release(stream()).has_value());
  for (const cudaError_t failure :
       {cudaErrorStreamCaptureUnsupported, cudaErrorInvalidResourceHandle, cudaErrorNotPermitted, cudaErrorUnknown}) {
    const std::uint64_t asked = calls("cudaEventQuery");
    fail_next("cudaEventQuery", failure);
    EXPECT_TRUE(eventually([&] { return calls("cudaEventQuery") > asked + 2; }));
    EXPECT_FALSE(ring->has_free()) << cudaGetErrorName(failure);
  }
  hold.let_go();
  EXPECT_TRUE(eventually([&] { return ring->has_free(); }));
}

TEST_F(DeviceFailuresTest, RepeatedBatchesKeepFewEvents) {
  ReaderOptions repeated = options();
  repeated.replay = 3;
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), repeated).value(), {}).value();
  for (int step = 0; step < 600; ++step) {
    std::optional<DeviceBatch> batch = reader.next().value();
    ASSERT_TRUE(batch->wait_on(stream()).has_value());
    ASSERT_TRUE(eventually([&] { return batch->ready(); })) << "else copies queue up without end";
  }
  EXPECT_LT(calls("cudaEventCreateWithFlags"), 100u);
  reader.stop();
}

TEST_F(DeviceFailuresTest, ABatchThatIsHeldElsewhereOnlyDelaysTheStage) {
  ReaderOptions one = options();
  one.max_held = 1;
  BatchReader host = BatchReader::open(dataset(), one).value();
  std::optional<Batch> held = host.next().value();
  DeviceReader reader = DeviceReader::open(std::move(host), {}).value();
  auto next = std::async(std::launch::async, [&] { return reader.next().value()->step(); });
  EXPECT_EQ(next.wait_for(kAMoment), std::future_status::timeout);
  held.reset();
  EXPECT_EQ(next.get(), 1u);
}

TEST_F(DeviceFailuresTest, OpeningThatFailsLeavesTheReader) {
  BatchReader host = BatchReader::open(dataset(), options()).value();
  fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_FALSE(DeviceReader::open(std::move(host), {}).has_value());
  EXPECT_EQ(host.next().value()->step(), 0u);  // NOLINT(bugprone-use-after-move): that is the claim
}

TEST_F(DeviceFailuresTest, StreamsThatABatchCannotWaitOnAreRefused) {
  for (const int driver : {CUDART_VERSION, kBeforeStreamsTellTheirDevice}) {
    SCOPED_TRACE(driver);
    emulated_cuda::set_driver_version(driver);
    emulated_cuda::set_device_count(2);
    DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options()).value(), {}).value();
    DeviceBatch batch = std::move(*reader.next().value());
    EXPECT_THAT(batch.wait_on(DeviceStream{cudaStreamPerThread}), Fails(Errc::invalid_option));
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    cudaStream_t other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_THAT(batch.wait_on(DeviceStream{other}), Fails(Errc::invalid_option).saying("device 1"));
    ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
    EXPECT_TRUE(batch.wait_on(DeviceStream{}).has_value()) << "the default stream is that of the batch's device";
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_TRUE(batch.wait_on(stream()).has_value());
  }
}

TEST_F(DeviceFailuresTest, AStreamWhoseDeviceNobodyTellsIsNotWaitedOn) {
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options()).value(), {}).value();
  DeviceBatch batch = std::move(*reader.next().value());
  emulated_cuda::set_driver_version(kBeforeStreamsTellTheirDevice);
  for (const char* const function :
       {"cudaGetDriverEntryPoint", "cuStreamGetCtx", "cuCtxPushCurrent", "cuCtxGetDevice"}) {
    const std::uint64_t waits = calls("cudaStreamWaitEvent");
    fail_next(function, cudaErrorNotSupported);
    EXPECT_THAT(batch.wait_on(stream()), Fails(Errc::device_failed).saying(function).saying("cudaErrorNotSupported"))
        << function;
    EXPECT_EQ(calls("cudaStreamWaitEvent"), waits);
    EXPECT_EQ(calls("cuCtxPopCurrent"), calls("cuCtxGetDevice")) << "what is pushed is popped";
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
  EXPECT_TRUE(batch.wait_on(stream()).has_value());
}

TEST_F(DeviceFailuresTest, TheDefaultStreamIsThatOfTheSlotsDevice) {
  emulated_cuda::set_device_count(2);
  ReaderOptions of_second = options();
  of_second.device = 1;
  BatchReader reader = BatchReader::open(dataset(), of_second).value();
  Batch batch = std::move(*reader.next().value());
  EXPECT_THAT(batch.release(DeviceStream{}), Fails(Errc::invalid_option)) << "device 0 is current";
  EXPECT_EQ(batch.rows(), 64u);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_TRUE(batch.release(DeviceStream{}).has_value());
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(DeviceFailuresTest, ASlotThatCannotBeReleasedWaitsForTheCopies) {
  for (const bool known : {true, false}) {
    DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options()).value(), {}).value();
    // The calls of a copy: its own event, then that of the slot.
    std::optional<DeviceBatch> first = reader.next().value();
    EXPECT_TRUE(eventually([&] { return reader.stats().batches == 3; }));
    fail_next("cudaEventRecord", cudaErrorLaunchFailure);
    if (!known) fail_next("cudaStreamSynchronize", cudaErrorLaunchFailure);
    first.reset();
    Result<std::optional<DeviceBatch>> next = reader.next();
    while (next.has_value() && next->has_value()) next = reader.next();
    EXPECT_THAT(next, Fails(Errc::device_failed));
  }
  if (emulated_cuda::leftovers().empty()) GTEST_FAIL() << "the slots of which nobody knows stay";
  emulated_cuda::break_context(cudaErrorIllegalAddress);  // nothing is left then
  emulated_cuda::reset();
  stream_ = nullptr;
}

TEST_F(DeviceFailuresTest, ATensorKeepsTheBytesOfAReleasedBatch) {
  DeviceReader reader =
      DeviceReader::open(BatchReader::open(dataset(), options(20)).value(), {.prefetch = 1, .max_held = 2}).value();
  auto batch = std::make_shared<DeviceBatch>(std::move(*reader.next().value()));
  DLManagedTensor* const tensor = to_dlpack(batch, BatchPart::ids, stream()).value();
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  const auto* const ids = static_cast<const std::uint64_t*>(tensor->dl_tensor.data);  // plain memory here
  const std::vector<std::uint64_t> expected(ids, ids + 64);
  batch->release();
  for (int step = 0; step < 10; ++step) {
    std::optional<DeviceBatch> next = reader.next().value();
    if (!next.has_value()) next = reader.next().value();
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), ids));
  tensor->deleter(tensor);
}

TEST_F(DeviceFailuresTest, AReaderGoesOnAfterTheDeviceHasFailed) {
  // The last two have names since CUDA 13 only.
  for (const cudaError_t failure :
       {cudaErrorIllegalAddress, static_cast<cudaError_t>(226), static_cast<cudaError_t>(721)}) {
    SCOPED_TRACE(failure);
    if (stream_ == nullptr) {
      emulated_cuda::reset();
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    }
    BatchReader reader = BatchReader::open(dataset(), options()).value();
    emulated_cuda::Gate gate;
    gate.block(stream_);
    for (std::uint32_t slot = 0; slot < reader.stats().slots; ++slot) {
      ASSERT_TRUE(reader.next().value()->release(stream()).has_value());
    }
    emulated_cuda::break_context(failure);
    stream_ = nullptr;  // gone with its device
    std::uint64_t left = reader.steps(0).value() - reader.stats().slots;
    while (reader.next().value().has_value()) --left;
    EXPECT_EQ(left, 0u);
  }
}

TEST_F(DeviceFailuresTest, AFailureOfTheDeviceEndsADeviceReader) {
  for (const char* const function :
       {"cudaMemcpyAsync", "cudaEventRecord", "cudaEventCreateWithFlags", "cudaSetDevice"}) {
    BatchReader reader = BatchReader::open(dataset(), options()).value();
    fail_next(function, cudaErrorLaunchFailure);
    DeviceReader on_device = DeviceReader::open(std::move(reader), {}).value();
    Result<std::optional<DeviceBatch>> next = on_device.next();
    while (next.has_value() && next->has_value()) next = on_device.next();
    ASSERT_THAT(next, Fails(Errc::device_failed).saying("cudaErrorLaunchFailure")) << function;
    EXPECT_EQ(on_device.error()->to_string(), next.error().to_string());
    EXPECT_THAT(on_device.next(), Fails(Errc::device_failed)) << "again";
  }
}

TEST_F(DeviceFailuresTest, OpeningFailsWithoutLeavingAnything) {
  for (const char* const function :
       {"cudaGetDeviceCount", "cudaGetDevice", "cudaStreamCreateWithFlags", "cudaMalloc"}) {
    BatchReader reader = BatchReader::open(dataset(), options()).value();
    fail_next(function, cudaErrorMemoryAllocation);
    EXPECT_THAT(DeviceReader::open(std::move(reader), {}), Fails(Errc::device_failed).saying(function)) << function;
  }
}

TEST_F(DeviceFailuresTest, NothingIsMadeOrWaitedForPerBatch) {
  const char* const functions[] = {"cudaHostRegister",
                                   "cudaHostAlloc",
                                   "cudaMallocHost",
                                   "cudaMalloc",
                                   "cudaFree",
                                   "cudaMemcpy",
                                   "cudaDeviceSynchronize",
                                   "cudaStreamSynchronize",
                                   "cudaEventSynchronize",
                                   "cudaEventCreateWithFlags",
                                   "cudaEventDestroy",
                                   "cudaStreamCreateWithFlags"};
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), options(40)).value(), {}).value();
  const auto read_epochs = [&](int epochs) {
    while (epochs > 0) {
      std::optional<DeviceBatch> batch = reader.next().value();
      if (!batch.has_value()) {
        --epochs;
        continue;
      }
      ASSERT_TRUE(batch->wait_on(stream()).has_value());
    }
  };
  read_epochs(20);
  std::vector<std::uint64_t> before;
  for (const char* const function : functions) before.push_back(calls(function));
  const std::uint64_t copies = calls("cudaMemcpyAsync");
  read_epochs(10);
  for (std::size_t i = 0; i < before.size(); ++i) {
    // Events come into being as they are needed, a handful more than are ever in use at a time.
    const std::uint64_t allowed = std::string_view(functions[i]) == "cudaEventCreateWithFlags" ? 8 : 0;
    EXPECT_LE(calls(functions[i]) - before[i], allowed) << functions[i];
  }
  const std::uint64_t steps = reader.plan().steps(0).value();
  EXPECT_GE(calls("cudaMemcpyAsync") - copies, 10 * steps - 4);
  EXPECT_LE(calls("cudaMemcpyAsync") - copies, 10 * steps + 4) << "one copy per batch";
  reader.stop();
}

}  // namespace
}  // namespace dovetail::test
