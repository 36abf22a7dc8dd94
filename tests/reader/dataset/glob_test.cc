// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/glob.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/as_nobody.h"
#include "tests/support/files.h"
#include "tests/support/folder_fixture.h"

namespace dovetail::detail {
namespace {

using test::write_file;
using Names = std::vector<std::string>;

using GlobTest = test::FolderTest;

TEST(ShardPatternTest, IsOneWordOfAShellForAnyNameOfTheFolder) {
  EXPECT_EQ(shard_pattern("data"), "'data/*.dvt'");
  EXPECT_EQ(shard_pattern(""), "'*.dvt'");
  EXPECT_EQ(shard_pattern("a'b c/m"), R"('a'\''b c/m/*.dvt')");
  EXPECT_EQ(shard_pattern("-x/[1]"), "'./-x/[[]1]/*.dvt'");
}

TEST_F(GlobTest, FindsFilesInBytewiseOrderRelativeToTheLiteralPart) {
  for (const char* name : {"x/b/2.dvt", "x/a/10.dvt", "x/a/9.dvt", "x/A/1.dvt", "x/a/9.txt", "x/.h/1.dvt"}) {
    write_file(folder_.path(name), "");
  }
  const GlobMatches found = expand_glob(folder_.path("x/*/*.dvt")).value();
  EXPECT_EQ(found.folder, folder_.path("x"));
  EXPECT_EQ(found.files, (Names{"A/1.dvt", "a/10.dvt", "a/9.dvt", "b/2.dvt"}));
}

TEST_F(GlobTest, ComponentsAfterAWildcardMayBeLiteral) {
  for (const char* name : {"a/data/1.dvt", "b/data/1.dvt", "b/other/1.dvt", "c"}) write_file(folder_.path(name), "");
  EXPECT_EQ(expand_glob(folder_.path("*/data/1.dvt")).value().files, (Names{"a/data/1.dvt", "b/data/1.dvt"}));
  EXPECT_EQ(expand_glob(folder_.path("[ac]//data/*")).value().files, (Names{"a/data/1.dvt"}));
}

TEST_F(GlobTest, FoldersAreNoMatchAndDanglingLinksAre) {
  write_file(folder_.path("folder.dvt/file"), "");
  std::filesystem::create_symlink("nowhere", folder_.path("link.dvt"));
  EXPECT_EQ(expand_glob(folder_.path("*.dvt")).value().files, (Names{"link.dvt"}));
}

TEST_F(GlobTest, WhatCannotBeLookedAtIsAMatch) {
  for (const char* name : {"a/1.dvt", "b/1.dvt"}) write_file(folder_.path(name), "");
  const test::FolderPermissions open(folder_.path(), test::kAllMayRead | test::kAllMaySearch);
  std::filesystem::permissions(folder_.path("a"), test::kAllMayRead | test::kAllMaySearch);
  const test::FolderPermissions listed_only(folder_.path("b"), test::kAllMayRead);
  const test::AsNobody nobody;
  if (nobody.may(folder_.path("b"), X_OK)) GTEST_SKIP() << "all may be searched";
  for (const char* pattern : {"*/*.dvt", "*/1.dvt"}) {
    EXPECT_EQ(expand_glob(folder_.path(pattern)).value().files, (Names{"a/1.dvt", "b/1.dvt"})) << pattern;
  }
}

TEST_F(GlobTest, AFolderThatIsNotThereHoldsNothing) {
  EXPECT_TRUE(expand_glob(folder_.path("nothing/*.dvt")).value().files.empty());
}

}  // namespace
}  // namespace dovetail::detail
