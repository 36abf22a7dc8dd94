// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dovetail/dataset.h>

#include "job.h"

namespace digits {

/// The same loop with a split by files: each rank plans only the files dealt to it, as loaders do
/// that hand out whole files. The ranks' steps then differ, and an all-reduce in every step would
/// wait for ever. Instead of running into that, the ranks compare their plans and say who would
/// have left whom waiting.
void show_per_file_split(const mpi_job::Job& job, const dovetail::Dataset& dataset, std::uint32_t batch);

}  // namespace digits
