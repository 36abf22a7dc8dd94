// SPDX-License-Identifier: Apache-2.0
#include "tests/reader/delivery/sample_dataset.h"

#include "tests/support/sample_records.h"

namespace dovetail::test {

std::string sample_record(std::uint64_t id, const SampleShape& shape) {
  const std::uint64_t size = shape.min_bytes + Draws(id).next() % (shape.max_bytes - shape.min_bytes + 1);
  std::string record(size, static_cast<char>('a' + id % 26));
  for (std::size_t i = 0; i < record.size(); i += 16) {
    const std::uint64_t word = Draws(id * 1000003 + i).next();
    for (std::size_t k = 0; k < 8 && i + k < record.size(); ++k) record[i + k] = static_cast<char>(word >> (8 * k));
  }
  return record;
}

Dataset make_sample(const std::string& folder, const SampleShape& shape) {
  DatasetWriterOptions options{.shard = {.codec = shape.codec,
                                         .block_bytes = shape.block_bytes,
                                         .run_records = shape.run_records,
                                         .dataset_id = DatasetId{{1, 2, 3}}},
                               .shard_bytes = 0,
                               .encode_threads = 1};
  DatasetWriter writer = DatasetWriter::create(folder, options).value();
  std::uint64_t id = 0;
  for (std::size_t shard = 0; shard < shape.shard_records.size(); ++shard) {
    if (shard > 0) writer.next_shard().value();
    for (std::uint64_t i = 0; i < shape.shard_records[shard]; ++i) {
      writer.append(as_bytes(sample_record(id++, shape))).value();
    }
  }
  writer.finish().value();
  return Dataset::open(folder).value();
}

}  // namespace dovetail::test
