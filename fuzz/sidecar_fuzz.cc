// SPDX-License-Identifier: Apache-2.0
// Puts an index beside a TFRecord file that stays the same. Whatever the index says, each record
// that is read is the one that the file has at that place.
#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/record_reader.h>

#include "fuzz/corpus.h"
#include "fuzz/support.h"
#include "tests/convert/sources.h"

namespace dovetail::fuzz {
namespace {

/// Path of the TFRecord file.
const std::string& indexed_file() {
  static const std::string path = [] {
    std::string file = scratch_folder() + "/fixed.tfrecord";
    test::write_file(file, test::tfrecord_bytes(indexed_records()));
    return file;
  }();
  return path;
}

void judge(std::string_view index) {
  const std::string& path = indexed_file();
  const test::Records expected = indexed_records();
  test::write_file(path + ".dvi", index);
  const MemoryLimit limit(memory_for(index.size()));
  (void)verify(path, 1);
  auto reader = RecordReader::open(path);
  if (!reader) return;
  require(reader->shard().info.records == expected.size(), "an index has all records");
  for (std::size_t i = 0;; ++i) {
    const auto record = reader->next();
    if (!record) return;
    if (!*record) return require(i == expected.size(), "all records are read");
    require(i < expected.size() && as_chars(**record) == expected[i], "a record is the one at its place");
  }
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({reinterpret_cast<const char*>(data), size});
  return 0;
}
