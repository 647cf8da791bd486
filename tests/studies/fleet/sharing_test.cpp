// Jobs beside each other on one machine: where their GPUs lie, and that a fabric of one level is not shared.
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

json beside_on(const std::string& machine, const std::string& deadline) {
  const std::string jobs = own_path("jobs.json");
  std::ofstream(jobs) << two_jobs;
  const auto ran = run_line("fleet --jobs " + jobs + " --seq 4096 --global-batch 64 --tp 4 --pp 1 --recompute none " +
                            "--micro-batch 1 --price 1 --json --deadline " + deadline + " --machine " + machine);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out);
}

TEST(Sharing, PodsWithNarrowLinksBetweenThemSlowJobsDown) {
  const std::string machine = own_path("pods.json");
  json pods = json::parse(run_line("show machine dgx-h100 --json").out);
  json& levels = pods["levels"];
  levels.push_back(levels[1]);
  levels[1]["name"] = "pod", levels[1]["gpus"] = 16;
  levels[2]["gpus"] = 32, levels[2]["ports"] = 16;
  levels[2]["bandwidth_per_gpu"] = levels[2]["port_bandwidth"] = "5 GB/s";
  pods["id"] = "pods", pods["aliases"] = json::array();
  std::ofstream(machine) << pods;
  const json answer = beside_on(machine + ":32", "30h");
  const json& beside = answer["beside_each_other"];
  ASSERT_EQ(beside.size(), 2U) << answer.dump();
  EXPECT_EQ(beside[0]["laid"], "packed");
  EXPECT_EQ(beside[1]["laid"], "spread");
  for (const json& job : beside[1]["jobs"]) {
    EXPECT_EQ(job["into"], "cluster");
    EXPECT_GT(job["sending_share"], 0);
    EXPECT_LT(job["alone_s"], job["beside_s"]);
    EXPECT_LT(job["beside_s"], job["all_at_once_s"]);
  }
}

TEST(Sharing, WholeNodesShareNoLinkOfOneLevel) {
  EXPECT_TRUE(beside_on("dgx-h100:32", "20d")["beside_each_other"].empty());
}

}  // namespace
}  // namespace stepcast::fleet
