// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <dovetail/dataset.h>

#include "settings.h"

namespace cuda_trainer {

/// How often the kernel has to repeat itself to take as long as the copy of a batch does, each
/// measured alone.
std::uint32_t balanced_work(const dovetail::Dataset& dataset, const Settings& settings);

}  // namespace cuda_trainer
