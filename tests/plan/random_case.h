// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <dovetail/plan.h>

#include "tests/plan/random_source.h"

namespace dovetail::test {

/// A small dataset, options that mostly suit it, and an epoch.
struct RandomCase {
  std::shared_ptr<DatasetShape> dataset = std::make_shared<DatasetShape>();
  PlanOptions options;
  std::uint32_t epoch = 0;

  std::string describe() const;
};

RandomCase random_case(RandomSource& random);

/// Other worlds, batches and lanes.
void change_world(PlanOptions& options, RandomSource& random);

}  // namespace dovetail::test
