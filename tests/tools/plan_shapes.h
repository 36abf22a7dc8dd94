// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <dovetail/plan.h>

namespace dovetail::tools {

/// A dataset of equal shards; the fingerprint is of their number.
inline std::shared_ptr<const DatasetShape> equal_shards(std::uint32_t shards, std::uint64_t records,
                                                        std::uint64_t run_records = 8) {
  auto shape = std::make_shared<DatasetShape>();
  for (std::uint32_t i = 0; i < shards; ++i) shape->shards.push_back({records, run_records, 10 * records});
  shape->fingerprint = {shards, records};
  return shape;
}

/// A file of the test that runs, in the folder for temporary files.
inline std::string test_file(const std::string& name) {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + test->test_suite_name() + '.' + test->name() + '.' + name;
}

}  // namespace dovetail::tools
