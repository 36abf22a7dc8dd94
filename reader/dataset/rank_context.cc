// SPDX-License-Identifier: Apache-2.0
#include <dovetail/rank_context.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "format/text/number_text.h"
#include "format/try.h"

namespace dovetail {
namespace {

using Lookup = RankContext::Lookup;

struct Names {
  const char* launcher;
  const char* rank;
  const char* world;
  const char* local_rank;
  const char* local_world;
};

constexpr Names kTorchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"};
constexpr Names kPmi = {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

// Slurm sets the number of tasks per node only if the user asked for it. These variables give it
// for every job step.
constexpr char kSlurmNode[] = "SLURM_NODEID";
constexpr char kSlurmStepTasks[] = "SLURM_STEP_TASKS_PER_NODE";

/// How many of the two variables that every launcher sets are there.
int count_found(const Lookup& lookup, const Names& names) {
  return (lookup(names.rank) ? 1 : 0) + (lookup(names.world) ? 1 : 0);
}

Error bad_variable(const char* name, const std::string& value, const std::string& allowed) {
  return Error(Errc::invalid_option, std::string(name) + " = '" + value + "': " + allowed);
}

Error missing_variable(const char* missing, const char* present, const char* launcher) {
  return Error(Errc::invalid_option, std::string(missing) + " is not set, though " + present + " is; " + launcher +
                                         " sets both: start the program with it, or give rank and world");
}

// The number in a variable that is set. It must be in [least, limit).
Result<std::uint32_t> read_number(const Lookup& lookup, const char* name, std::uint64_t least, std::uint64_t limit) {
  const std::string text = lookup(name).value_or("");
  const std::optional<std::uint32_t> value = format::parse_number<std::uint32_t>(text);
  if (!value || *value < least || *value >= limit) {
    return bad_variable(name, text,
                        "it must be a number from " + std::to_string(least) + " to " + std::to_string(limit - 1));
  }
  return *value;
}

constexpr std::uint64_t kWorldLimit = std::uint64_t{std::numeric_limits<std::uint32_t>::max()} + 1;

Result<RankContext> read_rank_and_world(const Lookup& lookup, const Names& names) {
  if (!lookup(names.rank)) return missing_variable(names.rank, names.world, names.launcher);
  if (!lookup(names.world)) return missing_variable(names.world, names.rank, names.launcher);
  DOVETAIL_ASSIGN(auto world, read_number(lookup, names.world, 1, kWorldLimit));
  DOVETAIL_ASSIGN(auto rank, read_number(lookup, names.rank, 0, world));
  RankContext context;
  context.rank = rank;
  context.world = world;
  context.source = names.launcher;
  return context;
}

// Launchers that start one process per node leave both local numbers out. Many that set the
// variables of torchrun leave out only the local world. It is then the least possible number, as
// under Slurm.
Result<RankContext> read_set(const Lookup& lookup, const Names& names) {
  auto context = read_rank_and_world(lookup, names);
  if (!context) return context;
  const bool has_rank = lookup(names.local_rank).has_value();
  const bool has_world = lookup(names.local_world).has_value();
  if (!has_rank && !has_world) return context;
  if (!has_rank) return missing_variable(names.local_rank, names.local_world, names.launcher);

  if (has_world) {
    DOVETAIL_ASSIGN(context->local_world, read_number(lookup, names.local_world, 1, std::uint64_t{context->world} + 1));
  }
  const std::uint32_t limit = has_world ? context->local_world : context->world;
  DOVETAIL_ASSIGN(context->local_rank, read_number(lookup, names.local_rank, 0, limit));
  if (!has_world) context->local_world = context->local_rank + 1;
  return context;
}

// The number of tasks of one node, from Slurm's list of tasks per node, such as "4(x2),3".
std::optional<std::uint32_t> tasks_of_node(std::string_view list, std::uint32_t node) {
  std::uint64_t first = 0;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));

    std::optional<std::uint32_t> repeats = 1;
    if (const std::size_t open = entry.find("(x"); open != std::string_view::npos && entry.ends_with(')')) {
      repeats = format::parse_number<std::uint32_t>(entry.substr(open + 2, entry.size() - open - 3));
      entry = entry.substr(0, open);
    }
    const std::optional<std::uint32_t> tasks = format::parse_number<std::uint32_t>(entry);
    if (!tasks || !repeats) return std::nullopt;
    if (node < first + *repeats) return tasks;
    first += *repeats;
  }
  return std::nullopt;
}

// The number of tasks on this node: from the job step, else from the user's request, else the least
// possible number.
Result<std::uint32_t> slurm_local_world(const Lookup& lookup, const RankContext& context) {
  const std::optional<std::string> list = lookup(kSlurmStepTasks);
  const std::optional<std::string> node = lookup(kSlurmNode);
  if (list && node) {
    const std::optional<std::uint32_t> node_number = format::parse_number<std::uint32_t>(*node);
    const auto tasks = node_number ? tasks_of_node(*list, *node_number) : std::nullopt;
    if (!tasks) return bad_variable(kSlurmStepTasks, *list, "it does not have the tasks of node " + *node);
    return *tasks;
  }
  if (!lookup(kSlurm.local_world)) return context.local_rank + 1;
  DOVETAIL_ASSIGN(auto asked, read_number(lookup, kSlurm.local_world, 1, kWorldLimit));
  return std::min(asked, context.world);
}

Result<RankContext> read_slurm(const Lookup& lookup) {
  auto context = read_rank_and_world(lookup, kSlurm);
  if (!context || !lookup(kSlurm.local_rank)) return context;
  DOVETAIL_ASSIGN(auto local_rank, read_number(lookup, kSlurm.local_rank, 0, context->world));
  context->local_rank = local_rank;
  DOVETAIL_ASSIGN(auto local_world, slurm_local_world(lookup, *context));
  if (local_rank >= local_world) {
    return bad_variable(kSlurm.local_rank, std::to_string(local_rank),
                        "this node has " + std::to_string(local_world) + " tasks");
  }
  context->local_world = local_world;
  return context;
}

bool is_single_task(const Lookup& lookup) {
  const std::optional<std::string> tasks = lookup(kSlurm.world);
  return tasks && format::parse_number<std::uint32_t>(*tasks) == 1u;
}

}  // namespace

Result<RankContext> RankContext::from_environment() {
  return from_environment([](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  });
}

Result<RankContext> RankContext::from_environment(const Lookup& lookup) {
  // If another launcher was started as the only task of Slurm, Slurm's variables are also set. They
  // do not describe the processes of that launcher.
  const bool others = count_found(lookup, kTorchrun) + count_found(lookup, kOpenMpi) + count_found(lookup, kPmi) > 0;
  const bool slurm_counts = !(others && is_single_task(lookup));
  // If no set of variables is complete, a partial one is an error. A process that took itself for the
  // only rank would read all the data.
  for (const int found : {2, 1}) {
    for (const Names* const names : {&kTorchrun, &kOpenMpi, &kSlurm, &kPmi}) {
      if (count_found(lookup, *names) != found) continue;
      if (names != &kSlurm) return read_set(lookup, *names);
      if (slurm_counts) return read_slurm(lookup);
    }
  }

  RankContext alone;
  alone.source = "no launcher";
  return alone;
}

}  // namespace dovetail
