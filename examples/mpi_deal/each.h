// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "job.h"
#include "rows.h"

namespace deal {

/// Every rank reads its own rows; the ranks do not talk.
std::unique_ptr<RowSource> read_own_rows(const mpi_job::Job& job, const Settings& settings);

}  // namespace deal
