// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/written_records.h"

#include <filesystem>

#include <gtest/gtest.h>

#include <dovetail/dataset.h>
#include <dovetail/record_reader.h>

#include "tests/reader/delivery/sample_dataset.h"

namespace dovetail::test {

std::vector<std::string> written_records(std::uint64_t first, std::uint64_t count, std::uint32_t most) {
  const SampleShape shape{.shard_records = {}, .min_bytes = 0, .max_bytes = most};
  std::vector<std::string> records;
  for (std::uint64_t id = first; id < first + count; ++id) records.push_back(sample_record(id, shape));
  return records;
}

Result<DatasetInfo> write_dataset(const std::string& folder, const std::vector<std::string>& records,
                                  const DatasetWriterOptions& options) {
  Result<DatasetWriter> writer = DatasetWriter::create(folder, options);
  if (!writer) return writer.error();
  for (const std::string& record : records) {
    if (const Result<void> appended = writer->append(record); !appended) return appended.error();
  }
  return writer->finish();
}

std::vector<std::string> records_left(const std::string& path) {
  EXPECT_TRUE(verify(path).value().ok()) << path;
  const Dataset dataset = Dataset::open(path).value();
  std::vector<std::string> records;
  for (std::uint32_t shard = 0; shard < dataset.shards().size(); ++shard) {
    RecordReader reader = RecordReader::open(dataset, shard).value();
    while (const std::optional<ByteView> record = reader.next().value()) records.emplace_back(as_chars(*record));
  }
  return records;
}

void expect_no_part_opens(const std::string& folder) {
  if (!std::filesystem::exists(folder) || std::filesystem::exists(folder + "/manifest.dvt")) return;
  EXPECT_FALSE(Dataset::open(folder)) << folder;
}

std::vector<std::string> names_left(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) names.push_back(entry.path().filename());
  return names;
}

}  // namespace dovetail::test
