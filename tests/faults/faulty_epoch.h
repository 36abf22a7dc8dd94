// SPDX-License-Identifier: Apache-2.0
// Epochs that are read while something fails.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include <dovetail/batch_reader.h>

#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail::test {

/// A dataset, and epochs of it that may end early but never with a wrong row.
class FaultyEpochTest : public ::testing::Test {
 protected:
  explicit FaultyEpochTest(const SampleShape& shape);

  /// A reader of one epoch, whose rows are gathered; with tail `pad`, so that it has every record.
  static ReaderOptions options(OnDamage on_damage, StorageKind storage);
  /// An epoch, as far as it comes; whether every row was there. What it lacks is an error that
  /// names a file, or, where damage is passed over, marked.
  bool read_epoch(const ReaderOptions& options) const;

  const SampleShape shape_;
  TempFolder folder_;
  Dataset dataset_;

 private:
  /// Whether the row has its own bytes; what it has must be right.
  bool check_row(const Batch& batch, std::uint32_t row, RowStatus planned) const;
};

}  // namespace dovetail::test
