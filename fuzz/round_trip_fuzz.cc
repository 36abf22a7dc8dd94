// SPDX-License-Identifier: Apache-2.0
// Writes records of the input's sizes with the input's options and reads them back: they are equal,
// and the file verifies.
#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/record_reader.h>
#include <dovetail/record_writer.h>

#include "fuzz/support.h"
#include "tests/support/decoded_shards.h"

namespace dovetail::fuzz {
namespace {

/// Each record: a length that is now and then long, and what follows, repeated where there is less.
test::Records records_of(Input& input) {
  test::Records records;
  while (!input.rest().empty() && records.size() < 2000) {
    const unsigned kind = input.byte();
    if (kind < 8) {
      records.emplace_back();
    } else if (kind < 224) {
      records.emplace_back(input.take(kind / 4));
    } else {
      const std::size_t size = std::size_t{input.u16()} % 5000;
      const std::string_view part = input.take(16);
      std::string& record = records.emplace_back();
      while (!part.empty() && record.size() < size) record += part;
    }
  }
  return records;
}

void judge(Input input) {
  const MemoryLimit limit((std::size_t{64} << 20) + 256 * input.rest().size());
  static const std::string path = scratch_folder() + "/round_trip.dvt";
  const unsigned bits = input.byte();
  WriterOptions options = {.codec = (bits & 1) != 0     ? Codec::snappy
                                    : (bits & 128) != 0 ? Codec::zstd
                                                        : Codec::none,
                           .block_bytes = 1024u << (bits >> 1) % 8,
                           .run_bytes = 1024u << (bits >> 4) % 8,
                           .run_records = input.byte() % 64u,
                           .dataset_id = test::sample_dataset_id(),
                           .record_type = "fuzz",
                           .overwrite = true};
  const test::Records records = records_of(input);
  RecordWriter writer = RecordWriter::create(path, options).value();
  for (const std::string& record : records) require(writer.append(as_bytes(record)).has_value(), "a record is taken");
  const auto info = writer.finish();
  require(info.has_value(), "a shard is finished");

  const auto decoded = test::read_shard(test::read_file(path));
  require(decoded.has_value(), "a shard decodes");
  require(decoded->records == records, "records come back from memory");
  const auto report = verify(path, 1);
  require(report && report->ok() && report->records == records.size(), "a shard verifies");
  auto reader = RecordReader::open(path);
  require(reader.has_value(), "a shard opens");
  require(reader->shard().info.fingerprint == info->fingerprint && info->records == records.size(), "facts come back");
  for (const std::string& record : records) {
    const auto found = reader->next();
    require(found && *found && as_chars(**found) == record, "records come back from the file");
  }
  const auto end = reader->next();
  require(end && !*end, "there are no more records");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
