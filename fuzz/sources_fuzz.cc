// SPDX-License-Identifier: Apache-2.0
// Reads an input as each of the formats that can be converted, in bounded memory. Records that are
// cut into several ranges are the same; with damage skipped, there are no fewer.
#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/record_source.h>

#include "fuzz/source_files.h"
#include "fuzz/support.h"

namespace dovetail::fuzz {
namespace {

constexpr std::uint32_t kMostRecordBytes = 1u << 16;

struct Count {
  std::uint64_t records = 0;
  bool good = false;
};

Count read(const std::string& path, const SourceOptions& options) {
  Count count;
  auto source = RecordSource::open(path, options);
  if (!source) return count;
  std::uint64_t consumed = 0;
  while (true) {
    const auto record = source->next();
    if (!record) {
      require(!record.error().to_string().empty(), "a failure says what it is");
      return count;
    }
    if (!*record) break;
    require((*record)->size() <= kMostRecordBytes, "no record is longer than allowed");
    require(source->consumed_bytes() >= consumed, "what is consumed never goes back");
    consumed = source->consumed_bytes();
    require(consumed <= source->input_bytes(), "no more is consumed than there is");
    ++count.records;
  }
  count.good = true;
  return count;
}

/// Records that are read in three ranges, one after the other.
std::uint64_t read_ranges(const std::string& path, const SourceOptions& options) {
  std::uint64_t records = 0;
  for (std::uint64_t part = 0; part < 3; ++part) {
    auto source = RecordSource::open(path, options);
    require(source.has_value(), "what was opened once opens again");
    const std::uint64_t end = part == 2 ? UINT64_MAX : (part + 1) * source->input_bytes() / 3;
    require(source->skip_to(part * source->input_bytes() / 3).has_value(), "what is good can be skipped");
    while (true) {
      const auto record = source->next();
      require(record.has_value(), "a range of what is good is good");
      if (!*record || source->consumed_bytes() >= end) break;
      ++records;
    }
  }
  return records;
}

void judge(Input input) {
  const std::size_t window = window_for(input.rest());
  SourceFiles source = make_source(input, kMostRecordBytes);
  const std::string& path = source.path;
  SourceOptions& options = source.options;
  const MemoryLimit limit(memory_for(source.bytes) + 64 * source.bytes + window);
  const Count strict = read(path, options);
  if (strict.good && source.in_ranges) {
    require(read_ranges(path, options) == strict.records, "ranges hold each record once");
  }
  options.on_error = OnError::skip;
  const Count lenient = read(path, options);
  require(lenient.records >= strict.records, "no record is lost where damage is skipped");
  if (strict.good)
    require(lenient.good && lenient.records == strict.records, "nothing changes where nothing is damaged");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return dovetail::fuzz::mutate_source(data, size, max_size, seed, 0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
