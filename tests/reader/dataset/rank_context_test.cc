// SPDX-License-Identifier: Apache-2.0
#include <dovetail/rank_context.h>

#include <map>
#include <string>

#include "tests/support/fails.h"

namespace dovetail::test {
namespace {

using Variables = std::map<std::string, std::string>;

Result<RankContext> context_from(const Variables& variables) {
  return RankContext::from_environment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Variables operator+(Variables left, const Variables& right) {
  left.insert(right.begin(), right.end());
  return left;
}

const Variables kTorchrun = {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                            {"OMPI_COMM_WORLD_SIZE", "6"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
const Variables kSlurm = {
    {"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "8"}};
const Variables kSlurmSingle = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_LOCALID", "0"}};
const Variables kPmi = {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "4"}};

struct LauncherCase {
  const char* name;
  Variables variables;
  RankContext expected;
};

void PrintTo(const LauncherCase& c, std::ostream* out) {
  *out << c.name;
}

class RankContextLauncherTest : public ::testing::TestWithParam<LauncherCase> {};

TEST_P(RankContextLauncherTest, TellsTheProcess) {
  const auto context = context_from(GetParam().variables).value();
  EXPECT_EQ(context.rank, GetParam().expected.rank);
  EXPECT_EQ(context.world, GetParam().expected.world);
  EXPECT_EQ(context.local_rank, GetParam().expected.local_rank);
  EXPECT_EQ(context.local_world, GetParam().expected.local_world);
  EXPECT_EQ(context.source, GetParam().expected.source);
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, RankContextLauncherTest,
    ::testing::Values(
        LauncherCase{"Nothing", {}, {0, 1, 0, 1, "no launcher"}},
        LauncherCase{"Torchrun", kTorchrun, {5, 8, 1, 4, "torchrun"}},
        LauncherCase{"OpenMpi", kOpenMpi, {3, 6, 0, 3, "Open MPI"}},
        LauncherCase{"Slurm", kSlurm, {9, 16, 1, 8, "Slurm"}}, LauncherCase{"Pmi", kPmi, {2, 4, 2, 4, "PMI"}},
        LauncherCase{"TorchrunInSlurm", kTorchrun + kSlurm, {5, 8, 1, 4, "torchrun"}},
        LauncherCase{"TorchrunUnderOpenMpi", kTorchrun + kOpenMpi, {5, 8, 1, 4, "torchrun"}},
        LauncherCase{"OpenMpiInSlurm", kOpenMpi + kSlurm, {3, 6, 0, 3, "Open MPI"}},
        LauncherCase{"SlurmWithPmi", kSlurm + kPmi, {9, 16, 1, 8, "Slurm"}},
        LauncherCase{"PmiInASingleSlurmTask", kSlurmSingle + kPmi, {2, 4, 2, 4, "PMI"}},
        LauncherCase{"ASingleSlurmTask", kSlurmSingle, {0, 1, 0, 1, "Slurm"}},
        LauncherCase{"AWholeSetBeforeAPartialOne", Variables{{"WORLD_SIZE", "8"}} + kOpenMpi, {3, 6, 0, 3, "Open MPI"}},
        LauncherCase{"TorchrunWithoutLocalNumbers", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, {1, 2, 0, 1, "torchrun"}},
        LauncherCase{"TorchrunThatTellsOnlyTheLocalRank",
                     {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}},
                     {3, 4, 2, 3, "torchrun"}},
        LauncherCase{"SlurmWithoutLocalNumbers", {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, {1, 2, 0, 1, "Slurm"}},
        LauncherCase{"SlurmThatTellsOnlyTheLocalRank",
                     {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "2"}},
                     {3, 4, 2, 3, "Slurm"}},
        LauncherCase{"SlurmStepWithUnequalNodes",
                     kSlurm + Variables{{"SLURM_NODEID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "6(x2),3,1"}},
                     {9, 16, 1, 3, "Slurm"}},
        LauncherCase{
            "SlurmAskedForMorePerNodeThanThereAre",
            {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}, {"SLURM_NTASKS_PER_NODE", "8"}},
            {0, 2, 0, 2, "Slurm"}},
        LauncherCase{"TheLargestWorld",
                     {{"RANK", "4294967294"}, {"WORLD_SIZE", "4294967295"}},
                     {4294967294u, 4294967295u, 0, 1, "torchrun"}}),
    [](const auto& c) { return std::string(c.param.name); });

struct BadCase {
  const char* name;
  Variables variables;
  const char* named;  ///< The variable that the message must name.
};

void PrintTo(const BadCase& c, std::ostream* out) {
  *out << c.name;
}

class RankContextErrorTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(RankContextErrorTest, NamesTheVariable) {
  EXPECT_THAT(context_from(GetParam().variables), Fails(Errc::invalid_option).saying(GetParam().named));
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

INSTANTIATE_TEST_SUITE_P(
    Errors, RankContextErrorTest,
    ::testing::Values(BadCase{"NoRank", without(kTorchrun, "RANK"), "RANK"},
                      BadCase{"NoWorld", without(kTorchrun, "WORLD_SIZE"), "WORLD_SIZE"},
                      BadCase{"NoLocalRank", without(kTorchrun, "LOCAL_RANK"), "LOCAL_RANK"},
                      BadCase{"LocalRankBeyondWorld",
                              Variables{{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "8"}}, "LOCAL_RANK"},
                      BadCase{"NoOpenMpiRank", without(kOpenMpi, "OMPI_COMM_WORLD_RANK"), "OMPI_COMM_WORLD_RANK"},
                      BadCase{"NoSlurmWorld", without(kSlurm, "SLURM_NTASKS"), "SLURM_NTASKS"},
                      BadCase{"TheShellOfAnAllocationOfSlurm", Variables{{"SLURM_NTASKS", "4"}},
                              "SLURM_PROCID is not set, though SLURM_NTASKS is; Slurm sets both: start the program "
                              "with it, or give rank and world"},
                      BadCase{"NoPmiWorld", without(kPmi, "PMI_SIZE"), "PMI_SIZE"},
                      BadCase{"PartOfTorchrunInASingleSlurmTask", without(kTorchrun, "RANK") + kSlurmSingle, "RANK"},
                      BadCase{"Empty", with(kTorchrun, "RANK", ""), "RANK"},
                      BadCase{"Word", with(kTorchrun, "RANK", "first"), "RANK"},
                      BadCase{"Negative", with(kTorchrun, "RANK", "-1"), "RANK"},
                      BadCase{"Space", with(kTorchrun, "RANK", " 1"), "RANK"},
                      BadCase{"Tail", with(kTorchrun, "RANK", "1x"), "RANK"},
                      BadCase{"Overflow", with(kTorchrun, "WORLD_SIZE", "4294967296"), "WORLD_SIZE"},
                      BadCase{"WorldOfNone", with(kOpenMpi, "OMPI_COMM_WORLD_SIZE", "0"), "OMPI_COMM_WORLD_SIZE"},
                      BadCase{"RankBeyondWorld", with(kTorchrun, "RANK", "8"),
                              "RANK = '8': it must be a number from 0 to 7"},
                      BadCase{"LocalRankBeyondLocalWorld", with(kTorchrun, "LOCAL_RANK", "4"), "LOCAL_RANK"},
                      BadCase{"LocalWorldBeyondWorld", with(kTorchrun, "LOCAL_WORLD_SIZE", "9"), "LOCAL_WORLD_SIZE"},
                      BadCase{"SlurmLocalRankBeyondItsNode", with(kSlurm, "SLURM_LOCALID", "8"), "SLURM_LOCALID"},
                      BadCase{"SlurmStepThatIsNoList",
                              kSlurm + Variables{{"SLURM_NODEID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "many"}},
                              "SLURM_STEP_TASKS_PER_NODE"},
                      BadCase{"SlurmNodeBeyondTheList",
                              kSlurm + Variables{{"SLURM_NODEID", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x4)"}},
                              "SLURM_STEP_TASKS_PER_NODE"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(RankContextTest, AWholeButWrongSetIsNotPassedOver) {
  EXPECT_THAT(context_from(with(kTorchrun, "RANK", "99") + kOpenMpi), Fails().saying("RANK"));
}

TEST(RankContextTest, ReadsTheProcessEnvironment) {
  for (const Variables& set : {kTorchrun, kOpenMpi, kSlurm, kPmi}) {
    for (const auto& [name, value] : set) ::unsetenv(name.c_str());
  }
  EXPECT_EQ(RankContext::from_environment().value().source, "no launcher");
  for (const auto& [name, value] : kTorchrun) ::setenv(name.c_str(), value.c_str(), 1);
  EXPECT_EQ(RankContext::from_environment().value(), (RankContext{5, 8, 1, 4, "torchrun"}));
  for (const auto& [name, value] : kTorchrun) ::unsetenv(name.c_str());
}

}  // namespace
}  // namespace dovetail::test
