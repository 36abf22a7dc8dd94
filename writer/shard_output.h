// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/shard_info.h>

#include "format/block_encoder.h"
#include "format/messages.h"
#include "format/shard_encoder.h"
#include "writer/block_cutter.h"
#include "writer/output_file.h"

namespace dovetail::detail {

/// A complete shard that waits to be published.
struct FinishedShard {
  OutputFile file;
  ShardInfo info;
};

/// A shard being written: takes encoded blocks, and writes about 1 MiB at a time.
///
/// Threads: none; one thread at a time.
/// Errors:  as `OutputFile`.
class ShardOutput {
 public:
  static Result<ShardOutput> create(std::shared_ptr<const OutputFolder> folder, const std::string& name,
                                    const DatasetId& dataset_id, std::uint32_t shard_number,
                                    const format::Metadata& metadata);

  Result<void> add(const format::EncodedBlock& block);
  /// Writes the end of the shard. The file is neither synced nor published. Last call.
  Result<FinishedShard> finish(const ShardCut& cut);

 private:
  ShardOutput(OutputFile file, const DatasetId& dataset_id, std::uint32_t shard_number);
  Result<void> flush();

  OutputFile file_;
  format::ShardEncoder encoder_;
  std::vector<std::byte> buffer_;
};

}  // namespace dovetail::detail
