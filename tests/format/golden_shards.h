// SPDX-License-Identifier: Apache-2.0
// The files of tests/golden, defined once for the program that writes them and the test that reads
// them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/decoded_shards.h"

namespace dovetail::test {

struct GoldenShard {
  std::string name;
  Records records;
  format::Metadata metadata;
  Bytes bytes;  ///< As this library writes the file.
  /// Whether every library must write just these bytes. What Snappy makes of the same input may
  /// differ between its versions.
  bool exact = true;

  friend void PrintTo(const GoldenShard& shard, std::ostream* out) { *out << shard.name; }
};

std::vector<GoldenShard> golden_shards();

/// The file of the worked example in docs/format.md.
SampleShard worked_example();

}  // namespace dovetail::test
