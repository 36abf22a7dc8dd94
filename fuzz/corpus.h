// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/support/sample_records.h"

namespace dovetail::fuzz {

/// The records of the TFRecord file that the sidecar target puts indexes beside, and the corpus has
/// indexes of.
inline test::Records indexed_records() {
  test::Records records;
  for (std::size_t i = 0; i < 40; ++i) records.push_back(test::prose(i * 7 % 60, i));
  return records;
}

}  // namespace dovetail::fuzz
