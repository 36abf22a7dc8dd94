// SPDX-License-Identifier: Apache-2.0
// Writing, opening, iterating and verifying while the n-th allocation fails, or all from there on,
// for every n until a run passes untouched: an error, never a wrong result.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dovetail/columns.h>
#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/features.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "format/example/example_encoder.h"
#include "reader/storage/thread_pool.h"
#include "reader/storage/watched_storage.h"
#include "tests/faults/failing_memory.h"
#include "tests/faults/written_records.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {
namespace {

const SampleShape kShape{.shard_records = {40, 30}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};

class OutOfMemoryTest : public FolderTest {
 protected:
  OutOfMemoryTest() {
    for (std::uint64_t id = 0; id < 70; ++id) records_.push_back(sample_record(id, kShape));
  }
  std::vector<std::string> records_;
};

TEST_F(OutOfMemoryTest, AShardIsWholeOrNotThere) {
  const std::string path = folder_.path("s.dvt");
  const auto work = [&]() -> Result<void> {
    Result<RecordWriter> writer = RecordWriter::create(path, {.block_bytes = 2048});
    if (!writer.has_value()) return writer.error();
    for (const std::string& record : records_) {
      if (Result<void> appended = writer->append(as_bytes(record)); !appended.has_value()) return appended;
    }
    const Result<ShardInfo> finished = writer->finish();
    return finished.has_value() ? Result<void>() : finished.error();
  };
  with_every_failure(work, [&](bool good) {
    if (!good) {
      EXPECT_THAT(names_left(folder_.path()), ::testing::IsEmpty());
      return;
    }
    EXPECT_TRUE(verify(path).value().ok());
    std::filesystem::remove(path);
  });
}

TEST_F(OutOfMemoryTest, ADatasetIsWholeOrNotThere) {
  const std::string target = folder_.path("target");
  const auto work = [&]() -> Result<void> {
    DatasetWriterOptions options{.shard = {.block_bytes = 2048}, .shard_bytes = 4000, .encode_threads = 2};
    Result<DatasetWriter> writer = DatasetWriter::create(target, options);
    if (!writer.has_value()) return writer.error();
    for (const std::string& record : records_) {
      if (Result<void> appended = writer->append(as_bytes(record)); !appended.has_value()) return appended;
    }
    const Result<DatasetInfo> finished = writer->finish();
    return finished.has_value() ? Result<void>() : finished.error();
  };
  with_every_failure(work, [&](bool good) {
    if (good || std::filesystem::exists(target)) {
      EXPECT_TRUE(verify(target).value().ok());
      EXPECT_EQ(Dataset::open(target).value().records(), 70u);
    }
    // What could not be removed without memory goes with the next writer.
    EXPECT_TRUE(DatasetWriter::create(target, {.shard = {.overwrite = true}}).value().finish());
    EXPECT_THAT(names_left(target), ::testing::ElementsAre("manifest.dvt"));
    EXPECT_THAT(names_left(folder_.path()), ::testing::ElementsAre("target"));
    std::filesystem::remove_all(target);
  });
}

TEST_F(OutOfMemoryTest, ADatasetAndItsRecordsAreRightOrAnError) {
  const Dataset written = make_sample(folder_.path("data"), kShape);
  const std::string folder = folder_.path("data");
  const auto work = [&]() -> Result<void> {
    const Result<Dataset> dataset = Dataset::open(folder);
    if (!dataset.has_value()) return dataset.error();
    Result<RecordReader> reader = RecordReader::open(*dataset, 1);
    if (!reader.has_value()) return reader.error();
    for (std::size_t id = 40;; ++id) {
      const Result<std::optional<ByteView>> record = reader->next();
      if (!record.has_value()) return record.error();
      if (!record->has_value()) {
        if (id != 70) ADD_FAILURE() << "it ended after " << id;
        return {};
      }
      if (as_chars(**record) != records_.at(id)) ADD_FAILURE() << "record " << id;
    }
  };
  with_every_failure(work, [](bool) {});
}

TEST_F(OutOfMemoryTest, VerifyIsRightOrAnError) {
  const Dataset written = make_sample(folder_.path("data"), kShape);
  const std::string folder = folder_.path("data");
  const auto work = [&]() -> Result<void> {
    const Result<VerifyReport> report = verify(folder, 2);
    if (!report.has_value()) return report.error();
    if (!report->ok()) ADD_FAILURE() << "it calls good data damaged: " << report->damaged[0].reason;
    return {};
  };
  with_every_failure(work, [](bool) {});
}

TEST_F(OutOfMemoryTest, FeaturesAreRightOrAnError) {
  const std::string folder = folder_.path("examples");
  {
    DatasetWriter writer = DatasetWriter::create(folder, {.shard = {.block_bytes = 1024}, .shard_bytes = 500}).value();
    format::ExampleEncoder encoder;
    std::vector<std::byte> record;
    for (int i = 0; i < 40; ++i) {
      encoder.add_int("label", i % 3);
      encoder.add_bytes("name", as_bytes("name"));
      encoder.encode(record).value();
      writer.append(i % 10 == 0 ? as_bytes(R"({"label": 7, "list": [0.5, 1]})") : ByteView(record)).value();
    }
    ASSERT_GT(writer.finish().value().shards.size(), 2u);
  }
  const Dataset dataset = Dataset::open(folder).value();
  const auto work = [&]() -> Result<void> {
    const Result<FeaturesReport> report = describe_features(dataset, {.threads = 2});
    if (!report.has_value()) return report.error();
    const AllocationsSpared spared;
    if (report->records != 40 || report->examples != 36 || report->json_objects != 4) ADD_FAILURE() << "other records";
    if (report->features.size() != 3 || report->features[0].mean != 1.6) ADD_FAILURE() << "other features";
    if (report->damaged_blocks != 0) ADD_FAILURE() << "it calls good blocks damaged";
    return {};
  };
  with_every_failure(work, [](bool) {});
}

TEST_F(OutOfMemoryTest, ADeadlineThatPassesWithoutMemoryIsAnError) {
  detail::ThreadPool timers(1);
  std::promise<void> release;
  std::promise<bool> gave_up;
  const auto storage = detail::watch_storage(
      detail::make_pread_pool(1),
      {.after = std::chrono::milliseconds(100), .gives_up = true, .log = {}, .executor = timers.executor()});
  storage->call(
      "far away",
      [released = release.get_future().share()]() -> detail::Storage::Answer {
        released.wait();
        return Error(Errc::truncated);
      },
      [&gave_up](const detail::Storage::Answer& answer) {
        gave_up.set_value(answer.error().code() == boost::system::errc::timed_out);
      });
  {
    const AllocationFails armed(0, true);
    EXPECT_TRUE(gave_up.get_future().get());
  }
  EXPECT_TRUE(AllocationFails::struck());
  release.set_value();
  storage->stop();
}

}  // namespace
}  // namespace dovetail::test
