// SPDX-License-Identifier: Apache-2.0
#include <dovetail/device_reader.h>

#include <dlpack/dlpack.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <dovetail/dataset_writer.h>
#include <dovetail/dlpack.h>

#include "format/example/example_encoder.h"
#include "tests/cuda/device_fixture.h"
#include "tests/support/fails.h"
#include "tests/support/files.h"
#include "tests/support/starved_executor.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

namespace asio = boost::asio;

class DeviceReaderTest : public DeviceTest {
 protected:
  static BatchReader host(std::uint32_t epochs = 1) { return BatchReader::open(dataset(), options(epochs)).value(); }
  static DeviceReader open(std::uint32_t epochs = 1, const DeviceOptions& device = {}) {
    return DeviceReader::open(host(epochs), device).value();
  }

  /// The slab as the device has it once the copy has ended.
  std::vector<std::byte> read(DeviceBatch& batch) {
    EXPECT_TRUE(batch.wait_on(stream()).has_value());
    std::vector<std::byte> bytes(batch.slab_bytes());
    EXPECT_EQ(cudaMemcpyAsync(bytes.data(), batch.slab(), bytes.size(), cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return parts_of(std::move(bytes), batch.rows());
  }
};

TEST_F(DeviceReaderTest, DeliversWhatTheHostReaderDoes) {
  BatchReader expected = host(2);
  DeviceReader reader = open(2);
  EXPECT_EQ(reader.state().to_text(), expected.state().to_text());
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (;;) {
      const std::optional<Batch> wanted = expected.next().value();
      std::optional<DeviceBatch> batch = reader.next().value();
      ASSERT_EQ(batch.has_value(), wanted.has_value());
      EXPECT_EQ(reader.state().to_text(), expected.state().to_text());
      if (!wanted.has_value()) break;
      EXPECT_EQ(batch->epoch(), wanted->epoch());
      EXPECT_EQ(batch->step(), wanted->step());
      EXPECT_EQ(batch->rows(), wanted->rows());
      EXPECT_EQ(batch->valid(), wanted->valid());
      EXPECT_EQ(batch->value_bytes(), wanted->values().size());
      EXPECT_EQ(batch->row_bytes(), 0u);
      EXPECT_EQ(batch->state().to_text(), wanted->state().to_text());
      EXPECT_EQ(batch->position_after(), wanted->position_after());
      const SlabLayout layout = wanted->layout();
      const std::byte* const slab = batch->slab();
      EXPECT_EQ(reinterpret_cast<const std::byte*>(batch->offsets()), slab + layout.offsets);
      EXPECT_EQ(reinterpret_cast<const std::byte*>(batch->ids()), slab + layout.ids);
      EXPECT_EQ(reinterpret_cast<const std::byte*>(batch->status()), slab + layout.status);
      EXPECT_EQ(batch->values(), slab + layout.values);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab) % SlabLayout::kAlignment, 0u);
      ASSERT_EQ(read(*batch), parts_of(*wanted)) << "step " << wanted->step();
      EXPECT_TRUE(batch->ready());
    }
  }
  EXPECT_FALSE(reader.next().value().has_value()) << "after the last epoch comes the end, for ever";
  EXPECT_EQ(reader.stats().batches, 2 * reader.plan().steps(0).value());
  EXPECT_EQ(reader.reader_stats().batches, reader.stats().batches);
}

TEST_F(DeviceReaderTest, KeepsTheFileOfMetrics) {
  const TempFolder folder;
  ReaderOptions asked = options(1);
  asked.metrics = folder.path("reader.prom");
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), asked).value(), {}).value();
  while (reader.next().value().has_value()) continue;
  const std::string batches =
      "_batches_total{rank=\"0\",world=\"1\"} " + std::to_string(reader.plan().steps(0).value()) + '\n';
  for (const bool stopped : {false, true}) {
    if (stopped) reader.stop();
    std::ostringstream text;
    text << std::ifstream(asked.metrics).rdbuf();
    EXPECT_NE(text.str().find(batches), std::string::npos) << text.str();
  }
}

TEST_F(DeviceReaderTest, ASlabIsFilledAgainOnlyAfterItsUsers) {
  BatchReader expected = host(4);
  DeviceReader reader = open(4, {.prefetch = 1, .max_held = 1});
  std::vector<std::vector<std::byte>> wanted;
  std::vector<std::unique_ptr<DeviceBytes>> seen;
  Hold hold(stream_);
  auto let_go = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(kAMoment);
    hold.let_go();
  });
  for (int epoch = 0; epoch < 4;) {
    std::optional<DeviceBatch> batch = reader.next().value();
    const std::optional<Batch> host_batch = expected.next().value();
    ASSERT_EQ(batch.has_value(), host_batch.has_value());
    if (!batch.has_value()) {
      ++epoch;
      continue;
    }
    wanted.push_back(parts_of(*host_batch));
    seen.push_back(std::make_unique<DeviceBytes>(batch->slab_bytes()));
    ASSERT_TRUE(batch->wait_on(stream()).has_value());
    ASSERT_EQ(
        cudaMemcpyAsync(seen.back()->data(), batch->slab(), batch->slab_bytes(), cudaMemcpyDeviceToDevice, stream_),
        cudaSuccess);
  }
  let_go.get();
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(parts_of(seen[i]->read(), 64), wanted[i]) << "batch " << i;
}

