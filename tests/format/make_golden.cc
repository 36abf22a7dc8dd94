// SPDX-License-Identifier: Apache-2.0
// Writes the files of tests/golden into a folder: for a new version of the format, never to make a
// failing test pass.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/format/golden_shards.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden FOLDER\n");
    return 2;
  }
  for (const auto& shard : dovetail::format::test::golden_shards()) {
    const std::string path = std::string(argv[1]) + "/" + shard.name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(shard.bytes.data()), static_cast<std::streamsize>(shard.bytes.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
      return 3;
    }
    std::printf("%s %zu bytes\n", path.c_str(), shard.bytes.size());
  }
  return 0;
}
