// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/shard_table.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail::detail {
namespace {

class ShardTableTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kMaxOpen = 8;

  ~ShardTableTest() override { storage_->stop(); }  // it may still be telling the table that a shard is open

  std::shared_ptr<const ShardFile> get(std::uint32_t shard) {
    for (;;) {
      if (auto file = table_.find(shard)) return file;
      table_.want(shard);
      std::this_thread::yield();
    }
  }

  testing::TempFolder folder_;
  std::unique_ptr<Storage> storage_ = make_pread_pool(1);
  ShardTable table_{testing::make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(40, 3)}),
                    *storage_, kMaxOpen, [] {}};
};

TEST_F(ShardTableTest, AShardInUseIsNotOpenedAgain) {
  std::vector<std::shared_ptr<const ShardFile>> used;
  for (std::uint32_t shard = 0; shard < 20; ++shard) used.push_back(get(shard));
  for (std::uint32_t shard = 20; shard < 40; ++shard) get(shard);
  for (std::uint32_t shard = 0; shard < 20; ++shard) EXPECT_EQ(get(shard), used[shard]) << "shard " << shard;
  EXPECT_EQ(table_.opened(), 40u);
  EXPECT_TRUE(table_.crowded());
}

TEST_F(ShardTableTest, ShardsThatNobodyUsesDoNotCrowdIt) {
  for (std::uint32_t shard = 0; shard < 40; ++shard) {
    get(shard);
    EXPECT_FALSE(table_.crowded()) << "after shard " << shard;
  }
  for (std::uint32_t shard = 40 - kMaxOpen / 2; shard < 40; ++shard) get(shard);
  EXPECT_EQ(table_.opened(), 40u) << "the latest were let go";
}

TEST_F(ShardTableTest, WhatWasOpenedAheadStaysUntilItIsFound) {
  for (std::uint32_t shard = 0; shard < kMaxOpen; ++shard) {
    table_.want(shard);
    while (table_.peek(shard) == nullptr) std::this_thread::yield();
  }
  EXPECT_TRUE(table_.crowded());
  for (std::uint32_t shard = kMaxOpen; shard < 40; ++shard) get(shard);
  for (std::uint32_t shard = 0; shard < kMaxOpen; ++shard) EXPECT_NE(table_.find(shard), nullptr) << "shard " << shard;
}

TEST_F(ShardTableTest, WhatWasInUseIsLetGoOnceItIsNot) {
  std::vector<std::shared_ptr<const ShardFile>> used;
  for (std::uint32_t shard = 0; shard < 20; ++shard) used.push_back(get(shard));
  used.clear();
  get(20);
  storage_->stop();  // what is let go is closed by now
  EXPECT_FALSE(table_.crowded());
  EXPECT_LE(table_.live(), kMaxOpen);
}

}  // namespace
}  // namespace dovetail::detail
