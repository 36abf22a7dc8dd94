// SPDX-License-Identifier: Apache-2.0
// Reading batches while the n-th allocation of any thread fails, or all from there on, for every n
// until a run passes untouched: the planned rows or an error, and nothing that hangs or ends the
// process.
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>

#include <gtest/gtest.h>
#include <boost/system/errc.hpp>

#include <dovetail/batch_reader.h>
#include <dovetail/dataset.h>

#include "tests/faults/failing_memory.h"
#include "tests/reader/delivery/reader_fixture.h"
#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail::test {
namespace {

class StarvedReaderTest : public FolderTest {
 protected:
  StarvedReaderTest() {
    options_.plan.batch = 8;
    options_.epochs = 2;
    options_.io_threads = 2;
    options_.decode_threads = 2;
    options_.memory_bytes = 8 << 20;
    options_.storage = StorageKind::pread;
  }

  /// Two epochs, each batch checked. The error of a reader that has failed is its error for ever.
  Result<void> read(const Dataset& dataset, const SampleShape& shape) const {
    Result<BatchReader> reader = BatchReader::open(dataset, options_);
    if (!reader.has_value()) return reader.error();
    const auto memory = [](const Error& error) {
      // For want of a thread, which wants memory.
      return error.code() == boost::system::errc::resource_unavailable_try_again ? Error::from_errno(ENOMEM) : error;
    };
    Rows rows;
    for (std::uint32_t epoch = 0; epoch < options_.epochs;) {
      const Result<std::optional<Batch>> batch = reader->next();
      const AllocationsSpared checking;
      if (!batch.has_value()) {
        EXPECT_EQ(reader->next().error().code(), batch.error().code());
        return memory(batch.error());
      }
      if (batch->has_value() && options_.transform) {
        const auto sizes = (*batch)->column("size")->as<std::uint64_t>();
        for (std::uint32_t row = 0; row < (*batch)->rows(); ++row) {
          const std::uint64_t id = (*batch)->ids()[row];
          if (id != kNoId) {
            EXPECT_EQ(sizes[row], sample_record(id, shape).size()) << id;
          }
          rows.push_back({id, (*batch)->status()[row]});
        }
        continue;
      }
      if (batch->has_value()) {
        append_checked(**batch, shape, rows);
        continue;
      }
      EXPECT_EQ(rows, planned(reader->plan(), 0, epoch++));
      rows.clear();
    }
    return {};
  }

  void expect_rows_or_errors(const SampleShape& shape) {
    const Dataset dataset = make_sample(folder_.path("data"), shape);
    with_every_failure([&] { return read(dataset, shape); }, [](bool) {});
  }

  ReaderOptions options_;
};

TEST_F(StarvedReaderTest, RowsThatAreGathered) {
  expect_rows_or_errors({.shard_records = {40, 30}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048});
}

TEST_F(StarvedReaderTest, RowsThatAreScattered) {
  expect_rows_or_errors({.shard_records = {60, 50}, .min_bytes = 512, .max_bytes = 512, .block_bytes = 4096});
}

TEST_F(StarvedReaderTest, RecordsReadStraightIntoTheirRows) {
  expect_rows_or_errors({.shard_records = {20, 20}, .min_bytes = 16 << 10, .max_bytes = 17 << 10});
}

TEST_F(StarvedReaderTest, RowsThatAFunctionFills) {
  options_.columns = parse_schema("size:u64").value();
  options_.transform.fill = [](const TransformInput& input, RowWriter& row) -> Result<void> {
    row.values<std::uint64_t>(0)[0] = input.record.size();
    return {};
  };
  expect_rows_or_errors({.shard_records = {40, 30}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048});
}

TEST_F(StarvedReaderTest, ReadsWithADeadline) {
  options_.on_hung_read = OnHungRead::fail;
  options_.memory_bytes = 32 << 20;
  expect_rows_or_errors({.shard_records = {40, 30}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048});
}

TEST_F(StarvedReaderTest, ReadsThroughARing) {
  options_.storage = StorageKind::io_uring_direct;
  options_.memory_bytes = 32 << 20;
  const SampleShape shape{.shard_records = {40, 30}, .min_bytes = 0, .max_bytes = 300, .block_bytes = 2048};
  const Dataset dataset = make_sample(folder_.path("data"), shape);
  if (const Result<void> works = read(dataset, shape); !works.has_value()) GTEST_SKIP() << works.error().to_string();
  with_every_failure([&] { return read(dataset, shape); }, [](bool) {});
}

}  // namespace
}  // namespace dovetail::test
