// SPDX-License-Identifier: Apache-2.0
// The sizes of the records of a dataset, and a guess of their content.
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
  PayloadCounts payloads;            ///< Of the examined records.
  bool sampled = false;              ///< Whether `sizes` is of some blocks at equal distances, not of all.
  bool exact = true;                 ///< Whether `sizes` counts every record: not sampled, and without damage.
  std::uint64_t damaged_blocks = 0;  ///< Blocks found damaged.
  std::uint64_t looked_at = 0;       ///< Examined records, including unreadable ones.
  std::uint64_t unreadable = 0;      ///< Examined records that could not be read.
  std::string damage;                ///< The error of the first record that could not be read.
};

/// The payloads of a stream of unknown length, from a sample at equal distances.
class PayloadSampler {
 public:
  void add(ByteView record);
  PayloadCounts counts() const;

 private:
  std::vector<Payload> taken_;
  std::uint64_t passed_ = 0;
  std::uint64_t stride_ = 1;
};

/// The number of the i-th of `samples` records at equal distances. Needs: i < samples <= records.
std::uint64_t evenly(std::uint64_t i, std::uint64_t samples, std::uint64_t records) noexcept;

/// Takes sizes from the index if all records of a block have one size. Otherwise reads blocks: all
/// blocks if they are few, else some at equal distances. `full` reads everything.
///
/// Needs: `shards` describes the shards of `dataset`, in order.
/// Errors: those of `RecordReader`, except for damaged blocks, which are counted;
///         `operation_canceled`.
/// Cost:  decodes about 64 MiB for sizes and as much for samples.
Result<RecordSurvey> survey(const Dataset& dataset, std::span<const ShardDescription> shards, bool full,
                            const OnProgress& on_progress = {});

}  // namespace dovetail::inspect
