// SPDX-License-Identifier: Apache-2.0
#include "reader/fetch/damage_log.h"

#include <gtest/gtest.h>

#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail::detail {
namespace {

TEST(DamageLogTest, TellsBlocksFromShardsThatCannotBeOpened) {
  test::TempFolder folder;
  DamageLog log(test::make_sample(folder.path("data"), {.shard_records = {100, 100}}));
  log.note(100, {1, 0, 100, Error(Errc::truncated, "the shard"), true});
  log.note(100, {1, 0, 100, Error(Errc::truncated, "once more"), true});
  EXPECT_FALSE(log.is_damaged(150)) << "its blocks may be good when it is there again";
  log.note(120, {1, 20, 30, Error(Errc::payload_checksum, "the block")});
  for (const std::uint64_t id : {100u, 119u, 130u, 199u}) {
    EXPECT_FALSE(log.is_damaged(id)) << id;
    EXPECT_EQ(log.loss_of(id).error.detail(), "the shard") << id;
  }
  for (const std::uint64_t id : {120u, 129u}) {
    EXPECT_TRUE(log.is_damaged(id)) << id;
    EXPECT_EQ(log.loss_of(id).error.detail(), "the block") << id;
  }
  EXPECT_EQ(log.ranges().size(), 2u);
}

}  // namespace
}  // namespace dovetail::detail