TEST_F(DeviceReaderTest, CopiesAheadOfTheTrainer) {
  DeviceReader reader = open(1, {.prefetch = 3, .max_held = 1});
  EXPECT_TRUE(eventually([&] { return reader.stats().batches == 3; }));
  std::this_thread::sleep_for(kAMoment);
  EXPECT_EQ(reader.stats().batches, 3u) << "and no further";
  EXPECT_EQ(reader.state().position().step, 0u) << "what is copied ahead does not count";
}

asio::awaitable<void> count_batches(DeviceReader& reader, std::uint64_t& batches) {
  for (;;) {
    std::optional<DeviceBatch> batch = co_await reader.async_next_device(asio::use_awaitable);
    if (!batch.has_value()) co_return;
    ++batches;
  }
}

TEST_F(DeviceReaderTest, WorksWithCoroutinesAndFutures) {
  DeviceReader reader = open(2);
  asio::io_context context;
  std::uint64_t batches = 0;
  std::exception_ptr failure;
  asio::co_spawn(context, count_batches(reader, batches), [&](std::exception_ptr error) { failure = error; });
  context.run();
  EXPECT_FALSE(failure);
  EXPECT_EQ(batches, reader.plan().steps(0).value());
  batches = 0;
  while (reader.async_next_device(asio::use_future).get().has_value()) ++batches;
  EXPECT_EQ(batches, reader.plan().steps(1).value());
}

TEST_F(DeviceReaderTest, HeldBatchesAndASecondRequestAreErrorsThatStopNothing) {
  DeviceReader reader = open(1, {.prefetch = 1, .max_held = 2});
  std::optional<DeviceBatch> first = reader.next().value();
  std::optional<DeviceBatch> second = reader.next().value();
  EXPECT_THAT(reader.next(), Fails(Errc::slots_held));
  first.reset();
  std::optional<DeviceBatch> third = reader.next().value();
  EXPECT_EQ(third->step(), 2u);
  third->release();
  EXPECT_EQ(third->rows(), 0u);
  EXPECT_THAT(third->wait_on(stream()), Fails(Errc::closed));
  EXPECT_EQ(reader.next().value()->step(), 3u);
  EXPECT_FALSE(reader.error().has_value());
}

TEST_F(DeviceReaderTest, ACancelledRequestLosesNoBatch) {
  DeviceReader reader = open(0, {.prefetch = 1, .max_held = 1});
  std::uint64_t next_step = 0;
  for (int turn = 0; turn < 200; ++turn) {
    asio::cancellation_signal signal;
    // Not `use_future`: the thread that sets an exception may be the last to drop it, and TSan does
    // not see libstdc++ count.
    std::promise<std::pair<boost::system::error_code, std::optional<DeviceBatch>>> promise;
    auto outcome = promise.get_future();
    reader.async_next_device(asio::bind_cancellation_slot(
        signal.slot(),
        [promise = std::move(promise)](boost::system::error_code code, std::optional<DeviceBatch> batch) mutable {
          promise.set_value({code, std::move(batch)});
        }));
    signal.emit(asio::cancellation_type::total);
    const auto [code, batch] = outcome.get();
    if (code) {
      EXPECT_EQ(code, asio::error::operation_aborted);
    } else if (batch.has_value()) {
      EXPECT_EQ(batch->step(), next_step++);
    } else {
      EXPECT_EQ(next_step, reader.plan().steps(0).value());
      next_step = 0;
    }
  }
}

TEST_F(DeviceReaderTest, AnExecutorWithoutMemoryLosesNoBatch) {
  for (const bool ready : {false, true}) {
    SCOPED_TRACE(ready);
    DeviceReader reader = open();
    while (ready && reader.stats().batches == 0) std::this_thread::yield();
    const auto alive = std::make_shared<int>();
    reader.async_next_device(asio::bind_executor(
        StarvedExecutor{},
        [alive](boost::system::error_code, std::optional<DeviceBatch>) { ADD_FAILURE() << "it was called"; }));
    while (alive.use_count() > 1) std::this_thread::yield();
    EXPECT_THAT(reader.next(), Fails(boost::system::errc::not_enough_memory));
    EXPECT_EQ(reader.state().position().step, 0u) << "a reader that continues from here delivers the batch";
  }
}

