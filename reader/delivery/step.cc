// SPDX-License-Identifier: Apache-2.0
#include "reader/delivery/step.h"

#include <string>

#include "reader/delivery/run_window.h"

namespace dovetail::detail {

void Step::reset() {
  origin.reset();
  epoch = 0;
  number = 0;
  end_of_epoch = false;
  row_count = 0;
  batch_rows = 1;
  slab_bytes = 0;
  laid_out = false;
  blockless.clear();
  late.clear();
  lost.clear();
  lost_before.clear();
  misses_rows = false;
  has_gaps = false;
  units.clear();
  loads.clear();
  next_unit = 0;
  handed_over = 0;
  retired = 0;
  gathering = false;
  done = false;
  error.reset();
  good_batches = 0;
  following = nullptr;
  asked_for = false;
  decoder.reset();
  lease.reset();
  unfit.clear();
  unfit_records = 0;
  direct.clear();
  direct_left = 0;
  retried_reads = 0;
  direct_reads = 0;
  direct_bytes = 0;
  gathering_time = {};
}

}  // namespace dovetail::detail
