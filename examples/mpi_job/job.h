// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job do together, over MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpi_job {

/// MPI for the life of `main`.
class Job {
 public:
  Job(int* argc, char*** argv);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int rank() const noexcept { return rank_; }
  int world() const noexcept { return world_; }
  bool first() const noexcept { return rank_ == 0; }
  /// Ends all ranks. For a failure that one rank alone has met.
  [[noreturn]] void abort() const;

 private:
  int rank_ = 0;
  int world_ = 1;
};

/// The text that rank 0 has, on all ranks.
std::string broadcast(std::string text);

/// Every rank's value, by rank.
std::vector<std::uint64_t> gather_all(std::uint64_t value);

/// One all-reduce: whether all ranks have the same value.
bool all_equal(std::uint64_t value);

}  // namespace mpi_job