TEST_F(DeviceReaderTest, StoppingEndsARequestAndKeepsBatches) {
  DeviceReader reader = open(0, {.prefetch = 1, .max_held = 2});
  std::optional<DeviceBatch> batch = reader.next().value();
  const std::uint64_t step = batch->step();
  reader.stop();
  reader.stop();
  EXPECT_EQ(reader.next().error().code(), asio::error::operation_aborted);
  { const DeviceReader gone = std::move(reader); }
  EXPECT_EQ(batch->step(), step);
  EXPECT_EQ(read(*batch).size(), batch->slab_bytes()) << "a batch outlives its reader";
}

TEST_F(DeviceReaderTest, DestroyingItEndsAnOutstandingRequest) {
  // The slab of the only batch that may be ahead cannot come: the reader's slots wait behind a
  // stream that is held.
  std::optional<BatchReader> from = host(0);
  Hold hold(stream_);
  for (std::uint32_t slot = from->stats().slots; slot > 0; --slot) {
    ASSERT_TRUE(from->next().value()->release(stream()).has_value());
  }
  std::optional<DeviceReader> reader = DeviceReader::open(std::move(*from), {}).value();
  auto outcome = reader->async_next_device(asio::use_future);
  EXPECT_EQ(outcome.wait_for(kAMoment), std::future_status::timeout);
  auto gone = std::async(std::launch::async, [&] { reader.reset(); });
  EXPECT_THROW(outcome.get(), boost::system::system_error);
  hold.let_go();
  gone.get();
}

