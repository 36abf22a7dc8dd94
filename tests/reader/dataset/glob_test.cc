// SPDX-License-Identifier: Apache-2.0
#include "reader/dataset/glob.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reader/dataset/dataset_files.h"
#include "tests/support/as_nobody.h"

namespace dovetail::detail {
namespace {

using test::TempFolder;
using test::write_file;
using Names = std::vector<std::string>;

TEST(GlobTest, FindsFilesInBytewiseOrderRelativeToTheLiteralPart) {
  TempFolder folder;
  for (const char* name : {"x/b/2.dvt", "x/a/10.dvt", "x/a/9.dvt", "x/A/1.dvt", "x/a/9.txt", "x/.h/1.dvt"}) {
    write_file(folder.file(name), "");
  }
  const GlobMatches found = expand_glob(folder.file("x/*/*.dvt")).value();
  EXPECT_EQ(found.folder, folder.file("x"));
  EXPECT_EQ(found.files, (Names{"A/1.dvt", "a/10.dvt", "a/9.dvt", "b/2.dvt"}));
}

TEST(GlobTest, ComponentsAfterAWildcardMayBeLiteral) {
  TempFolder folder;
  for (const char* name : {"a/data/1.dvt", "b/data/1.dvt", "b/other/1.dvt", "c"}) write_file(folder.file(name), "");
  EXPECT_EQ(expand_glob(folder.file("*/data/1.dvt")).value().files, (Names{"a/data/1.dvt", "b/data/1.dvt"}));
  EXPECT_EQ(expand_glob(folder.file("[ac]//data/*")).value().files, (Names{"a/data/1.dvt"}));
}

TEST(GlobTest, FoldersAreNoMatchAndDanglingLinksAre) {
  TempFolder folder;
  write_file(folder.file("folder.dvt/file"), "");
  std::filesystem::create_symlink("nowhere", folder.file("link.dvt"));
  EXPECT_EQ(expand_glob(folder.file("*.dvt")).value().files, (Names{"link.dvt"}));
}

TEST(GlobTest, WhatCannotBeLookedAtIsAMatch) {
  TempFolder folder;
  for (const char* name : {"a/1.dvt", "b/1.dvt"}) write_file(folder.file(name), "");
  const test::FolderPermissions open(folder.path(), test::kAllMayRead | test::kAllMaySearch);
  std::filesystem::permissions(folder.file("a"), test::kAllMayRead | test::kAllMaySearch);
  const test::FolderPermissions listed_only(folder.file("b"), test::kAllMayRead);
  const test::AsNobody nobody;
  if (nobody.may(folder.file("b"), X_OK)) GTEST_SKIP() << "all may be searched";
  for (const char* pattern : {"*/*.dvt", "*/1.dvt"}) {
    EXPECT_EQ(expand_glob(folder.file(pattern)).value().files, (Names{"a/1.dvt", "b/1.dvt"})) << pattern;
  }
}

TEST(GlobTest, AFolderThatIsNotThereHoldsNothing) {
  TempFolder folder;
  EXPECT_TRUE(expand_glob(folder.file("nothing/*.dvt")).value().files.empty());
}

}  // namespace
}  // namespace dovetail::detail
