// Deployments: containers of a manifest, pools of prompts and of tokens, and what they come to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

TEST(EngineDeployment, ContainersAreLines) {
  const auto got = read(R"yaml(apiVersion: apps/v1
kind: Deployment
metadata:
  name: llama
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.0
          args: ["--model", "meta-llama/Llama-3.1-8B-Instruct", "--tensor-parallel-size", "$(TP)"]
          env:
            - name: TP
              value: "2"
)yaml");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--replicas", "3")}));
  const auto shell = read(R"(services:
  llm:
    image: lmsysorg/sglang:latest
    command: ["bash", "-c", "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4"]
)");
  ASSERT_EQ(shell.error, "");
  EXPECT_EQ(shell.asked.flags.at("--tp"), "4");
}

/// A decoder of two ranks, and two engines of one rank that read prompts.
TEST(EngineDeployment, PoolsOfPromptsAndTokensAreFlags) {
  const std::string graph = R"(apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: disagg
spec:
  services:
    Decode:
      replicas: 1
      extraPodSpec:
        mainContainer:
          command: ["python3", "-m", "dynamo.vllm"]
          args: ["--model", "Qwen/Qwen3-32B", "--tensor-parallel-size", "2"]
    Prefill:
      replicas: 2
      extraPodSpec:
        mainContainer:
          command: ["python3", "-m", "dynamo.vllm"]
          args: ["--model", "Qwen/Qwen3-32B", "--is-prefill-worker"]
)";
  const auto got = read(graph);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(
      got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--prefill-gpus", "2"), Pair("--prefill-replicas", "2"),
                           Pair("--prefill-tp", "1"), Pair("--prefill-most-positions", "8192")}));
  EXPECT_FALSE(got.asked.flags.contains("--replicas"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = graph;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(read(changed("\"--is-prefill-worker\"]", "\"--is-prefill-worker\", \"--block-size\", \"32\"]")).error,
      HasSubstr("the pool that reads prompts has"));
  EXPECT_THAT(read(changed("B\", \"--is-prefill-worker\"]", "B\"]")).error,
      testing::AllOf(HasSubstr("2 commands start engines"), HasSubstr("Decode in line"), HasSubstr("Prefill in line")));
  EXPECT_THAT(read("python3 -m dynamo.vllm --model Qwen/Qwen3-32B --is-prefill-worker").error,
      HasSubstr("a part of several pools"));
}

/// llm-d's connectors go both ways: the names of its parts say which pool is which. A store of caches is no pool.
TEST(EngineDeployment, ConnectorsThatGoBothWaysHaveTheirPartsNames) {
  const auto deployment = [](const char* name, const std::string& connector) {
    return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + std::string(name) +
           "\nspec:\n  template:\n    spec:\n      containers:\n        - image: vllm/vllm-openai:v0.10.0\n"
           "          args: [\"--model\", \"Qwen/Qwen3-32B\", \"--kv-transfer-config\", "
           "'{\"kv_connector\":\"" +
           connector + "\", \"kv_role\":\"kv_both\"}']\n";
  };
  const auto pools = [&](const std::string& connector) {
    return read(deployment("ms-prefill", connector) + deployment("ms-decode", connector));
  };
  ASSERT_EQ(pools("NixlConnector").error, "");
  EXPECT_EQ(pools("NixlConnector").asked.flags.at("--prefill-gpus"), "1");
  EXPECT_THAT(pools("LMCacheConnectorV1").error, HasSubstr("a store of caches"));
}

}  // namespace
}  // namespace stepcast::engines
