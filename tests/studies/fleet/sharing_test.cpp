// Jobs beside each other on one machine: where their GPUs lie, what they send alone and beside each other, and that a
// fabric of one level is not shared.
#include "studies/fleet/sharing.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::fleet {
namespace {

using nlohmann::json;
using testing_program::own_path;
using testing_program::run_line;

TEST(Sharing, JobsLieBehindEachOtherOrEverywhere) {
  const FabricSizes sizes{32, 8, 64};
  using Laid = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(lay_jobs({24, 40}, sizes, Packing::packed), (Laid{{24, 0}, {8, 32}}));
  EXPECT_EQ(lay_jobs({16, 48}, sizes, Packing::spread), (Laid{{8, 8}, {24, 24}}));
  EXPECT_EQ(lay_jobs({8, 24}, sizes, Packing::spread), (Laid{{0, 8}, {8, 16}}));
}

const std::string two_jobs = R"({"jobs": [
  {"name": "one", "run": ["llama3-8b", "--tokens", "10B", "--zero", "1"]},
  {"name": "other", "run": ["llama3-8b", "--tokens", "10B", "--zero", "0"]}]})";

const std::string same_run = " --seq 4096 --global-batch 64 --tp 4 --pp 1 --recompute none --micro-batch 1 --json ";

json beside_on(const std::string& machine, const std::string& deadline) {
  const std::string jobs = own_path("jobs.json");
  std::ofstream(jobs) << two_jobs;
  const auto ran =
      run_line("fleet --jobs " + jobs + same_run + "--price 1 --deadline " + deadline + " --machine " + machine);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

/// A level above the nodes: GPUs of an instance, and what each of them has out of an instance below.
struct NetworkLevel {
  const char* name;
  int gpus;
  const char* per_gpu;
};

/// A file of a machine of such nodes as dgx-h100 has, with a port for each GPU at each level.
std::string machine_file(const std::string& name, const std::vector<NetworkLevel>& network) {
  json machine = json::parse(run_line("show machine dgx-h100 --json").out);
  const json node = machine["levels"][0], above = machine["levels"][1];
  json levels = json::array();
  levels.push_back(node);
  for (const NetworkLevel& one : network) {
    json level = above;
    level["name"] = one.name, level["gpus"] = one.gpus, level["ports"] = levels.back()["gpus"];
    level["bandwidth_per_gpu"] = level["port_bandwidth"] = one.per_gpu;
    levels.push_back(level);
  }
  machine["levels"] = levels, machine["id"] = name, machine["aliases"] = json::array();
  std::string file = own_path(name + ".json");
  std::ofstream(file) << machine;
  return file;
}

struct StepAlone {
  double step = 0, sending_share = 0;
};

/// Of a job of the file on two nodes, between which each GPU has so much.
StepAlone on_two_nodes(const std::string& zero, const char* per_gpu) {
  const std::string file = machine_file("two-nodes", {{"cluster", 16, per_gpu}});
  const json predicted =
      json::parse(run_line("predict llama3-8b --gpus 16 --zero " + zero + same_run + "--machine " + file).out);
  StepAlone alone{predicted["step_time_s"], 0};
  for (const json& one : predicted["collectives"])
    if (one["span"] == "cluster") alone.sending_share += one["time_s"].get<double>() / alone.step;
  return alone;
}

void expect_alone(const json& job, const char* per_gpu) {
  const StepAlone alone = on_two_nodes(job["job"] == "one" ? "1" : "0", per_gpu);
  EXPECT_GT(alone.sending_share, 0.05) << per_gpu;
  EXPECT_NEAR(job["alone_s"], alone.step, 1e-6) << job.dump();
  EXPECT_NEAR(job["sending_share"], alone.sending_share, 1e-6) << job.dump();
}

TEST(Sharing, PodsWithNarrowLinksBetweenThemSlowJobsDown) {
  const std::string machine = machine_file("pods", {{"pod", 16, "50 GB/s"}, {"cluster", 32, "5 GB/s"}});
  const json answer = beside_on(machine + ":32", "30h");
  const json& beside = answer["beside_each_other"];
  ASSERT_EQ(beside.size(), 2U) << answer.dump();
  EXPECT_EQ(beside[0]["laid"], "packed");
  EXPECT_EQ(beside[1]["laid"], "spread");
  for (const json& job : beside[1]["jobs"]) {
    EXPECT_EQ(job["into"], "cluster");
    expect_alone(job, "10 GB/s");  // 16 x 5 GB/s leave a pod, for 8 GPUs of the job
    EXPECT_LT(job["alone_s"], job["beside_s"]);
    EXPECT_LT(job["beside_s"], job["all_at_once_s"]);
  }
}

// Two jobs of 16 on 64 GPUs, each with one node in either pod: in the second and the fourth of the racks of 16.
TEST(Sharing, RacksInPodsAreSharedToo) {
  const std::string machine =
      machine_file("racks", {{"rack", 16, "50 GB/s"}, {"pod", 32, "50 GB/s"}, {"cluster", 64, "5 GB/s"}});
  const json answer = beside_on(machine + ":64", "30h");
  const json& beside = answer["beside_each_other"];
  ASSERT_EQ(beside.size(), 4U) << answer.dump();
  EXPECT_EQ(beside[1]["laid"], "spread");
  ASSERT_EQ(beside[1]["jobs"].size(), 2U);
  for (const json& job : beside[1]["jobs"]) {
    // Both send at the full 50 GB/s out of a rack of 16; beyond the pod each GPU has 5 GB/s, as in the plans.
    EXPECT_EQ(job["into"], "pod");
    expect_alone(job, "5 GB/s");
    EXPECT_NEAR(job["beside_s"], job["alone_s"], 1e-6);
    EXPECT_NEAR(job["all_at_once_s"], job["alone_s"], 1e-6);
  }
  EXPECT_EQ(beside[3]["laid"], "spread");
  ASSERT_EQ(beside[3]["jobs"].size(), 2U);
  for (const json& job : beside[3]["jobs"]) {
    // 32 x 5 GB/s leave a pod: 20 GB/s for each of 8 GPUs alone, 10 GB/s for each of 16.
    EXPECT_EQ(job["into"], "cluster");
    expect_alone(job, "20 GB/s");
    EXPECT_LT(job["alone_s"], job["beside_s"]);
    EXPECT_NEAR(job["all_at_once_s"], on_two_nodes(job["job"] == "one" ? "1" : "0", "10 GB/s").step, 1e-6);
  }
}

TEST(Sharing, WholeNodesShareNoLinkOfOneLevel) {
  EXPECT_TRUE(beside_on("dgx-h100:32", "20d")["beside_each_other"].empty());
}

}  // namespace
}  // namespace stepcast::fleet
