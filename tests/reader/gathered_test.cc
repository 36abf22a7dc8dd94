// SPDX-License-Identifier: Apache-2.0
#include <dovetail/gathered.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/plan.h>

#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

/// Rows as ranks send them: columns of equal length.
struct Columns {
  std::vector<std::uint64_t> ids;
  std::vector<RowStatus> status;

  Columns& add(std::uint64_t id, RowStatus of_row = RowStatus::first) {
    ids.push_back(id);
    status.push_back(of_row);
    return *this;
  }
  Result<GatheredRows> place(std::uint64_t records) const { return GatheredRows::place(records, ids, status); }
};

std::string failure(const Result<GatheredRows>& result) {
  if (result.has_value()) return "placed";
  EXPECT_THAT(result, Fails(Errc::invalid_option));
  return result.error().detail();
}

/// What the ranks of a job gather in one pass, rank after rank, as `Batch` would give it.
Columns gather(const std::vector<std::uint64_t>& shard_records, const PlanOptions& options) {
  auto shape = std::make_shared<DatasetShape>();
  for (const std::uint64_t records : shard_records) shape->shards.push_back({.records = records, .run_records = 4});
  const Plan plan = Plan::make(shape, options).value();
  const EpochPlan epoch = plan.epoch(0).value();
  Columns columns;
  for (std::uint32_t rank = 0; rank < options.world; ++rank) {
    for (std::uint64_t step = 0; step < epoch.steps(); ++step) {
      for (std::uint32_t lane = 0; lane < epoch.lanes_per_rank(); ++lane) {
        const LaneOrder order = epoch.lane(epoch.first_lane(rank) + lane);
        for (std::uint64_t row = 0; row < epoch.rows_per_lane(); ++row) {
          const PlannedRecord record = order.at(epoch.first_output(step) + row);
          columns.add(record.id, record.status);
        }
      }
    }
  }
  return columns;
}

/// A result of a row that tells its record, and is nonsense for an empty row.
std::vector<double> results_of(const Columns& columns) {
  std::vector<double> results;
  for (std::size_t row = 0; row < columns.ids.size(); ++row) {
    results.push_back(columns.status[row] == RowStatus::empty ? -1 : 0.5 * static_cast<double>(columns.ids[row]));
  }
  return results;
}

void expect_dataset_order(const Columns& columns, std::uint64_t records) {
  const GatheredRows placed = columns.place(records).value();
  EXPECT_EQ(placed.gathered(), columns.ids.size());
  EXPECT_THAT(placed.damaged(), IsEmpty());
  const std::vector<double> results = placed.arrange(results_of(columns)).value();
  ASSERT_EQ(results.size(), records);
  for (std::uint64_t id = 0; id < records; ++id) ASSERT_EQ(results[id], 0.5 * static_cast<double>(id));
}

TEST(GatheredRowsTest, NothingOfAnEmptyDatasetIsInOrder) {
  const GatheredRows placed = Columns().place(0).value();
  EXPECT_THAT(placed.rows(), IsEmpty());
  EXPECT_THAT(placed.arrange(std::vector<float>{}).value(), IsEmpty());
}

TEST(GatheredRowsTest, OneRecordAmongPaddingIsFound) {
  Columns columns;
  columns.add(kNoId, RowStatus::empty).add(0).add(kNoId, RowStatus::empty);
  EXPECT_THAT(columns.place(1).value().rows(), ElementsAre(1));
}

TEST(GatheredRowsTest, PaddedPassesOfAnyWorldComeBackInDatasetOrder) {
  for (const std::uint32_t world : {1u, 2u, 3u, 8u}) {
    for (const std::uint32_t batch : {1u, 7u, 64u, 1000u}) {
      for (const OrderKind order : {OrderKind::sequential, OrderKind::shuffle, OrderKind::global}) {
        SCOPED_TRACE("world " + std::to_string(world) + ", batch " + std::to_string(batch));
        expect_dataset_order(
            gather({100, 0, 37, 64}, {.world = world, .batch = batch, .order = order, .tail = Tail::pad}), 201);
      }
    }
  }
}

TEST(GatheredRowsTest, WholeFilesPerLaneComeBackInDatasetOrder) {
  expect_dataset_order(gather({100, 3, 37, 64}, {.world = 3, .batch = 8, .assign = Assign::files, .tail = Tail::pad}),
                       204);
}

TEST(GatheredRowsTest, WrappedPassesComeBackWithEachRecordOnce) {
  for (const std::uint32_t batch : {7u, 64u, 500u}) {
    expect_dataset_order(gather({100, 37, 64}, {.world = 3, .batch = batch, .tail = Tail::wrap}), 201);
  }
}

TEST(GatheredRowsTest, DroppedRecordsAreMissing) {
  const Columns columns = gather({100}, {.world = 3, .batch = 8, .order = OrderKind::sequential, .tail = Tail::drop});
  EXPECT_EQ(failure(columns.place(100)), "gathered rows: record 32 is missing; there are 96 rows for 100 records");
}

TEST(GatheredRowsTest, TheFirstMissingRecordIsNamed) {
  Columns columns;
  columns.add(5).add(0).add(3).add(1).add(kNoId, RowStatus::empty).add(kNoId, RowStatus::empty);
  EXPECT_THAT(failure(columns.place(6)), HasSubstr("record 2 is missing"));
  EXPECT_THAT(failure(columns.place(std::uint64_t{1} << 55)), HasSubstr("record 2 is missing"));
  EXPECT_THAT(failure(Columns().place(1)), HasSubstr("record 0 is missing"));
  EXPECT_THAT(failure(Columns().add(0).add(1).place(3)), HasSubstr("record 2 is missing"));
}

