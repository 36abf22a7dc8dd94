// SPDX-License-Identifier: Apache-2.0
// What the tests of faults write, and how they look at what is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/dataset_writer.h>

namespace dovetail::test {

/// Records [first, first + count), of up to `most` bytes.
std::vector<std::string> written_records(std::uint64_t first, std::uint64_t count, std::uint32_t most = 3000);
/// Writes a dataset of them.
Result<DatasetInfo> write_dataset(const std::string& folder, const std::vector<std::string>& records,
                                  const DatasetWriterOptions& options);
/// Those of a shard or a dataset, which must be good.
std::vector<std::string> records_left(const std::string& path);
/// Checks that no reader takes the shards in a folder, if it is there, for a dataset. With a
/// manifest each that is missing is an error.
void expect_no_part_opens(const std::string& folder);
/// Names of everything in a folder; none where there is no folder.
std::vector<std::string> names_left(const std::string& folder);

}  // namespace dovetail::test
