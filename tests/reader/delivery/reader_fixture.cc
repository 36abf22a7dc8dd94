// SPDX-License-Identifier: Apache-2.0
#include "tests/reader/delivery/reader_fixture.h"

#include <algorithm>
#include <optional>

namespace dovetail::test {

void SampleReaderTest::SetUpTestSuite() {
  folder_ = new TempFolder();
  dataset_ = new Dataset(make_sample(folder_->path("data"), kSampleShape));
}

void SampleReaderTest::TearDownTestSuite() {
  delete dataset_;
  delete folder_;
}

ReaderOptions SampleReaderTest::options(std::uint32_t rank, std::uint32_t world, std::uint32_t batch, Tail tail) {
  return {.ranks = {.rank = rank, .world = world},
          .plan = {.batch = batch, .tail = tail, .open_runs = 4, .pool = 32},
          .epochs = 1};
}

void append_checked(const Batch& batch, const SampleShape& shape, Rows& rows) {
  for (std::uint32_t row = 0; row < batch.rows(); ++row) {
    if (batch.status()[row] == RowStatus::empty) {
      ASSERT_EQ(batch.ids()[row], kNoId);
      ASSERT_TRUE(batch.row(row).empty());
    } else {
      ASSERT_EQ(as_chars(batch.row(row)), sample_record(batch.ids()[row], shape)) << "id " << batch.ids()[row];
    }
    rows.push_back({batch.ids()[row], batch.status()[row]});
  }
}

Rows read_epoch(BatchReader& reader, const SampleShape& shape) {
  Rows rows;
  for (const Batch& batch : reader.epoch()) {
    EXPECT_EQ(batch.rows(), reader.plan().options().batch);
    append_checked(batch, shape, rows);
  }
  return rows;
}

Rows planned(const Plan& plan, std::uint32_t rank, std::uint32_t epoch, std::uint64_t first_step) {
  const EpochPlan layout = plan.epoch(epoch).value();
  first_step = std::max(first_step, layout.first_step());
  std::vector<LaneCursor> cursors;
  for (std::uint32_t lane = 0; lane < layout.lanes_per_rank(); ++lane) {
    cursors.push_back(layout.lane(layout.first_lane(rank) + lane).cursor(layout.first_output(first_step)));
  }
  Rows rows;
  std::vector<Pick> picks(layout.rows_per_lane());
  for (std::uint64_t step = first_step; step < layout.steps(); ++step) {
    for (LaneCursor& cursor : cursors) {
      cursor.next(picks);
      for (const Pick& pick : picks) {
        const PlannedRecord record = cursor.record(pick);
        rows.push_back({record.id, record.status});
      }
    }
  }
  return rows;
}

Rows rows_from(const Rows& rows, std::uint64_t first) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end()};
}

}  // namespace dovetail::test
