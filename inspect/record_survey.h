// SPDX-License-Identifier: Apache-2.0
// How large the records are, and what they seem to hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dovetail/dataset.h>
#include <dovetail/error.h>
#include <dovetail/record_reader.h>

#include "inspect/payload.h"
#include "inspect/progress.h"
#include "inspect/size_histogram.h"

namespace dovetail::inspect {

struct RecordSurvey {
  SizeHistogram sizes;
  PayloadCounts payloads;  ///< Of the records that were looked at.
  bool exact = true;       ///< Whether `sizes` counts every record; otherwise those of some blocks, taken evenly.
  std::uint64_t damaged_blocks = 0;  ///< Met on the way; their records are not counted.
  std::uint64_t looked_at = 0;       ///< Records that were read, or could not be.
  std::uint64_t unreadable = 0;      ///< Those that could not be.
  std::string damage;                ///< Why the first one of them could not.
};

/// Payloads of records that pass by one after the other: of some, evenly spread, however many come.
class PayloadSampler {
 public:
  void add(ByteView record);
  PayloadCounts counts() const;

 private:
  std::vector<Payload> taken_;
  std::uint64_t passed_ = 0;
  std::uint64_t stride_ = 1;
};

/// The number of the i-th of `samples` records at equal distances, of so many in all. Needs: i < samples <= records.
std::uint64_t evenly(std::uint64_t i, std::uint64_t samples, std::uint64_t records) noexcept;

/// Takes sizes from the index where a block's records have one size, and otherwise reads blocks: all of them if they are
/// few, else some at equal distances. `full` reads everything.
///
/// Needs: `shards` describes the shards of `dataset`, in order.
/// Errors: those of `RecordReader`, except for damaged blocks, which are counted; `operation_canceled`.
/// Cost:  reads 64 MiB for sizes and as much for samples, however large the dataset is.
Result<RecordSurvey> survey(const Dataset& dataset, std::span<const ShardDescription> shards, bool full,
                            const OnProgress& on_progress = {});

}  // namespace dovetail::inspect