TEST_F(DeviceReaderTest, AnErrorComesInItsPlaceAndNamesTheFile) {
  TempFolder folder;
  const Dataset damaged = make_sample(folder.path("data"), kShape);
  flip_bit(damaged.shard_path(0), 200'000);
  BatchReader expected = BatchReader::open(damaged, options()).value();
  DeviceReader reader = DeviceReader::open(BatchReader::open(damaged, options()).value(), {}).value();
  for (;;) {
    const Result<std::optional<Batch>> wanted = expected.next();
    const Result<std::optional<DeviceBatch>> batch = reader.next();
    ASSERT_EQ(batch.has_value(), wanted.has_value());
    if (wanted.has_value()) {
      ASSERT_TRUE(wanted->has_value()) << "the damage was not met";
      continue;
    }
    EXPECT_EQ(batch.error().to_string(), wanted.error().to_string());
    EXPECT_EQ(reader.error()->path(), damaged.shard_path(0));
    break;
  }
}

TEST_F(DeviceReaderTest, PlainPagesWorkAsWell) {
  ReaderOptions plain = options();
  plain.registration = Registration::off;
  DeviceReader reader = DeviceReader::open(BatchReader::open(dataset(), plain).value(), {}).value();
  BatchReader expected = host();
  while (std::optional<DeviceBatch> batch = reader.next().value()) {
    ASSERT_EQ(read(*batch), parts_of(*expected.next().value()));
  }
}

TEST_F(DeviceReaderTest, ExportsTensorsOfTheDevice) {
  DeviceReader reader = open(1, {.prefetch = 1, .max_held = 1});
  auto batch = std::make_shared<DeviceBatch>(std::move(*reader.next().value()));
  const std::uint64_t* const ids = batch->ids();
  DLManagedTensor* const tensor = to_dlpack(batch, BatchPart::ids, stream()).value();
  EXPECT_FALSE(to_dlpack(batch, BatchPart::rows, stream()).has_value()) << "rows of different sizes";
  batch.reset();
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(tensor->dl_tensor.device.device_id, reader.device());
  EXPECT_EQ(tensor->dl_tensor.data, ids);
  EXPECT_EQ(tensor->dl_tensor.shape[0], 64);
  EXPECT_THAT(reader.next(), Fails(Errc::slots_held)) << "the tensor holds the batch";
  tensor->deleter(tensor);
  EXPECT_TRUE(reader.next().has_value());
}

TEST_F(DeviceReaderTest, ColumnsAreThoseOfTheHost) {
  const TempFolder folder;
  DatasetWriter writer = DatasetWriter::create(folder.path("examples")).value();
  for (std::int64_t id = 0; id < 200; ++id) {
    format::ExampleEncoder encoder;
    const std::vector<std::int64_t> tokens(static_cast<std::size_t>(id % 7), id);
    const std::string name = "record " + std::to_string(id);
    encoder.add_int("label", id);
    encoder.add_ints("tokens", tokens);
    encoder.add_bytes("name", as_bytes(name));
    std::vector<std::byte> record;
    encoder.encode(record).value();
    ASSERT_TRUE(writer.append(record).has_value());
  }
  ASSERT_TRUE(writer.finish().has_value());
  const Dataset examples = Dataset::open(folder.path("examples")).value();
  ReaderOptions options = this->options();
  options.columns = parse_schema("label:i64, tokens:i32[*], name:bytes").value();
  BatchReader host = BatchReader::open(examples, options).value();
  DeviceReader reader = DeviceReader::open(BatchReader::open(examples, options).value(), {}).value();
  std::uint64_t steps = 0;
  for (;; ++steps) {
    const std::optional<Batch> wanted = host.next().value();
    std::optional<DeviceBatch> batch = reader.next().value();
    ASSERT_EQ(batch.has_value(), wanted.has_value());
    if (!wanted.has_value()) break;
    EXPECT_EQ(batch->value_bytes(), wanted->values().size());
    ASSERT_NE(batch->schema(), nullptr);
    EXPECT_EQ(*batch->schema(), *wanted->schema());
    const std::vector<std::byte> slab = read(*batch);
    for (std::size_t i = 0; i < wanted->schema()->columns.size(); ++i) {
      const ColumnView expected = wanted->column(i);
      const DeviceColumn column = batch->column(i);
      EXPECT_EQ(column.column->name, expected.column->name);
      ASSERT_EQ(column.value_bytes, expected.values.size());
      EXPECT_EQ(column.texts, expected.text_offsets.empty() ? 0 : expected.text_offsets.size() - 1);
      const auto expect_at = [&](const void* there, ByteView bytes) {
        if (bytes.empty()) return;
        ASSERT_NE(there, nullptr);
        const auto at = static_cast<const std::byte*>(there) - batch->slab();
        EXPECT_EQ(std::memcmp(slab.data() + at, bytes.data(), bytes.size()), 0) << expected.column->name;
      };
      expect_at(column.values, expected.values);
      expect_at(column.offsets, std::as_bytes(expected.offsets));
      expect_at(column.text_offsets, std::as_bytes(expected.text_offsets));
    }
    EXPECT_FALSE(batch->column("image").has_value());
    auto shared = std::make_shared<DeviceBatch>(std::move(*batch));
    DLManagedTensor* const tensor = to_dlpack(shared, "label", ColumnPart::values, stream()).value();
    EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
    EXPECT_EQ(tensor->dl_tensor.data, shared->column("label")->values);
    EXPECT_EQ(tensor->dl_tensor.shape[0], 64);
    tensor->deleter(tensor);
  }
  EXPECT_EQ(steps, 3u);
}

TEST_F(DeviceReaderTest, RefusesWhatIsOutOfRange) {
  for (const DeviceOptions& wrong : {DeviceOptions{.prefetch = 0}, DeviceOptions{.prefetch = 65},
                                     DeviceOptions{.max_held = 0}, DeviceOptions{.device = -2}}) {
    EXPECT_THAT(DeviceReader::open(host(), wrong), Fails(Errc::invalid_option));
  }
  EXPECT_THAT(DeviceReader::open(host(), {.device = 1000}), Fails(Errc::device_failed));
}

TEST_F(DeviceReaderTest, EveryDeviceHasItsOwnReader) {
#ifdef DOVETAIL_EMULATED_CUDA
  emulated_cuda::set_device_count(3);
#endif
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  if (devices < 2) GTEST_SKIP() << "one device";
  std::vector<DeviceReader> readers;
  std::vector<BatchReader> expected;
  for (int device = 0; device < devices; ++device) {
    ReaderOptions of_rank = options();
    of_rank.ranks = {.rank = static_cast<std::uint32_t>(device), .world = static_cast<std::uint32_t>(devices)};
    of_rank.device = device;
    expected.push_back(BatchReader::open(dataset(), of_rank).value());
    readers.push_back(DeviceReader::open(BatchReader::open(dataset(), of_rank).value(), {.device = device}).value());
    EXPECT_EQ(readers.back().device(), device);
  }
  int current = -1;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
  for (int device = 0; device < devices; ++device) {
    const auto at = static_cast<std::size_t>(device);
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    cudaStream_t own = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    while (std::optional<DeviceBatch> batch = readers[at].next().value()) {
      EXPECT_EQ(batch->device(), device);
      ASSERT_TRUE(batch->wait_on(DeviceStream{own}).has_value()) << "whatever device is current";
      std::vector<std::byte> bytes(batch->slab_bytes());
      ASSERT_EQ(cudaMemcpyAsync(bytes.data(), batch->slab(), bytes.size(), cudaMemcpyDeviceToHost, own), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(own), cudaSuccess);
      ASSERT_EQ(parts_of(std::move(bytes), 64), parts_of(*expected[at].next().value()));
    }
    readers[at].stop();
    ASSERT_EQ(cudaStreamDestroy(own), cudaSuccess);
  }
}

}  // namespace
}  // namespace dovetail::test
