// SPDX-License-Identifier: Apache-2.0
// The code of docs/gpu.md, which repeats it.
#include <gtest/gtest.h>

#include <utility>

#include <dovetail/batch_reader.h>
#include <dovetail/device_reader.h>

#include "tests/cuda/device_fixture.h"

// [copy]
std::uint64_t copy_batches(dovetail::BatchReader& reader, std::byte* on_device, cudaStream_t stream) {
  std::uint64_t batches = 0;
  for (dovetail::Batch& batch : reader.epoch()) {
    const dovetail::ByteView slab = batch.slab();
    if (cudaMemcpyAsync(on_device, slab.data(), slab.size(), cudaMemcpyHostToDevice, stream) != cudaSuccess) break;
    // Kernels in the same stream follow here.
    if (!batch.release(dovetail::DeviceStream{stream})) cudaStreamSynchronize(stream);  // it is still ours
    ++batches;
  }
  return batches;
}
// [copy]

// [device]
std::uint64_t train_on_device(dovetail::BatchReader reader, cudaStream_t stream) {
  auto batches = dovetail::DeviceReader::open(std::move(reader), {.prefetch = 2, .max_held = 2}).value();
  std::uint64_t rows = 0;
  while (auto batch = batches.next().value()) {              // empty at the end of the epoch
    batch->wait_on(dovetail::DeviceStream{stream}).value();  // the stream waits for the copy, not this thread
    // Kernels on `stream` that read batch->values(), batch->offsets(), batch->ids(), batch->status() follow here.
    rows += batch->valid();
  }  // the slab is filled again after what is in the stream now
  return rows;
}
// [device]

namespace dovetail::test {
namespace {

class GpuDocTest : public DeviceTest {};

TEST_F(GpuDocTest, CopyBatches) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  const DeviceBytes on_device(reader.slab_bytes());
  EXPECT_EQ(copy_batches(reader, on_device.data(), stream_), reader.steps(0).value());
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
}

TEST_F(GpuDocTest, TrainOnDevice) {
  BatchReader reader = BatchReader::open(dataset(), options()).value();
  const std::uint64_t steps = reader.steps(0).value();
  EXPECT_EQ(train_on_device(std::move(reader), stream_), steps * options().plan.batch);
}

}  // namespace
}  // namespace dovetail::test
