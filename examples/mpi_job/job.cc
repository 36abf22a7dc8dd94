// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <mpi.h>

#include <cstdlib>

namespace mpi_job {

Job::Job(int* argc, char*** argv) {
  // A reader has threads of its own; none of them calls MPI.
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &world_);
}

Job::~Job() {
  MPI_Finalize();
}

void Job::abort() const {
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

std::string broadcast(std::string text) {
  std::uint64_t size = text.size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  text.resize(size);
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

std::vector<std::uint64_t> gather_all(std::uint64_t value) {
  int world = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  std::vector<std::uint64_t> values(static_cast<std::size_t>(world));
  MPI_Allgather(&value, 1, MPI_UINT64_T, values.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  return values;
}

bool all_equal(std::uint64_t value) {
  // The minimum of the complement is the complement of the maximum: one all-reduce finds both.
  std::uint64_t bounds[2] = {value, ~value};
  MPI_Allreduce(MPI_IN_PLACE, bounds, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  return bounds[0] == ~bounds[1];
}

}  // namespace mpi_job
