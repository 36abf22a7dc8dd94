// SPDX-License-Identifier: Apache-2.0
// Opens a shard as a file, reads it, and verifies it. A file that verifies is read to its end, with
// as many records; what is read after damage is skipped lies behind it.
#include <cstddef>
#include <cstdint>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "fuzz/support.h"

namespace dovetail::fuzz {
namespace {

struct Counts {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  bool within_limits = true;  ///< The sizes, of those that the footer gives.
  bool failed = false;
};

Counts read_all(RecordReader& reader) {
  Counts counts;
  const std::uint64_t end = reader.shard().info.records;
  while (true) {
    const std::uint64_t position = reader.position();
    const auto record = reader.next();
    if (record && !*record) break;
    if (record) {
      ++counts.records;
      const std::size_t bytes = (*record)->size();
      const ShardInfo& info = reader.shard().info;
      counts.within_limits = counts.within_limits && info.min_record_bytes <= bytes && bytes <= info.max_record_bytes;
      require(reader.position() == position + 1, "each record is one further");
      continue;
    }
    if (record.error().kind() != ErrorKind::damaged) {
      counts.failed = true;
      break;
    }
    const LostRange lost = reader.skip_damage();
    require(lost.first_record <= position && position < lost.end_record && lost.end_record <= end,
            "what is lost is what was asked for");
    counts.lost += lost.end_record - position;
  }
  if (!counts.failed) require(counts.records + counts.lost == end, "each record is read or lost");
  return counts;
}

void judge(ByteView bytes) {
  const MemoryFile file(bytes);
  const MemoryLimit limit(memory_for(bytes.size()));
  const auto report = verify(file.path(), 1);
  const bool good = report && report->ok();
  auto reader = RecordReader::open(file.path());
  if (!reader) return require(!good, "what verifies opens");
  const Counts counts = read_all(*reader);
  if (!good) return;
  require(!counts.failed && counts.lost == 0, "what verifies is read");
  require(counts.within_limits, "what verifies has records of the sizes that its footer gives");
  if (report->records != counts.records) {  // of a manifest those of its shards
    require(reader->shard().record_type == "dovetail.ShardInfo", "as many records as were verified");
  }
  if (counts.records == 0) return;
  require(reader->seek(counts.records - 1).has_value(), "the last record is found");
  const auto last = reader->next();
  require(last && *last, "the last record is read again");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge(std::as_bytes(std::span(data, size)));
  return 0;
}
