// SPDX-License-Identifier: Apache-2.0
// Compares the digests of the records that the ranks read with the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dovetail/error.h>
#include <dovetail/identity.h>
#include <dovetail/plan.h>
#include <dovetail/state.h>

#include "tools/command/json.h"

namespace dovetail::tools {

/// Facts from one output of `dovetail read --json`.
struct RankDigest {
  std::string file;
  Hash128 plan_id;
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t batch = 1;
  std::uint32_t replicate = 1;
  std::uint32_t epoch = 0;
  std::uint64_t first_step = 0;
  std::uint64_t steps = 0;      ///< Number of steps read, from `first_step` on.
  std::uint64_t lost_rows = 0;  ///< Rows that were substituted, or left empty, because of damage.
  Hash128 digest;

  std::uint64_t end_step() const noexcept { return first_step + steps; }
};

/// Reads outputs of `read --json`, one object in each file. If `first_step` is missing, it is 0.
/// Errors: `bad_state` for any other content; those of the system. All name the file.
Result<std::vector<RankDigest>> read_digests(const std::vector<std::string>& files);

/// The result for a whole epoch.
struct DigestVerdict {
  enum class Kind {
    good,      ///< Every reader read every step once, the digests add up to the plan's, no row is lost.
    lost,      ///< The digests add up, since damaged rows keep their planned ids; but rows are lost.
    differs,   ///< The digests do not add up: some rank read other records than planned.
    unusable,  ///< Files are missing, contradict each other, or belong to other plans.
  };
  Kind kind = Kind::good;
  std::uint64_t files = 0;
  Hash128 planned;
  Hash128 found;                      ///< Sum over the readers; each counts once.
  std::uint64_t lost_rows = 0;        ///< Sum over the files, replicas among them.
  std::vector<std::string> problems;  ///< Each problem, naming rank and file.
};

/// Checks the reports of an epoch. Replicas must agree, and count once. If the world changed in the
/// epoch, `plan` continues at `state`. Reports from before the change are recognised by the plan
/// that they name.
/// Errors: those of planning.
/// Cost:   that of `EpochPlan::digest`. If the digests differ, also a walk of the order of every
///         report, to find the rank.
Result<DigestVerdict> check_digests(const Plan& plan, const std::optional<State>& state, std::uint32_t epoch,
                                    const std::shared_ptr<const DatasetShape>& dataset,
                                    const std::vector<RankDigest>& reports);

boost::json::object to_json(const DigestVerdict& verdict);
std::string to_text(const DigestVerdict& verdict);

}  // namespace dovetail::tools
