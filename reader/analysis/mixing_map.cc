// SPDX-License-Identifier: Apache-2.0
#include <dovetail/mixing.h>

#include "reader/analysis/batch_sample.h"
#include "reader/plan/wide_math.h"

namespace dovetail {

MixingMap map_mixing(const Plan& plan, const EpochPlan& epoch, const MixingMapOptions& options) {
  detail::SampleLimits limits{.rows = options.max_rows, .bins = options.max_step_bins};
  if (options.rank) limits.reader = *options.rank / plan.options().replicate;
  const detail::BatchSample sample(plan, epoch, limits);
  MixingMap map;
  map.complete = sample.complete();
  map.rows.resize(kMixingSlices * sample.bins());
  for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) map.first_step.push_back(sample.bin_begin(bin));
  for (const std::uint32_t reader : sample.readers()) {
    detail::BatchWalk walk(epoch, reader);
    for (std::uint64_t bin = 0; bin < sample.bins(); ++bin) {
      const detail::BatchSample::Window window = sample.window(bin);
      for (std::uint64_t step = 0; step < window.steps; ++step) {
        for (const PlannedRecord& row : walk.batch(window.first_step + step)) {
          if (row.id == kNoId) continue;
          ++map.rows[detail::multiply_divide(row.id, kMixingSlices, plan.records()) * sample.bins() + bin];
        }
      }
    }
  }
  return map;
}

}  // namespace dovetail
