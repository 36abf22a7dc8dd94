// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace dovetail::test {

/// A test with a folder of its own.
class FolderTest : public ::testing::Test {
 protected:
  TempFolder folder_;
};

}  // namespace dovetail::test
