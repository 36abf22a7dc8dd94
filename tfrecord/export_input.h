// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dovetail/bytes.h>
#include <dovetail/error.h>
#include <dovetail/tfrecord_export.h>

#include "convert/shard_jobs.h"
#include "sources/bytes/skip_count.h"

namespace dovetail::detail {

/// The input of an export, divided into shares.
class ExportInput {
 public:
  using Take = std::function<Result<void>(ByteView record)>;

  virtual ~ExportInput() = default;
  virtual std::uint32_t shares() const = 0;
  virtual std::uint64_t total() const = 0;
  /// Passes all records of a share to `take`. Stops early if `stopped` returns true.
  virtual Result<void> read(std::uint32_t share, ProgressMeter& meter, const std::function<bool()>& stopped,
                            const Take& take) const = 0;
  /// The records skipped in all shares. Needs: no thread reads.
  virtual SkipTally skipped() const { return {}; }
  /// Called if no share has a record. Errors: `empty_input`, unless this may be.
  virtual Result<void> allow_empty() const = 0;
};

/// Opens a dataset, or sources if the paths are not a dataset. Errors: those of `Dataset::open` and
/// of sources.
Result<std::unique_ptr<ExportInput>> open_export_input(const TfrecordExportOptions& options,
                                                       const std::vector<std::string>& paths);

}  // namespace dovetail::detail
