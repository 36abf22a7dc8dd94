// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail::testing {

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

Rows rows_from(const Rows& rows, std::uint64_t first);

}  // namespace dovetail::testing
