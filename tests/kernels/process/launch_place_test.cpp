#include "kernels/process/launch_place.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

using Variables = std::map<std::string, std::string>;

Expected<LaunchPlace> placed_by(const Variables& variables) {
  return launch_place([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

LaunchPlace placed(const Variables& variables) {
  const auto place = placed_by(variables);
  EXPECT_TRUE(place) << to_text(place.error());
  return place.value_or(LaunchPlace{});
}

/// The variable that the error names.
std::string blamed(const Variables& variables) {
  const auto place = placed_by(variables);
  EXPECT_FALSE(place);
  return place ? "" : place.error().where;
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables torchrun{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"},
    {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_MCA_ess_base_jobid", "1234"}};
const Variables hydra{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
// Two nodes with four tasks each; this is the third task of the second.
const Variables step{{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "6"},
    {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "2"}, {"SLURM_NODEID", "1"},
    {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}, {"SLURM_STEP_NODELIST", "gpu[007-008]"}, {"SLURM_STEP_NUM_NODES", "2"}};

TEST(LaunchPlace, NothingSetIsOneProcessForAllGpus) {
  const LaunchPlace place = placed({{"HOME", "/root"}});
  EXPECT_EQ(place.launcher, "");
  EXPECT_EQ(place.process, 0);
  EXPECT_EQ(place.processes, 1);
  EXPECT_EQ(place.on_host, 1);
  EXPECT_EQ(place.meet_host, "");
}

TEST(LaunchPlace, TorchrunSaysEverything) {
  const LaunchPlace place = placed(torchrun);
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.process, 5);
  EXPECT_EQ(place.processes, 8);
  EXPECT_EQ(place.local, 1);
  EXPECT_EQ(place.on_host, 4);
  EXPECT_EQ(place.meet_host, "node0");
  EXPECT_EQ(place.meet_port, 29500);
}

TEST(LaunchPlace, ThePortOfTorchrunsOwnAgentIsLeftToIt) {
  const Variables agent = with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RUN_ID", "abc"}});
  EXPECT_NE(placed(agent).meet_port, 29500);
  EXPECT_EQ(placed(agent).meet_port, placed(with(agent, {{"RANK", "0"}, {"LOCAL_RANK", "0"}})).meet_port);
}

TEST(LaunchPlace, OpenMpiOnOneHostMeetsOnTheLoopback) {
  const LaunchPlace place = placed(open_mpi);
  EXPECT_EQ(place.launcher, "mpirun");
  EXPECT_EQ(place.process, 3);
  EXPECT_EQ(place.local, 3);
  EXPECT_EQ(place.meet_host, "127.0.0.1");
  EXPECT_GE(place.meet_port, 20000);
  EXPECT_LT(place.meet_port, 30000);
}

TEST(LaunchPlace, ThePortFollowsTheJobAndNotTheProcess) {
  const LaunchPlace first =
      placed(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}));
  const LaunchPlace other = placed(with(open_mpi, {{"OMPI_MCA_ess_base_jobid", "1235"}}));
  EXPECT_EQ(first.meet_port, placed(open_mpi).meet_port);
  EXPECT_EQ(first.job, placed(open_mpi).job);
  EXPECT_NE(other.meet_port, first.meet_port);
  EXPECT_NE(other.job, first.job);
}

TEST(LaunchPlace, OpenMpiOnTwoHostsNeedsAMeetingPlace) {
  const Variables spread = with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  const auto place = placed_by(spread);
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().where, "MASTER_ADDR");
  EXPECT_THAT(place.error().what, testing::HasSubstr("4 processes were started by mpirun"));
  EXPECT_THAT(place.error().hint, testing::HasSubstr("MASTER_PORT"));
  EXPECT_EQ(placed(with(spread, {{"MASTER_ADDR", "n0"}})).meet_host, "n0");
}

TEST(LaunchPlace, HydraTellsPlacesOnTheHost) {
  const LaunchPlace place = placed(hydra);
  EXPECT_EQ(place.launcher, "mpiexec");
  EXPECT_EQ(place.local, 1);
  EXPECT_EQ(place.on_host, 2);
  EXPECT_EQ(place.meet_host, "127.0.0.1");
}

TEST(LaunchPlace, AStepOfSlurmMeetsOnItsFirstNode) {
  const LaunchPlace place = placed(step);
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.process, 6);
  EXPECT_EQ(place.processes, 8);
  EXPECT_EQ(place.local, 2);
  EXPECT_EQ(place.on_host, 4);
  EXPECT_EQ(place.meet_host, "gpu007");
}

TEST(LaunchPlace, TwoStepsOfOneJobAreTwoJobs) {
  EXPECT_NE(placed(step).job, placed(with(step, {{"SLURM_STEP_ID", "1"}})).job);
}

TEST(LaunchPlace, ABatchShellIsOneProcess) {
  const LaunchPlace place = placed({{"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"},
      {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}, {"SLURM_TASKS_PER_NODE", "8"}});
  EXPECT_EQ(place.launcher, "");
  EXPECT_EQ(place.processes, 1);
}

TEST(LaunchPlace,
    AnInteractiveStepIsOneProcess) {  // salloc with use_interactive_step: one task, the job's own SLURM_NTASKS
  const LaunchPlace place = placed({{"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "4294967290"}, {"SLURM_NTASKS", "8"},
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(place.processes, 1);
  EXPECT_EQ(place.on_host, 1);
}

TEST(LaunchPlace, TheInnermostLauncherCounts) {
  EXPECT_EQ(placed(with(step, torchrun)).launcher, "torchrun");
  EXPECT_EQ(placed(with(step, open_mpi)).launcher, "mpirun");
  EXPECT_EQ(placed(with(step, hydra)).launcher, "mpiexec");
  EXPECT_EQ(placed(with(step, {{"PMI_RANK", "6"}, {"PMI_SIZE", "8"}})).launcher, "srun");
}

TEST(LaunchPlace, GarbageIsNamed) {
  for (const char* garbage : {"x", "-1", "1.5", "3 ", "99999999999", "0x2"}) {
    EXPECT_EQ(blamed(with(torchrun, {{"RANK", garbage}})), "RANK") << garbage;
    EXPECT_EQ(blamed(with(torchrun, {{"LOCAL_WORLD_SIZE", garbage}})), "LOCAL_WORLD_SIZE") << garbage;
    EXPECT_EQ(blamed(with(step, {{"SLURM_LOCALID", garbage}})), "SLURM_LOCALID") << garbage;
  }
  EXPECT_EQ(blamed(with(torchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE");
  EXPECT_EQ(blamed(with(torchrun, {{"MASTER_PORT", "65536"}})), "MASTER_PORT");
}

TEST(LaunchPlace, ContradictionsAreNamed) {
  EXPECT_EQ(blamed(with(torchrun, {{"RANK", "8"}})), "RANK");
  EXPECT_EQ(blamed(with(torchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK");
  EXPECT_EQ(blamed(with(torchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(blamed({{"RANK", "0"}}), "WORLD_SIZE");
  EXPECT_EQ(blamed({{"WORLD_SIZE", "2"}}), "RANK");
  EXPECT_EQ(blamed({{"OMPI_COMM_WORLD_RANK", "0"}}), "OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(blamed(with(step, {{"SLURM_LOCALID", "4"}})), "SLURM_LOCALID");
}

TEST(LaunchPlace, EmptyVariablesAreNotSet) { EXPECT_EQ(placed({{"RANK", ""}, {"WORLD_SIZE", ""}}).launcher, ""); }

TEST(LaunchPlace, SlurmsCountsPerNode) {
  EXPECT_EQ(slurm_tasks_on("4(x2),3", 0), 4);
  EXPECT_EQ(slurm_tasks_on("4(x2),3", 1), 4);
  EXPECT_EQ(slurm_tasks_on("4(x2),3", 2), 3);
  EXPECT_EQ(slurm_tasks_on("4(x2),3", 3), 0);
  EXPECT_EQ(slurm_tasks_on("8", 0), 8);
  EXPECT_EQ(slurm_tasks_on("4(y2)", 0), 0);
  EXPECT_EQ(slurm_tasks_on("", 0), 0);
}

TEST(LaunchPlace, SlurmsFirstHost) {
  EXPECT_EQ(slurm_first_host("gpu[007-010,12],login"), "gpu007");
  EXPECT_EQ(slurm_first_host("gpu[3,5]"), "gpu3");
  EXPECT_EQ(slurm_first_host("a100-1,a100-2"), "a100-1");
  EXPECT_EQ(slurm_first_host("single"), "single");
  EXPECT_EQ(slurm_first_host("rack[1-2]-gpu"), "rack1-gpu");
}

}  // namespace
}  // namespace stepcast::kernels
