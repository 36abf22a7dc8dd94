// SPDX-License-Identifier: Apache-2.0
// Indexes a TFRecord file, beside an index of DALI's if the input has one. What is indexed reads as
// a shard, with the records that the file has as a source.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <dovetail/record_reader.h>
#include <dovetail/record_source.h>
#include <dovetail/tfrecord_index.h>

#include "fuzz/repair.h"
#include "fuzz/support.h"
#include "tests/convert/sources.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace dovetail::fuzz {
namespace {

constexpr std::size_t kHeadBytes = 3;  // options, and the bytes of DALI's index

void judge(Input input) {
  static const std::string path = scratch_folder() + "/file.tfrecord";
  static const std::string dali = scratch_folder() + "/file.idx";
  const unsigned bits = input.byte();
  const std::string_view dali_text = input.take(input.u16());
  test::write_file(path, input.rest());
  TfrecordIndexOptions options = {.block_bytes = 1024u << bits % 4, .run_records = bits / 4 % 16u};
  if (!dali_text.empty()) {
    test::write_file(dali, dali_text);
    options.check_dali_index = dali;
  }
  const MemoryLimit limit(memory_for(input.rest().size() + dali_text.size()) + window_for(input.rest()));
  const auto report = index_tfrecord(path, options, true);
  const auto records = test::read_source(path, {.format = SourceFormat::tfrecord});
  if (!report) return;
  require(records.has_value(), "what is indexed is read as a source");
  require(report->shard.records == records->size(), "an index has all records");
  auto reader = RecordReader::open(path);
  require(reader.has_value(), "what is indexed opens as a shard");
  for (const std::string& record : *records) {
    const auto found = reader->next();
    require(found && *found && as_chars(**found) == record, "a record is the one at its place");
  }
  const auto checked = verify(path, 1);
  require(checked && checked->ok() && checked->records == records->size(), "what is indexed verifies");
}

}  // namespace
}  // namespace dovetail::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max_size);
  if (mutated < dovetail::fuzz::kHeadBytes || seed % 4 == 0) return mutated;
  const std::size_t dali_bytes = data[1] + std::size_t{256} * data[2];
  const std::size_t at = std::min(mutated, dovetail::fuzz::kHeadBytes + dali_bytes);
  dovetail::fuzz::repair_tfrecord(std::as_writable_bytes(std::span(data + at, mutated - at)));
  return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dovetail::fuzz::judge({data, size});
  return 0;
}
