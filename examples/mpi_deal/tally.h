// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <dovetail/identity.h>

#include "job.h"
#include "rows.h"

namespace deal {

/// What a rank got, and what it took.
struct Tally {
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;  ///< That hold a record.
  std::uint64_t empty_rows = 0;
  std::uint64_t bytes = 0;
  dovetail::Hash128 digest;
  double seconds = 0;
  double idle_seconds = 0;  ///< In which the rank had no rows.
  double cpu_seconds = 0;   ///< Of all threads.

  void add(const Rows& rows);
};

/// What all ranks together got and took; on every rank.
struct Summary {
  Tally all;                       ///< Steps and seconds of the slowest rank, the rest added up.
  double idle_per_step = 0;        ///< Seconds; the mean of the ranks,
  double worst_idle_per_step = 0;  ///< and the rank that waited longest.
  double first_cpu_seconds = 0;    ///< Of rank 0.
  double other_cpu_seconds = 0;    ///< Of the others, on average.

  double rows_per_second() const { return static_cast<double>(all.rows) / all.seconds; }
  double bytes_per_second() const { return static_cast<double>(all.bytes) / all.seconds; }
  /// One line.
  std::string to_text() const;
};

/// Adds up the tallies of all ranks. A collective.
Summary summarise(const mpi_job::Job& job, const Tally& mine);

}  // namespace deal
