// SPDX-License-Identifier: Apache-2.0
// Writes the files of tests/golden into a folder: for a new version of the format, never to make a
// failing test pass.
#include <cstdio>
#include <string>

#include <dovetail/bytes.h>

#include "tests/format/golden_shards.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden FOLDER\n");
    return 2;
  }
  for (const auto& shard : dovetail::test::golden_shards()) {
    const std::string path = std::string(argv[1]) + "/" + shard.name;
    dovetail::test::write_file(path, dovetail::as_chars(shard.bytes));
    std::printf("%s %zu bytes\n", path.c_str(), shard.bytes.size());
  }
  return 0;
}
