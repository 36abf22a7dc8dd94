// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "reader/fill/slot_fill.h"
#include "tests/reader/delivery/sample_dataset.h"
#include "tests/support/gated_storage.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {
namespace {

constexpr std::uint32_t kRecords = 64;

/// The bytes of blocks that a slot waits for, where each of its rows needs another block.
std::vector<std::uint64_t> bytes_waited_for(std::uint64_t ahead_bytes) {
  const TempFolder folder;
  const Dataset dataset = make_sample(
      folder.path(),
      {.shard_records = {kRecords}, .min_bytes = 1024, .max_bytes = 1024, .codec = Codec::none, .run_records = 1});
  GatedStorage storage(detail::make_pread_pool(1), GatedStorage::Immediate::no);
  std::promise<void> open;
  detail::ShardTable shards(dataset, storage, 1, [&open] { open.set_value(); });
  shards.want(0);
  open.get_future().wait();
  storage.stop();  // so that its thread has left the table

  detail::DamageLog damage(dataset);
  const auto ring = detail::SlotRing::make(1, 1 << 20, {.registration = Registration::off, .provider = {}}).value();
  const detail::FillRules rules{
      .batch_rows = kRecords, .slab_bytes = 1 << 20, .from_blocks = true, .ahead_bytes = ahead_bytes};
  const detail::FillParts parts{dataset, *ring, shards, storage, damage};
  detail::SlotFill fill(rules, parts);
  fill.begin(ring->acquire(), 0, 0, 1);
  std::vector<detail::SizedEntry> records;
  for (std::uint64_t i = 0; i < kRecords; ++i) records.push_back({.where = i, .id = i, .bytes = 0, .shard = 0});
  EXPECT_EQ(fill.fill(std::span<const detail::SizedEntry>(records), RowStatus::first), 0u);
  std::vector<std::uint64_t> bytes;
  for (const detail::RowRead* const read : fill.waiting()) bytes.push_back(read->into.size());
  return bytes;
}

TEST(SlotFillTest, WaitsForAsManyBlocksAsItsShareOfTheBudgetHas) {
  const std::vector<std::uint64_t> all = bytes_waited_for(UINT64_MAX);
  ASSERT_EQ(all.size(), kRecords);
  const std::uint64_t block = all.front();
  EXPECT_EQ(bytes_waited_for(10 * block).size(), 10u);
  EXPECT_EQ(bytes_waited_for(10 * block - 1).size(), 9u);
  EXPECT_EQ(bytes_waited_for(0).size(), 1u) << "without any block the row never comes";
}

}  // namespace
}  // namespace dovetail::test
