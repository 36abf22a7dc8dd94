// SPDX-License-Identifier: Apache-2.0
// The files of tests/golden, defined once for the program that writes them and the test that reads
// them.
#pragma once

#include <string>
#include <vector>

#include "tests/format/sample_shard.h"

namespace dovetail::format::test {

struct GoldenShard {
  std::string name;
  Records records;
  Metadata metadata;
  Bytes bytes;  ///< As this library writes the file.
  /// Whether every library must write just these bytes. What Snappy makes of the same input may
  /// differ between its versions.
  bool exact = true;
};

std::vector<GoldenShard> golden_shards();

/// The file of the worked example in docs/format.md.
SampleShard worked_example();

}  // namespace dovetail::format::test
