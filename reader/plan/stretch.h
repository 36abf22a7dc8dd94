// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/order.h>

#include "reader/plan/pass_order.h"

namespace dovetail {

struct Stretch::Content {
  detail::PassOrder order;
  std::uint64_t begin = 0;  ///< Outputs [begin, end) of the pass.
  std::uint64_t end = 0;
  std::uint64_t first_run = 0;  ///< The number of the pass's first run.
  RowStatus status = RowStatus::first;
};

}  // namespace dovetail
