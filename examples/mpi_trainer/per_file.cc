// SPDX-License-Identifier: Apache-2.0
#include "per_file.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <dovetail/plan.h>

namespace digits {

using mpi_job::all_equal;
using mpi_job::Job;

namespace {

/// Files rank, rank + world, rank + 2 world, ...
std::shared_ptr<const dovetail::DatasetShape> files_of(const Job& job, const dovetail::Dataset& dataset) {
  auto files = std::make_shared<dovetail::DatasetShape>();
  const auto& shards = dataset.shape()->shards;
  for (auto i = static_cast<std::size_t>(job.rank()); i < shards.size(); i += static_cast<std::size_t>(job.world())) {
    files->shards.push_back(shards[i]);
    files->fingerprint.low += dataset.shards()[i].fingerprint;  // names what these files hold
  }
  return files;
}

void print_hang(const std::vector<std::uint64_t>& steps) {
  const std::uint64_t shortest = *std::min_element(steps.begin(), steps.end());
  std::string leaving;
  std::string hanging;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    std::printf("  rank %zu: %llu steps from its own files\n", rank, static_cast<unsigned long long>(steps[rank]));
    (steps[rank] == shortest ? leaving : hanging) += ' ' + std::to_string(rank);
  }
  std::printf("without a word from the plan, rank%s would have left after %llu steps and hung rank%s\n",
              leaving.c_str(), static_cast<unsigned long long>(shortest), hanging.c_str());
}

}  // namespace

void show_per_file_split(const Job& job, const dovetail::Dataset& dataset, std::uint32_t batch) {
  dovetail::PlanOptions alone;
  alone.batch = batch;
  const auto mine = dovetail::Plan::make(files_of(job, dataset), alone);
  // A rank whose files do not fill one batch has no plan: no steps.
  const std::uint64_t steps = mine ? mine->steps(0).value() : 0;
  const bool same_plan = all_equal(mine ? mine->plan_checksum() : 0);
  const std::vector<std::uint64_t> all_steps = mpi_job::gather_all(steps);
  if (job.first()) {
    std::printf("split by files: the ranks' plans are %s\n", same_plan ? "the same" : "NOT the same");
    if (std::equal(all_steps.begin() + 1, all_steps.end(), all_steps.begin())) {
      std::printf("  but all have %llu steps, by luck\n", static_cast<unsigned long long>(steps));
    } else {
      print_hang(all_steps);
    }
  }

  dovetail::PlanOptions together = alone;
  together.world = static_cast<std::uint32_t>(job.world());
  const auto plan = dovetail::Plan::make(dataset.shape(), together).value();
  if (!all_equal(plan.plan_checksum()) || !job.first()) return;
  std::printf("one plan for all: %llu steps on each of %d ranks\n",
              static_cast<unsigned long long>(plan.steps(0).value()), job.world());
}

}  // namespace digits
