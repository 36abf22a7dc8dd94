// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "job.h"
#include "rows.h"

namespace deal {

/// Rank 0 reads for all and deals: one batch of all ranks' rows, in as many lanes as there are
/// ranks, is the ranks' batches side by side, so each gets the rows that it would have read itself.
/// Only rank 0 needs the dataset.
///
/// While the ranks use a step, the next one is on its way: rank 0 holds two batches at a time.
///
/// Threads: a collective of all ranks, as is each `next` of what it gives. Not while another deal
///          is under way.
std::unique_ptr<RowSource> deal_rows(const mpi_job::Job& job, const Settings& settings);

}  // namespace deal
