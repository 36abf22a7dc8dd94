// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/shard_numbers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dovetail::detail {
namespace {

ShardInfo shard(std::uint32_t dataset, std::uint32_t number, const std::string& name) {
  ShardInfo info;
  info.name = name;
  info.file_id = std::uint64_t{dataset} << 32 | number;
  info.stored_bytes = 100;
  info.file_bytes = 500;
  return info;
}

ShardInfo tfrecord(const std::string& name) {
  ShardInfo info = shard(0x1234, 5, name);
  info.stored_bytes = info.file_bytes;
  return info;
}

bool tells(const std::vector<Error>& errors, const std::string& text) {
  return errors.size() == 1 && errors.front().detail().find(text) != std::string::npos;
}

TEST(ShardNumbersTest, TheOnlyDatasetIsMissedWhateverElseLiesThere) {
  const ShardInfo last = shard(7, 1, "shard-1.dvt");
  EXPECT_TRUE(tells(check_shard_numbers("d", {last}), "shard number 0 is missing"));
  EXPECT_TRUE(tells(check_shard_numbers("d", {last, tfrecord("a.tfrecord")}), "shard number 0 is missing"));
  EXPECT_TRUE(tells(check_shard_numbers("d", {last}, 1), "unless they are in 1 file that cannot be opened"));
}

TEST(ShardNumbersTest, EachDatasetOfSeveralFilesCountsByItself) {
  const std::vector<ShardInfo> files = {shard(1, 4, "alone.dvt"), shard(2, 0, "a/0.dvt"), shard(2, 2, "a/2.dvt"),
                                        shard(3, 0, "b/0.dvt"), shard(3, 1, "b/1.dvt")};
  const std::vector<Error> errors = check_shard_numbers("d", files);
  EXPECT_TRUE(tells(errors, "shard number 1 is missing of the dataset whose number 2 is a/2.dvt"));
}

TEST(ShardNumbersTest, NamesSortAsTheNumbersDo) {
  EXPECT_TRUE(
      check_shard_numbers("d", {shard(1, 0, "a.dvt"), shard(2, 0, "b.dvt"), shard(1, 1, "c.dvt"), shard(2, 1, "d.dvt")})
          .empty());
  EXPECT_TRUE(tells(check_shard_numbers("d", {shard(1, 1, "a.dvt"), shard(1, 0, "b.dvt")}),
                    "b.dvt is shard number 0 of its dataset and a.dvt number 1"));
  EXPECT_TRUE(tells(check_shard_numbers("d", {shard(1, 0, "a.dvt"), shard(1, 0, "b.dvt"), shard(1, 1, "c.dvt")}),
                    "a.dvt and b.dvt are both shard number 0"));
}

TEST(ShardNumbersTest, OneFileOfEachDatasetIsACollection) {
  EXPECT_TRUE(check_shard_numbers("d", {shard(1, 4, "a.dvt"), shard(2, 3, "b.dvt"), tfrecord("c")}, 1).empty());
}

TEST(ShardNumbersTest, ThePatternIsOfTheFolderThatTheNamedShardIsIn) {
  EXPECT_TRUE(tells(check_shard_numbers("d", {shard(1, 1, "x/y/1.dvt")}), "'d/x/y/*.dvt'"));
  EXPECT_TRUE(tells(check_shard_numbers("", {shard(1, 1, "1.dvt")}), "'*.dvt'"));
  EXPECT_TRUE(tells(check_shard_numbers("/d[1]", {shard(1, 1, "a*b/what?/1.dvt")}), "'/d[[]1]/a[*]b/what[?]/*.dvt'"));
}

}  // namespace
}  // namespace dovetail::detail
