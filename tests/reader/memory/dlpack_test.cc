// SPDX-License-Identifier: Apache-2.0
#include <dovetail/dlpack.h>

#include <dlpack/dlpack.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/reader_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/sanitizers.h"

namespace dovetail::test {
namespace {

using Tensor = std::unique_ptr<DLManagedTensor, void (*)(DLManagedTensor*)>;

Tensor own(DLManagedTensor* tensor) {
  return {tensor, [](DLManagedTensor* taken) { taken->deleter(taken); }};
}

Tensor tensor_of(const std::shared_ptr<const Batch>& batch, BatchPart part) {
  return own(to_dlpack(batch, part).value());
}

class DlpackTest : public SampleReaderTest {
 protected:
  std::shared_ptr<const Batch> next() { return std::make_shared<const Batch>(std::move(*reader_.next().value())); }

  BatchReader reader_ = BatchReader::open(dataset(), options(0, 1, 16)).value();
};

TEST_F(DlpackTest, DescribesEachPartWhereItLies) {
  const std::shared_ptr<const Batch> batch = next();
  struct Expected {
    BatchPart part;
    const void* data;
    std::uint8_t code;
    std::uint8_t bits;
    std::int64_t count;
  };
  const Expected parts[] = {
      {BatchPart::values, batch->values().data(), kDLUInt, 8, static_cast<std::int64_t>(batch->values().size())},
      {BatchPart::offsets, batch->offsets().data(), kDLInt, 64, 17},
      {BatchPart::ids, batch->ids().data(), kDLInt, 64, 16},
      {BatchPart::status, batch->status().data(), kDLUInt, 8, 16}};
  for (const Expected& expected : parts) {
    const Tensor tensor = tensor_of(batch, expected.part);
    const DLTensor& seen = tensor->dl_tensor;
    EXPECT_EQ(seen.data, expected.data);
    EXPECT_EQ(seen.device.device_type, kDLCPU);
    EXPECT_EQ(seen.dtype.code, expected.code);
    EXPECT_EQ(seen.dtype.bits, expected.bits);
    EXPECT_EQ(seen.dtype.lanes, 1);
    ASSERT_EQ(seen.ndim, 1);
    EXPECT_EQ(seen.shape[0], expected.count);
    EXPECT_EQ(seen.strides[0], 1);
    EXPECT_EQ(seen.byte_offset, 0u);
  }
}

TEST_F(DlpackTest, RowsOfOneSizeAreATable) {
  TempFolder folder;
  const SampleShape shape{.shard_records = {64}, .min_bytes = 24, .max_bytes = 24};
  const Dataset even = make_sample(folder.path("even"), shape);
  BatchReader reader = BatchReader::open(even, options(0, 1, 8)).value();
  const auto batch = std::make_shared<const Batch>(std::move(*reader.next().value()));
  const Tensor rows = tensor_of(batch, BatchPart::rows);
  ASSERT_EQ(rows->dl_tensor.ndim, 2);
  EXPECT_EQ(rows->dl_tensor.shape[0], 8);
  EXPECT_EQ(rows->dl_tensor.shape[1], 24);
  EXPECT_EQ(rows->dl_tensor.strides[0], 24);
  EXPECT_EQ(rows->dl_tensor.strides[1], 1);
  EXPECT_EQ(std::memcmp(static_cast<const std::byte*>(rows->dl_tensor.data) + 3 * 24, batch->row(3).data(), 24), 0);
}

TEST_F(DlpackTest, RowsOfDifferentSizesAreNone) {
  const Result<DLManagedTensor*> rows = to_dlpack(next(), BatchPart::rows);
  ASSERT_THAT(rows, Fails(Errc::invalid_option));
}

TEST_F(DlpackTest, TheSlotIsFreeWithTheLastTensor) {
  std::shared_ptr<const Batch> batch = next();
  const std::weak_ptr<const Batch> alive = batch;
  Tensor values = tensor_of(batch, BatchPart::values);
  Tensor ids = tensor_of(batch, BatchPart::ids);
  const std::uint64_t first = batch->ids()[0];
  batch.reset();
  values.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(static_cast<const std::uint64_t*>(ids->dl_tensor.data)[0], first);
  ids.reset();
  EXPECT_TRUE(alive.expired());
}

TEST_F(DlpackTest, TensorsOutliveTheReader) {
  std::shared_ptr<const Batch> batch = next();
  const std::vector<std::uint64_t> expected(batch->ids().begin(), batch->ids().end());
  const Tensor ids = tensor_of(batch, BatchPart::ids);
  batch.reset();
  { const BatchReader gone = std::move(reader_); }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), static_cast<const std::uint64_t*>(ids->dl_tensor.data)));
  reader_ = BatchReader::open(dataset(), options(0, 1, 16)).value();
}

TEST_F(DlpackTest, ReleasedBatchesAndNoneAreRefused) {
  auto batch = std::make_shared<Batch>(std::move(*reader_.next().value()));
  batch->release();
  EXPECT_THAT(to_dlpack(std::shared_ptr<const Batch>(batch), BatchPart::values), Fails(Errc::invalid_option));
  EXPECT_THAT(to_dlpack(std::shared_ptr<const Batch>(), BatchPart::values), Fails(Errc::invalid_option));
  EXPECT_THAT(to_dlpack(std::shared_ptr<DeviceBatch>(), BatchPart::ids, {}), Fails(Errc::invalid_option));
}

TEST_F(DlpackTest, ATensorThatGoesInAForkedChildLeavesTheSlotToTheParent) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not follow a process with threads into a fork";
  const auto batch = std::make_shared<Batch>(std::move(*reader_.next().value()));
  Tensor tensor = tensor_of(batch, BatchPart::ids);
  batch->release();  // so that the tensor alone keeps the bytes
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    tensor.reset();
    ::_exit(42);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  tensor.reset();
  EXPECT_TRUE(reader_.next().value().has_value());
}

}  // namespace
}  // namespace dovetail::test
