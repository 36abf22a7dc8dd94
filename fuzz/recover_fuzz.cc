// SPDX-License-Identifier: Apache-2.0
// Recovers a file. What is written verifies and holds as many records as are told, in work linear
// in the file; a file that verifies loses nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dovetail/record_reader.h>
#include <dovetail/recover.h>

#include "fuzz/support.h"

namespace dovetail::fuzz {
namespace {

void judge(ByteView bytes) {
  const MemoryFile file(bytes);
  const std::string target = scratch_folder() + "/recovered.dvt";
  const MemoryLimit limit(memory_for(bytes.size()));
  const auto before = verify(file.path(), 1);
  const bool good = before && before->ok();
  const auto report = recover(file.path(), target, {.overwrite = true});
  if (!report) return require(!good || report.error().kind() == ErrorKind::usage, "what verifies is recovered");
  require(report->checked_bytes <= 9 * report->source_bytes, "work is linear");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> records;  // blocks need not lie in the order of their records
  for (const LostRange& lost : report->lost) {
    require(
        lost.first_record <= lost.end_record && lost.bytes <= bytes.size() && lost.offset <= bytes.size() - lost.bytes,
        "regions are of the file");
    if (lost.first_record < lost.end_record) records.emplace_back(lost.first_record, lost.end_record);
  }
  std::sort(records.begin(), records.end());
  for (std::size_t i = 1; i < records.size(); ++i) {
    require(records[i - 1].second <= records[i].first, "a record is lost once");
  }
  const auto after = verify(target, 1);
  require(after && after->ok() && after->records == report->records, "what is written verifies");
  if (report->shards.at(0).records != report->records) require(false, "the shard has the records that are told");
  if (!good) return;
  auto source = RecordReader::open(file.path());
  require(source.has_value(), "what verifies opens");
  require(report->ok() && report->shards[0].fingerprint == source->shard().info.fingerprint, "nothing is lost");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge(std::as_bytes(std::span(data, size)));
  return 0;
}
