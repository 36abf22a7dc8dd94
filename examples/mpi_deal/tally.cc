// SPDX-License-Identifier: Apache-2.0
#include "tally.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>

namespace deal {

namespace {

double reduce(double value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return value;
}

std::uint64_t reduce(std::uint64_t value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, operation, MPI_COMM_WORLD);
  return value;
}

dovetail::Hash128 add_up(const dovetail::Hash128& mine) {
  const auto high = mpi_job::gather_all(mine.high);
  const auto low = mpi_job::gather_all(mine.low);
  dovetail::Hash128 sum;
  for (std::size_t rank = 0; rank < high.size(); ++rank) sum += {high[rank], low[rank]};
  return sum;
}

}  // namespace

void Tally::add(const Rows& given) {
  ++steps;
  bytes += given.values.size();
  for (std::size_t row = 0; row < given.ids.size(); ++row) {
    const dovetail::RowStatus status = given.status[row];
    ++(status == dovetail::RowStatus::empty ? empty_rows : rows);
    if (dovetail::is_counted(status)) digest += dovetail::record_digest(given.ids[row]);
  }
}

Summary summarise(const mpi_job::Job& job, const Tally& mine) {
  Summary summary;
  summary.all.steps = reduce(mine.steps, MPI_MAX);
  summary.all.rows = reduce(mine.rows, MPI_SUM);
  summary.all.empty_rows = reduce(mine.empty_rows, MPI_SUM);
  summary.all.bytes = reduce(mine.bytes, MPI_SUM);
  summary.all.digest = add_up(mine.digest);
  summary.all.seconds = reduce(mine.seconds, MPI_MAX);
  summary.all.idle_seconds = reduce(mine.idle_seconds, MPI_SUM);
  summary.all.cpu_seconds = reduce(mine.cpu_seconds, MPI_SUM);
  const double steps = static_cast<double>(summary.all.steps);
  summary.idle_per_step = summary.all.idle_seconds / job.world() / steps;
  summary.worst_idle_per_step = reduce(mine.idle_seconds, MPI_MAX) / steps;
  summary.first_cpu_seconds = reduce(job.first() ? mine.cpu_seconds : 0, MPI_SUM);
  summary.other_cpu_seconds = (summary.all.cpu_seconds - summary.first_cpu_seconds) / std::max(1, job.world() - 1);
  return summary;
}

std::string Summary::to_text() const {
  char text[400];
  std::snprintf(text, sizeof(text),
                "%llu steps, %llu rows, %llu empty, %llu bytes in %.3f s: %.0f rows/s, %.3f GB/s, digest %s; "
                "idle per step %.3f ms, worst rank %.3f ms; CPU of rank 0 %.2f s, of each other %.2f s",
                static_cast<unsigned long long>(all.steps), static_cast<unsigned long long>(all.rows),
                static_cast<unsigned long long>(all.empty_rows), static_cast<unsigned long long>(all.bytes),
                all.seconds, rows_per_second(), bytes_per_second() / 1e9, all.digest.to_hex().c_str(),
                idle_per_step * 1e3, worst_idle_per_step * 1e3, first_cpu_seconds, other_cpu_seconds);
  return text;
}

}  // namespace deal
