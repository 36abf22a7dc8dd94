// SPDX-License-Identifier: Apache-2.0
// What the tests of recovery do with a source.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "tests/support/decoded_shards.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::test {

class RecoverTest : public FolderTest {
 protected:
  /// What is in `out_`, a dataset.
  Records saved() const { return read_dataset(out_).records; }

  const std::string data_ = folder_ / "data";
  const std::string out_ = folder_ / "out";
};

/// Recovers what can be recovered, into a target that must then verify.
inline RecoverReport recovered(const std::string& source, const std::string& target,
                               const RecoverOptions& options = {}) {
  auto report = recover(source, target, options);
  if (!report) throw Exception(report.error());
  const VerifyReport verdict = verify(target, 1).value();
  EXPECT_TRUE(verdict.ok()) << (verdict.ok() ? "" : verdict.damaged[0].reason);
  std::uint64_t lost_records = 0;
  for (const LostRange& region : report->lost) {
    EXPECT_FALSE(region.file.empty());
    lost_records += region.end_record - region.first_record;
  }
  EXPECT_EQ(report->lost_regions, report->lost.size());
  EXPECT_EQ(report->lost_records, lost_records);
  if (report->expected_records) {
    EXPECT_EQ(report->records + lost_records, *report->expected_records);
  }
  return std::move(*report);
}

}  // namespace dovetail::test
