// SPDX-License-Identifier: Apache-2.0
// Reads TFRecord files in all compressions. Compressing a file does not change its records; with
// damage skipped, they begin with those that are read without.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/record_source.h>

#include "fuzz/repair.h"
#include "fuzz/support.h"
#include "tests/convert/sources.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dovetail::fuzz {
namespace {

constexpr std::uint32_t kMostRecordBytes = 1u << 16;

struct Found {
  std::vector<std::string> records;
  bool good = false;
};

Found read(std::string_view bytes, OnError on_error) {
  Found found;
  const MemoryFile file(as_bytes(bytes));
  auto source = RecordSource::open(
      file.path(), {.format = SourceFormat::tfrecord, .max_record_bytes = kMostRecordBytes, .on_error = on_error});
  if (!source) return found;
  std::uint64_t consumed = 0;
  while (true) {
    const auto record = source->next();
    found.good = record && !*record;
    if (!record || !*record) return found;
    require((*record)->size() <= kMostRecordBytes, "no record is longer than allowed");
    require(source->consumed_bytes() >= consumed, "what is consumed never goes back");
    consumed = source->consumed_bytes();
    found.records.emplace_back(as_chars(**record));
  }
}

std::string compressed(std::string_view bytes, unsigned how) {
  switch (how % 4) {
    case 1:
      return test::gzip(bytes);
    case 2:
      return test::zlib(bytes);
    case 3:
      return test::snappy_blocks(bytes, 1 + how / 4 * 7);
    default:
      return std::string(bytes);
  }
}

void judge(Input input) {
  const unsigned how = input.byte();
  const std::string bytes = compressed(input.rest(), how);
  const MemoryLimit limit(memory_for(bytes.size()) + 64 * input.rest().size());
  const Found strict = read(bytes, OnError::fail);
  const Found lenient = read(bytes, OnError::skip);
  require(lenient.records.size() >= strict.records.size(), "no record is lost where damage is skipped");
  for (std::size_t i = 0; i < strict.records.size(); ++i) {
    require(lenient.records[i] == strict.records[i], "records are the same where damage is skipped");
  }
  if (strict.good) require(lenient.records.size() == strict.records.size(), "nothing is added where damage is skipped");
  if (how % 4 == 0) return;
  const Found plain = read(input.rest(), OnError::fail);
  if (plain.good) require(strict.good && strict.records == plain.records, "compression does not change records");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (mutated > 1 && seed % 4 != 0) {
    dovetail::fuzz::repair_tfrecord(std::as_writable_bytes(std::span(data + 1, mutated - 1)));
  }
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
