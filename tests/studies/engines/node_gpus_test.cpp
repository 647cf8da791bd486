// What a launch tells of nodes: ranks that do not fit into one cross the network; and variables of charts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

std::string node_gpus(const Read& got) {
  if (!got.error.empty()) return got.error;
  const auto found = got.asked.flags.find("--node-gpus");
  return found == got.asked.flags.end() ? "" : found->second;
}

const std::string sglang_on_eight = "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 8 ";

TEST(NodeGpus, AreRanksOverNodes) {
  EXPECT_EQ(node_gpus(read(sglang_on_eight + "--nnodes 4 --node-rank 0\n")), "2");
  EXPECT_EQ(node_gpus(read(sglang_on_eight + "--nnodes 1\n")), "");
  EXPECT_EQ(node_gpus(read(sglang_on_eight)), "");
  EXPECT_THAT(node_gpus(read(sglang_on_eight + "--nnodes 3\n")), HasSubstr("8 ranks on 3 nodes"));
  EXPECT_EQ(node_gpus(read(sglang_on_eight + "--nnodes 4\n", {{"--tp", "16"}})), "4");
  EXPECT_EQ(node_gpus(read("vllm serve Qwen/Qwen3-32B -tp 4 -pp 2 --nnodes 4 --node-rank 0\n")), "2");
  EXPECT_EQ(node_gpus(read("vllm serve Qwen/Qwen3-30B-A3B -dp 8 --data-parallel-size-local 2\n")), "2");
  EXPECT_EQ(node_gpus(read("trtllm-serve Qwen/Qwen3-32B --tp_size 8 --gpus_per_node 4\n")), "4");
}

std::string group(int size, int gpus, const std::string& command) {
  const std::string container = "spec: {containers: [{name: c, command: [sh, -c, \"" + command +
                                "\"], resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}}]}";
  return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: v}\nspec:\n  replicas: 1\n"
         "  leaderWorkerTemplate:\n    size: " +
         std::to_string(size) + "\n    leaderTemplate: {" + container + "}\n    workerTemplate: {spec: {}}\n";
}

TEST(NodeGpus, AreThoseOfPodsInGroups) {
  EXPECT_EQ(node_gpus(read(group(2, 2, "vllm serve Qwen/Qwen3-32B -tp 4"))), "2");
  EXPECT_EQ(node_gpus(read(group(2, 4, "vllm serve Qwen/Qwen3-32B -tp 4"))), "");
  EXPECT_THAT(node_gpus(read(group(2, 2, sglang_on_eight + "--nnodes 2 --node-rank 0"))),
      HasSubstr("4 ranks on a node, which is given 2 GPUs"));
}

TEST(NodeGpus, OfDynamosServicesStandInFrontOfTheContainer) {
  const auto graph = [](const std::string& nodes, int tp) {
    return "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: x}\nspec:\n  services:\n"
           "    decode:\n      componentType: worker\n      replicas: 1\n" +
           nodes +
           "      resources: {limits: {gpu: \"4\"}}\n      extraPodSpec: {mainContainer: {command: [python3, -m, "
           "dynamo.sglang], args: [--model-path, Qwen/Qwen3-32B, --tp-size, \"" +
           std::to_string(tp) + "\"]}}\n";
  };
  EXPECT_EQ(node_gpus(read(graph("      multinode: {nodeCount: 2}\n", 8))), "4");
  EXPECT_EQ(node_gpus(read(graph("", 4))), "");
  EXPECT_THAT(node_gpus(read(graph("", 8))), HasSubstr("tp 8 x pp 1 on one machine, where 4 GPUs are asked for"));
}

/// The production stack's chart sets VLLM_USE_V1=0 for it.
TEST(ChartVariables, TheOldEngineIsToldByAValue) {
  const auto row = [](const std::string& v0) {
    const Read got = read("servingEngineSpec:\n  modelSpec:\n  - name: q\n    repository: vllm/vllm-openai\n    tag: "
                          "v0.8.5\n    modelURL: Qwen/Qwen3-8B\n    replicaCount: 1\n    requestGPU: 1\n    "
                          "vllmConfig: {dtype: half" +
                          v0 + "}\n");
    return got.error.empty() ? got.asked.row.id : got.error;
  };
  EXPECT_EQ(row(""), "vllm");
  EXPECT_EQ(row(", v0: \"0\""), "vllm");
  EXPECT_EQ(row(", v0: \"1\""), "vllm-v0");
}

double decode_ms(const std::string& more) {
  const auto ran = run_line("infer llama3-8b --tp 4 --context 2000 --json " + more);
  const std::size_t at = ran.out.find("\"time_s\":");
  return at == std::string::npos ? -1 : std::stod(ran.out.substr(at + 9)) * 1e3;
}

TEST(NodeGpus, FewerOfThemAreSlowerButInARackOfTrays) {
  const double whole = decode_ms(""), halves = decode_ms("--node-gpus 2"), single = decode_ms("--node-gpus 1");
  ASSERT_GT(whole, 0);
  EXPECT_EQ(decode_ms("--node-gpus 8"), whole);
  EXPECT_GT(halves, whole * 1.1);
  EXPECT_GE(single, halves);
  EXPECT_EQ(decode_ms("--machine gb200-nvl72 --node-gpus 2"), decode_ms("--machine gb200-nvl72"));
  const auto wide = run_line("infer llama3-8b --tp 4 --context 2000 --node-gpus 16");
  EXPECT_NE(wide.code, 0);
  EXPECT_THAT(wide.err, HasSubstr("16 GPUs of a node"));
  EXPECT_THAT(wide.err, Not(HasSubstr("internal")));
}

}  // namespace
}  // namespace stepcast::engines