TEST(GatheredRowsTest, TwoFirstDeliveriesOfARecordContradict) {
  Columns columns;
  columns.add(1).add(0).add(1, RowStatus::repeated).add(1);
  EXPECT_EQ(failure(columns.place(2)), "gathered rows: record 1 is delivered for the first time in row 0 and in row 3");
}

TEST(GatheredRowsTest, TwoPassesTogetherContradict) {
  Columns columns = gather({10}, {.world = 2, .batch = 5});
  const Columns again = columns;
  columns.ids.insert(columns.ids.end(), again.ids.begin(), again.ids.end());
  columns.status.insert(columns.status.end(), again.status.begin(), again.status.end());
  EXPECT_THAT(failure(columns.place(10)), HasSubstr("for the first time"));
}

TEST(GatheredRowsTest, IdsOutsideTheDatasetAreNamed) {
  EXPECT_EQ(failure(Columns().add(0).add(2).place(2)), "gathered rows: row 1 has id 2, but the dataset has 2 records");
  EXPECT_THAT(failure(Columns().add(0).add(kNoId).place(1)), HasSubstr("row 1 has id 18446744073709551615"));
  EXPECT_THAT(failure(Columns().add(7, RowStatus::repeated).place(2)), HasSubstr("row 0 has id 7"));
  EXPECT_THAT(failure(Columns().add(0).place(0)), HasSubstr("row 0 has id 0"));
}

TEST(GatheredRowsTest, AnEmptyRowThatNamesARecordIsRefused) {
  EXPECT_EQ(failure(Columns().add(0).add(1, RowStatus::empty).place(2)),
            "gathered rows: row 1 is empty, but names record 1");
}

TEST(GatheredRowsTest, AStatusThatIsNoneIsRefused) {
  EXPECT_THAT(failure(Columns().add(0, static_cast<RowStatus>(7)).place(1)), HasSubstr("row 0 has status 7"));
}

TEST(GatheredRowsTest, ColumnsOfDifferentLengthAreRefused) {
  const std::vector<std::uint64_t> ids{0, 1};
  const std::vector<RowStatus> status{RowStatus::first};
  EXPECT_THAT(failure(GatheredRows::place(2, ids, status)), HasSubstr("2 ids, but 1 statuses"));
}

TEST(GatheredRowsTest, DamagedRecordsArePlacedAndReported) {
  Columns columns;
  columns.add(3, RowStatus::damaged_empty).add(2).add(1, RowStatus::substituted).add(0);
  const GatheredRows placed = columns.place(4).value();
  EXPECT_THAT(placed.damaged(), ElementsAre(1, 3));
  EXPECT_THAT(placed.rows(), ElementsAre(3, 2, 1, 0));
}

TEST(GatheredRowsTest, AGoodRowOfARecordCountsRatherThanADamagedOne) {
  // Damage is judged anew on every read, so a lane that wraps may read the same record well and
  // badly.
  const RowStatus kinds[] = {RowStatus::first,         RowStatus::repeated,
                             RowStatus::substituted,   RowStatus::repeated_substituted,
                             RowStatus::damaged_empty, RowStatus::repeated_damaged_empty};
  for (const RowStatus a : kinds) {
    for (const RowStatus b : kinds) {
      if (a == RowStatus::first && b == RowStatus::first) continue;
      SCOPED_TRACE(std::to_string(static_cast<int>(a)) + " and " + std::to_string(static_cast<int>(b)));
      const GatheredRows placed = Columns().add(0, a).add(0, b).place(1).value();
      const RowStatus counts = placed.rows()[0] == 0 ? a : b;
      const bool good = a <= RowStatus::repeated || b <= RowStatus::repeated;
      EXPECT_EQ(counts <= RowStatus::repeated, good);
      EXPECT_EQ(placed.damaged().empty(), good);
      EXPECT_EQ(counts == RowStatus::first, a == RowStatus::first || b == RowStatus::first);
    }
  }
}

TEST(GatheredRowsTest, SeveralNumbersPerRowStayTogether) {
  Columns columns;
  columns.add(1).add(kNoId, RowStatus::empty).add(0).add(0, RowStatus::repeated);
  const GatheredRows placed = columns.place(2).value();
  const std::vector<float> flat{10, 11, 0, 0, 20, 21, 30, 31};
  EXPECT_THAT(placed.arrange(flat, 2).value(), ElementsAre(20, 21, 10, 11));
  const std::array<std::string, 4> texts{"one", "", "zero", "again"};
  EXPECT_THAT(placed.arrange(texts).value(), ElementsAre("zero", "one"));
  EXPECT_THAT(placed.arrange(std::vector<bool>{true, false, false, true}).value(), ElementsAre(false, true));
}

TEST(GatheredRowsTest, ValuesThatDoNotFitTheRowsAreRefused) {
  const GatheredRows placed = Columns().add(0).add(kNoId, RowStatus::empty).place(1).value();
  const std::vector<float> three{1, 2, 3};
  EXPECT_EQ(placed.arrange(three).error().detail(), "gathered rows: 3 values, but 2 rows of 1");
  EXPECT_FALSE(placed.arrange(three, 2).has_value());
  EXPECT_FALSE(placed.arrange(three, 0).has_value());
  EXPECT_FALSE(placed.arrange(std::vector<float>(4), SIZE_MAX / 2 + 3).has_value());
  EXPECT_FALSE(Columns().place(0).value().arrange(three).has_value());
}

}  // namespace
}  // namespace dovetail::test
