// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/convert.h>
#include <dovetail/error.h>
#include <dovetail/record_writer.h>

#include "convert/input_line.h"
#include "convert/record_notes.h"
#include "convert/record_split.h"
#include "convert/shard_tally.h"
#include "convert/survey.h"
#include "convert/workers.h"
#include "sources/bytes/skip_count.h"
#include "writer/encode_pipeline.h"
#include "writer/output_folder.h"

namespace dovetail::detail {

/// The fixed facts of a part of a conversion, before its first shard is written.
struct ShardWork {
  const InputLine* line = nullptr;
  const RecordSplit* split = nullptr;
  std::uint32_t shards = 1;  ///< Shards of each dataset, over all parts.
  WriterOptions shard;       ///< Includes dataset id and run length.
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 0;
  std::function<bool(const ConvertProgress&)> progress;
  std::vector<std::shared_ptr<const OutputFolder>> folders;  ///< Folder for the shards of each dataset.
  ShardTally* tally = nullptr;
  SkipCount* skips = nullptr;
  RecordNotes* notes = nullptr;
};

/// Passes the records at [begin, end) to `take`, and reports to the meter.
/// Needs:  what `stopped` and the meter refer to outlives the cursor. Once `stopped` returns true,
///         it does so for later ranges, too.
/// Errors: those of cursor, `take` and meter; none once `stopped` returns true.
Result<void> read_range(LineCursor& cursor, std::uint64_t begin, std::uint64_t end, ProgressMeter& meter,
                        const std::function<bool()>& stopped,
                        const std::function<Result<void>(const LineCursor& cursor)>& take);

/// Starts a pipeline for each dataset. Finished shards are published and counted.
Result<std::vector<std::unique_ptr<EncodePipeline>>> start_pipelines(const ShardWork& work, unsigned threads);

/// Writes the shards that the tally does not have, each from its own range of the line.
///
/// Threads take shards in groups, as many as the line has files: a thread must read a file from its
/// beginning, so every further thread would read it once more. Some threads share a file of JSON
/// lines or CSV, in which records are skipped fast.
/// Errors: see `convert`. Finished shards stay.
Result<void> write_shards(const ShardWork& work);

/// Writes the shards that the tally does not have, with all records of the line in shuffled order.
///
/// Each record has a key, see `shuffle_key`. Records are ordered by key, and shard k of S gets the
/// keys from k * 2^64 / S on. A first pass over the line writes the records of the missing shards
/// to buckets: ranges of keys that fit into memory. A second pass loads, sorts and writes them,
/// shard by shard.
/// Errors: as `write_shards`; `budget_too_small` for a record that does not fit into one thread's
/// memory, and for too many buckets.
Result<void> write_shuffled_shards(const ShardWork& work, const Survey& survey, std::uint64_t seed);

}  // namespace dovetail::detail
