// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/shard_table.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reader/delivery/reader_fixture.h"

namespace dovetail::detail {
namespace {

class ShardTableTest : public test::FolderTest {
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

  std::unique_ptr<Storage> storage_ = make_pread_pool(1);
  ShardTable table_{test::make_sample(folder_.path("data"), {.shard_records = std::vector<std::uint64_t>(40, 3)}),
                    *storage_, kMaxOpen, [] {}};
};

TEST_F(ShardTableTest, AShardInUseIsNotOpenedAgain) {
  std::vector<std::shared_ptr<const ShardFile>> used;
  for (std::uint32_t shard = 0; shard < kMaxOpen - 1; ++shard) used.push_back(get(shard));
  for (std::uint32_t shard = kMaxOpen - 1; shard < 40; ++shard) get(shard);
  for (std::uint32_t shard = 0; shard < kMaxOpen - 1; ++shard) EXPECT_EQ(get(shard), used[shard]) << "shard " << shard;
  EXPECT_EQ(table_.opened(), 40u);
}

TEST_F(ShardTableTest, NoMoreThanTwiceAsManyAreOpenAndWhoWaitsLooksAgainOnceOneIsClosed) {
  std::vector<std::shared_ptr<const ShardFile>> used;
  for (std::uint32_t shard = 0; shard < 2 * kMaxOpen; ++shard) used.push_back(get(shard));
  const std::uint64_t changes = table_.changes();
  table_.want(2 * kMaxOpen);
  EXPECT_EQ(table_.live(), 2 * kMaxOpen);
  EXPECT_EQ(table_.changes(), changes);
  used.front().reset();
  EXPECT_GT(table_.changes(), changes);
  EXPECT_NE(get(2 * kMaxOpen), nullptr);
}

TEST_F(ShardTableTest, ShardsThatNobodyUsesAreKept) {
  for (std::uint32_t shard = 0; shard < 40; ++shard) get(shard);
  for (std::uint32_t shard = 40 - kMaxOpen; shard < 40; ++shard) get(shard);
  EXPECT_EQ(table_.opened(), 40u) << "fewer were kept than may be";
}

TEST_F(ShardTableTest, WhatWasInUseClosesOnceItIsNot) {
  std::vector<std::shared_ptr<const ShardFile>> used;
  for (std::uint32_t shard = 0; shard < 2 * kMaxOpen - 1; ++shard) used.push_back(get(shard));
  EXPECT_EQ(table_.live(), 2 * kMaxOpen - 1);
  used.clear();
  storage_->stop();  // what it still held is let go by now
  EXPECT_EQ(table_.live(), kMaxOpen);
}

}  // namespace
}  // namespace dovetail::detail
