// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <dovetail/error.h>
#include <dovetail/export.h>

namespace dovetail {

/// Rank of a process in a data-parallel job.
struct DOVETAIL_EXPORT RankContext {
  std::uint32_t rank = 0;        ///< In [0, world).
  std::uint32_t world = 1;       ///< Processes of the job.
  std::uint32_t local_rank = 0;  ///< Rank among the processes of this node, in [0, local_world).
  /// Processes on this node; they share its threads.
  std::uint32_t local_world = 1;
  std::string source = "given";  ///< Origin of the numbers, for messages.

  /// Looks up an environment variable; empty if it is not set.
  using Lookup = std::function<std::optional<std::string>(const char* name)>;

  /// Reads the variables of the launcher. The first complete set counts:
  /// - torchrun: `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`;
  /// - Open MPI: `OMPI_COMM_WORLD_*`;
  /// - Slurm: `SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID`, `SLURM_NTASKS_PER_NODE`. These count
  ///   only in a job step of more than one task, or if no other set is present;
  /// - PMI: `PMI_RANK`, `PMI_SIZE`, `MPI_LOCALRANKID`, `MPI_LOCALNRANKS`.
  ///
  /// Without any set: rank 0 of 1. The local numbers may both be missing: local rank 0 of 1. Where
  /// only the local world is missing, it is the local rank plus one. Under Slurm it is what the
  /// step's `SLURM_STEP_TASKS_PER_NODE` gives for node `SLURM_NODEID`, else
  /// `SLURM_NTASKS_PER_NODE`, else the same.
  /// Errors: `invalid_option` for a set that is incomplete, not numeric, or out of range; the
  ///         message names the variable.
  static Result<RankContext> from_environment();
  static Result<RankContext> from_environment(const Lookup& lookup);

  friend bool operator==(const RankContext&, const RankContext&) = default;
};

}  // namespace dovetail
