// Deployments: containers of a manifest, pools of prompts and of tokens, and what they come to.
#include <string>
#include <vector>

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

/// A service whose entries stand below its image.
std::string service(const std::string& entries, const std::string& image = "vllm/vllm-openai:v0.10.0") {
  return "services:\n  llm:\n    image: " + image + "\n" + entries;
}

/// Lines that YAML keeps are blanks to Compose, whichever way they are kept: tp 4 and fp8 stand behind the first.
TEST(EngineDeployment, ComposeCutsATextAtTheEndsOfItsLines) {
  const std::string model = "      --model meta-llama/Llama-3.1-8B-Instruct\n";
  for (const std::string& command : std::vector<std::string>{
           "    command: >\n" + model + "        --tensor-parallel-size 4\n" + "        --kv-cache-dtype fp8\n",
           "    command: |\n" + model + "      --tensor-parallel-size 4\n      --kv-cache-dtype fp8\n",
           "    command: >\n" + model + "\n      --tensor-parallel-size ${TP:-4}\n\n      --kv-cache-dtype fp8\n",
           "    command: |\n      --model meta-llama/Llama-3.1-8B-Instruct\n      --tensor-parallel-size 4 \n"
           "      --kv-cache-dtype \"fp8\" | tee log\n"}) {
    const auto got = read(service(command));
    ASSERT_EQ(got.error, "") << command;
    EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--kv", "fp8")})) << command;
  }
  const auto shell =
      read(service("    command: |\n      bash -c \"export TP=2\n      vllm serve Qwen/Qwen3-32B -tp $$TP\"\n"));
  ASSERT_EQ(shell.error, "");
  EXPECT_EQ(shell.asked.flags.at("--tp"), "2");
}

/// A text and a list may stand beside each other, and either may be the entrypoint.
TEST(EngineDeployment, EntrypointsOfComposeAreTexts) {
  const std::string sglang = "lmsysorg/sglang:latest",
                    words = "    command: --model-path Qwen/Qwen3-32B\n      --tp 4\n";
  for (const std::string& entries :
      std::vector<std::string>{"    entrypoint: python3 -m sglang.launch_server\n" + words,
          "    entrypoint: [python3, -m, sglang.launch_server]\n" + words,
          std::string("    entrypoint: python3 -m sglang.launch_server\n"
                      "    command: [--model-path, Qwen/Qwen3-32B, --tp, \"4\"]\n")}) {
    const auto got = read(service(entries, sglang));
    ASSERT_EQ(got.error, "") << entries;
    EXPECT_EQ(got.asked.flags.at("--tp"), "4") << entries;
  }
  EXPECT_EQ(
      read(service("    entrypoint: vllm serve\n    command: Qwen/Qwen3-32B -tp 2\n")).asked.flags.at("--tp"), "2");
}

TEST(EngineDeployment, TextsThatNobodyCutsAreRefused) {
  EXPECT_THAT(read(service("    command: |\n      --model Qwen/Qwen3-32B \\\n      --tensor-parallel-size 2\n")).error,
      AllOf(HasSubstr("launch.sh:4 command"), HasSubstr("a backslash before a blank")));
  EXPECT_THAT(read(service("    command: --model Qwen/Qwen3-32B --name a(b)\n")).error, HasSubstr("outside quotes"));
  EXPECT_THAT(read(service("    command: --model \"Qwen/Qwen3-32B\n")).error, HasSubstr("a quote that does not close"));
  const auto pod = [](const std::string& args) {
    return read(
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: vllm/vllm-openai:v0.10.0\n      args: " + args);
  };
  EXPECT_THAT(pod(">\n        --model Qwen/Qwen3-32B\n").error, HasSubstr("Kubernetes takes a list"));
  EXPECT_THAT(pod("[\"--model Qwen/Qwen3-32B -tp 2\"]\n").error, HasSubstr("one word with blanks"));
}

}  // namespace
}  // namespace stepcast::engines
