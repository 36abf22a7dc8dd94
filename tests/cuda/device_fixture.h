// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <dovetail/batch_reader.h>
#include <dovetail/bytes.h>
#include <dovetail/device_stream.h>

#include "tests/reader/delivery/sample_dataset.h"

#ifdef DOVETAIL_EMULATED_CUDA
#include "tests/cuda/emulated_runtime.h"
#endif

/// Tests of what happens on a device. They are built twice: for a device, and for the emulated one.
namespace dovetail::test {

/// Work that keeps a stream from going on until it is let go.
class Hold {
 public:
  explicit Hold(cudaStream_t stream) {
    auto* const shared = new std::shared_ptr<std::atomic<bool>>(let_go_);
    EXPECT_EQ(cudaLaunchHostFunc(stream, &Hold::wait, shared), cudaSuccess);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { let_go(); }

  void let_go() {
    let_go_->store(true);
    let_go_->notify_all();
  }

 private:
  static void CUDART_CB wait(void* shared) {
    const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> let_go(
        static_cast<std::shared_ptr<std::atomic<bool>>*>(shared));
    (*let_go)->wait(false);
  }

  const std::shared_ptr<std::atomic<bool>> let_go_ = std::make_shared<std::atomic<bool>>(false);
};

/// Memory of the current device.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) { EXPECT_EQ(cudaMalloc(&begin_, bytes), cudaSuccess); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { EXPECT_EQ(cudaFree(begin_), cudaSuccess); }

  std::byte* data() const { return static_cast<std::byte*>(begin_); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(bytes_);
    EXPECT_EQ(cudaMemcpy(bytes.data(), begin_, bytes_, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes;
  }

 private:
  void* begin_ = nullptr;
  std::size_t bytes_;
};

inline std::vector<std::byte> copy_of(ByteView bytes) {
  return {bytes.begin(), bytes.end()};
}

/// A copied slab without what lies between its parts, which is what the slot had before.
inline std::vector<std::byte> parts_of(std::vector<std::byte> slab, std::uint32_t rows) {
  const SlabLayout layout = SlabLayout::for_rows(rows);
  const auto clear = [&](std::size_t begin, std::size_t end) {
    std::fill(slab.begin() + static_cast<std::ptrdiff_t>(begin), slab.begin() + static_cast<std::ptrdiff_t>(end),
              std::byte{0});
  };
  clear((rows + 1) * sizeof(std::int64_t), layout.ids);
  clear(layout.ids + rows * sizeof(std::uint64_t), layout.status);
  clear(layout.status + rows, layout.values);
  return slab;
}
inline std::vector<std::byte> parts_of(const Batch& batch) {
  return parts_of(copy_of(batch.slab()), batch.rows());
}

/// Whether it comes true in a time that is ample.
inline bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// Long enough for what must not happen to happen.
inline constexpr std::chrono::milliseconds kAMoment{50};

/// A dataset whose batches of 64 take a slot each, and a stream.
class DeviceTest : public ::testing::Test {
 public:
  static inline const SampleShape kShape{
      .shard_records = {600, 0, 430}, .min_bytes = 3000, .max_bytes = 6000, .block_bytes = 16384};

 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder();
    dataset_ = new Dataset(make_sample(folder_->path("data"), kShape));
  }
  static void TearDownTestSuite() {
    delete dataset_;
    delete folder_;
  }
  void SetUp() override {
#ifdef DOVETAIL_EMULATED_CUDA
    emulated_cuda::reset();
#endif
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    cudaGetLastError();
    if (status != cudaSuccess || devices == 0) GTEST_SKIP() << "no CUDA device: " << cudaGetErrorName(status);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a failure that was handled must not be left pending";
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
#ifdef DOVETAIL_EMULATED_CUDA
    EXPECT_TRUE(eventually([] { return emulated_cuda::leftovers().empty(); })) << emulated_cuda::leftovers();
#endif
  }

  static const Dataset& dataset() {
    return *dataset_;
  }
  static ReaderOptions options(std::uint32_t epochs = 1) {
    return {
        .plan = {.batch = 64, .open_runs = 4, .pool = 32}, .epochs = epochs, .registration = Registration::required};
  }
  DeviceStream stream() const {
    return {stream_};
  }

  cudaStream_t stream_ = nullptr;

 private:
  static inline TempFolder* folder_ = nullptr;
  static inline Dataset* dataset_ = nullptr;
};

}  // namespace dovetail::test
