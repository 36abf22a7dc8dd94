// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>

#include "tests/support/files.h"
#include "tests/support/temp_folder.h"

namespace dovetail::test {

/// How the records of a sample dataset look.
struct SampleShape {
  std::vector<std::uint64_t> shard_records;
  std::uint32_t min_bytes = 0;
  std::uint32_t max_bytes = 200;
  Codec codec = Codec::snappy;
  std::uint32_t block_bytes = 1024;
  std::uint64_t run_records = 16;
};

/// The bytes of record `id`: told by the id and the shape alone. Half of them compress.
std::string sample_record(std::uint64_t id, const SampleShape& shape);

/// Writes the records in order into `folder` and opens it.
Dataset make_sample(const std::string& folder, const SampleShape& shape);

}  // namespace dovetail::test
