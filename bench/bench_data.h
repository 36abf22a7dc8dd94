// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dovetail/record_writer.h>

#include "bench/job.h"
#include "bench/workloads.h"

namespace dovetail::bench {

/// How the records of a workload lie on the disk.
enum class Form : std::uint8_t {
  stored,    ///< Shards of Dovetail.
  snappy,    ///< The same with Snappy.
  tfrecord,  ///< One TFRecord file for each shard, with an index.
  lmdb,      ///< One LMDB file for all.
  log,       ///< One file in LevelDB's log format for each shard.
};
std::string_view to_string(Form form) noexcept;

/// What decides the bytes of the data, beside the workload.
struct DataSettings {
  std::string folder;
  double scale = 1;
  std::uint64_t run_bytes = WriterOptions{}.run_bytes;
  std::uint32_t block_bytes = WriterOptions{}.block_bytes;
};

/// A workload in one form.
struct Data {
  std::string path;                ///< What its reader opens.
  std::vector<std::string> files;  ///< All files of records.
  std::uint64_t file_bytes = 0;    ///< Of all of them.
  Delivered all;                   ///< What one epoch must deliver; `batches` is 0.
};

/// Makes the data where they are not there yet, complete and of the same recipe; says on the
/// standard error what it makes. Throws what fails.
Data prepare(const Workload& workload, Form form, const DataSettings& settings);

}  // namespace dovetail::bench
