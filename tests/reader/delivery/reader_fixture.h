// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {

/// One delivered row, without its bytes.
struct Row {
  std::uint64_t id;
  RowStatus status;
  friend bool operator==(const Row&, const Row&) = default;
};
using Rows = std::vector<Row>;

/// Six shards, of which one is empty and one has a single record.
inline const SampleShape kSampleShape{.shard_records = {301, 77, 0, 512, 1, 140}};
inline constexpr std::uint64_t kSampleRecords = 1031;

/// A dataset of `kSampleShape`, written once for each suite, and options that interleave it in
/// small pieces.
class SampleReaderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  static const Dataset& dataset() { return *dataset_; }
  static TempFolder& folder() { return *folder_; }
  static ReaderOptions options(std::uint32_t rank, std::uint32_t world, std::uint32_t batch, Tail tail = Tail::drop);

 private:
  static inline TempFolder* folder_ = nullptr;
  static inline Dataset* dataset_ = nullptr;
};

/// Expects the bytes that belong to the row's id and status, and adds the row.
void append_checked(const Batch& batch, const SampleShape& shape, Rows& rows);

/// The rows up to the end of the epoch, bytes checked.
Rows read_epoch(BatchReader& reader, const SampleShape& shape);

/// What the plan says that a rank gets in an epoch from a step on.
Rows planned(const Plan& plan, std::uint32_t rank, std::uint32_t epoch, std::uint64_t first_step = 0);

/// Reads the epoch and checks every row; gives how many are not as planned, or the error.
template <class Reader>
Result<std::uint64_t> count_lost_rows(Reader& reader, const SampleShape& shape) {
  const Rows expected = planned(reader.plan(), 0, 0);
  std::uint64_t lost = 0;
  std::size_t at = 0;
  for (;;) {
    const Result<std::optional<Batch>> batch = reader.next();
    if (!batch.has_value()) return batch.error();
    if (!batch->has_value()) break;
    for (std::uint32_t row = 0; row < (*batch)->rows(); ++row, ++at) {
      EXPECT_EQ((*batch)->ids()[row], expected.at(at).id);
      const RowStatus status = (*batch)->status()[row];
      if (status != expected[at].status) {
        ++lost;
        EXPECT_TRUE(status == RowStatus::substituted || status == RowStatus::damaged_empty);
      } else if (status != RowStatus::empty) {
        EXPECT_EQ(as_chars((*batch)->row(row)), sample_record(expected[at].id, shape));
      }
    }
  }
  EXPECT_EQ(at, expected.size());
  return lost;
}

Rows rows_from(const Rows& rows, std::uint64_t first);

}  // namespace dovetail::test
