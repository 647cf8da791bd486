// Pods, nodes and their GPUs hold the ranks of an engine: those of one engine, and those of several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

/// A container whose command is that of a node of an engine of 4 x 2 GPUs.
std::string node_of_two(const std::string& name) {
  return name + R"(:
      spec:
        containers:
        - name: node
          image: lmsysorg/sglang:v0.5.6
          command: [python3, -m, sglang.launch_server, --model-path, meta-llama/Llama-3.3-70B-Instruct, --tp, "4",
            --pipeline-parallel-size, "2", --dist-init-addr, $(LWS_LEADER_ADDRESS):31001,
            --nnodes, $(LWS_GROUP_SIZE), --node-rank, $(LWS_WORKER_INDEX)]
)";
}

TEST(EnginePods, LeaderAndWorkersAreOneEngine) {
  const std::string group =
      "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: llama\nspec:\n"
      "  replicas: 3\n  leaderWorkerTemplate:\n    size: 2\n    " +
      node_of_two("leaderTemplate") + "    " + node_of_two("workerTemplate");
  const auto got = read(group);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--pp", "2"), Pair("--replicas", "3")}));
  // without a template of the leader all nodes have one command, and neither its rank nor their number is told
  const auto alone = read(with_changed(group, "leaderTemplate", "otherTemplate"));
  EXPECT_THAT(alone.error, HasSubstr("--nnodes hangs on $LWS_GROUP_SIZE"));
}

/// A pod with so many GPUs of a kind.
std::string pod_of(const std::string& name, int gpus, const std::string& kind, const std::string& command) {
  return "    " + name + ":\n      spec:\n        nodeSelector: {nvidia.com/gpu.product: " + kind +
         "}\n        containers:\n        - name: node\n          image: vllm/vllm-openai:v0.11.0\n"
         "          command: [sh, -c, '" +
         command + "']\n          resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}\n";
}

TEST(EnginePods, NodesOfOneEngineAreAlike) {
  const auto group = [](int leader, int worker, const std::string& kind) {
    return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata:\n  name: llama\nspec:\n"
           "  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n" +
           pod_of("leaderTemplate", leader, "H100", "ray start --head; vllm serve Qwen/Qwen3-32B -tp 4 -pp 2") +
           pod_of("workerTemplate", worker, kind, "ray start --address head --block");
  };
  EXPECT_EQ(read(group(4, 4, "H100")).error, "");
  EXPECT_THAT(read(group(8, 4, "H100")).error,
      HasSubstr("the leader has 8 GPUs (H100) and each worker 4 (H100): engines on unlike nodes are not forecast"));
  EXPECT_THAT(read(group(4, 4, "A100")).error, HasSubstr("each worker 4 (A100)"));
  std::string unlabelled = group(4, 4, "H100");
  const std::size_t chosen = unlabelled.rfind("nodeSelector"), end = unlabelled.find('\n', chosen);
  ASSERT_NE(chosen, std::string::npos);
  unlabelled.replace(chosen, end - chosen, "hostNetwork: true");
  EXPECT_EQ(read(unlabelled).error, "") << "the workers say no kind";
}

/// Two deployments of one file that are alike but for their GPUs are two engines, and neither stands for the other.
TEST(EnginePods, DeploymentsOnUnlikeGpusAreAskedFor) {
  const auto deployment = [](const std::string& name, int gpus, const std::string& kind) {
    return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec:\n    replicas: 2\n" +
           pod_of("template", gpus, kind, "vllm serve Qwen/Qwen3-8B") + "---\n";
  };
  const auto alike = read(deployment("a", 1, "H100") + deployment("b", 1, "H100"));
  ASSERT_EQ(alike.error, "");
  EXPECT_EQ(alike.asked.flags.at("--replicas"), "4");
  EXPECT_THAT(read(deployment("a", 1, "H100") + deployment("b", 1, "L40S")).error,
      HasSubstr("commands that are alike stand on unlike GPUs: a in line 12 on 1 H100, b in line "));
  EXPECT_THAT(read(deployment("a", 1, "H100") + deployment("b", 2, "H100")).error, HasSubstr("stand on unlike GPUs"));
}

/// GPUs of a pod are those of its engine, unless its ranks may lie on several pods.
TEST(EnginePods, PodsHoldTheRanksOfTheirEngines) {
  const std::string pod = R"(apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
      - image: vllm/vllm-openai:v0.15.0
        args: [--model, Qwen/Qwen3-32B, --tensor-parallel-size, "4"]
        resources:
          limits: {nvidia.com/gpu: "2"}
)";
  EXPECT_THAT(read(pod).error, HasSubstr("tp 4 x pp 1 on one machine, where 2 GPUs are asked for"));
  EXPECT_EQ(read(with_changed(pod, "\"2\"", "\"4\"")).error, "");
  EXPECT_EQ(read(with_changed(pod, "  template:", "  leaderWorkerTemplate: {size: 2}\n  template:")).error, "");
  EXPECT_EQ(read(with_changed(pod, "  template:", "  leaderWorkerSet: {size: 2}\n  template:")).error, "");
  const auto script = [&](const std::string& first) {
    return read(with_changed(pod, "args: [--model, Qwen/Qwen3-32B, --tensor-parallel-size, \"4\"]",
                    "command: [bash, -c, \"" + first + "; vllm serve Qwen/Qwen3-32B -tp 2 -pp 2\"]"))
        .error;
  };
  EXPECT_EQ(script("ray start --head"), "");
  EXPECT_THAT(script("echo ray start"), HasSubstr("tp 2 x pp 2 on one machine, where 2 GPUs are asked for"));
  const std::string job =
      with_changed(with_changed(pod, "Deployment\nspec:", "Job\nspec:\n  parallelism: 2"), "\"2\"", "\"4\"");
  EXPECT_THAT(read(job).error, HasSubstr("2 pods of a Job run side by side"));
  EXPECT_EQ(flag_of(read(job, {{"--replicas", "2"}}), "--tp"), "4");
  const auto of_nodes = [&](const std::string& nodes) {
    return read(with_changed(job, "\"4\"]", "\"8\", --nnodes" + nodes + ", --node-rank, \"0\"]"));
  };
  for (const char* two : {", \"2\"", "=2"}) {
    EXPECT_EQ(flag_of(of_nodes(two), "--tp"), "8") << two;
    EXPECT_EQ(flag_of(of_nodes(two), "--replicas"), "") << two;
  }
  EXPECT_THAT(of_nodes("=4").error, HasSubstr("2 pods of a Job run side by side"));
}

}  // namespace
}  // namespace stepcast::engines
