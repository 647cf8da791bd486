// Files of tools that run services: KServe, KubeAI, Truss, SkyPilot, dstack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

TEST(EngineServices, OfKServe) {
  const auto service = [](const std::string& predictor) {
    return read("apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: q}\nspec:\n  "
                "predictor:\n" +
                predictor +
                "    model:\n      modelFormat: {name: huggingface}\n      storageUri: hf://Qwen/Qwen3-8B\n      "
                "env: [{name: VLLM_USE_V1, value: \"0\"}]\n");
  };
  const auto two = service("    minReplicas: 2\n    workerSpec: {pipelineParallelSize: 2, tensorParallelSize: 4}\n");
  ASSERT_EQ(two.error, "");
  EXPECT_THAT(two.asked.flags, IsSupersetOf({Pair("--replicas", "2"), Pair("--tp", "4"), Pair("--pp", "2")}));
  EXPECT_EQ(two.asked.row.id, "vllm-v0");
  EXPECT_THAT(service("    minReplicas: 1\n    maxReplicas: 8\n").error, HasSubstr("replicas from 1 to 8"));
  EXPECT_THAT(read("kind: LLMInferenceService\napiVersion: v1\nspec:\n  model: {uri: hf://Qwen/Qwen3-8B, name: "
                   "Qwen/Qwen3-8B}\n  template:\n    containers:\n    - name: main\n      resources: {limits: "
                   "{google.com/tpu: 4}}\n")
                  .error,
      HasSubstr("it starts on TPUs"));
}

/// A runtime of one's own may set arguments of vLLM.
TEST(EngineServices, RuntimesOfKServe) {
  const std::string service = R"(apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      storageUri: hf://Qwen/Qwen3-32B
      args: [--tensor-parallel-size=2]
      resources:
        limits: {nvidia.com/gpu: 2}
)";
  const auto got = read(service);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "qwen3-32b");
  EXPECT_EQ(flag_of(got, "--tp"), "2");
  EXPECT_THAT(read(with_changed(service, "size=2", "size=4")).error, HasSubstr("where 2 GPUs are asked for"));
  EXPECT_THAT(read(with_changed(service, "      args", "      runtime: my-vllm\n      args")).error,
      HasSubstr("its runtime stands elsewhere"));
}

constexpr const char* of_kubeai = R"(apiVersion: kubeai.org/v1
kind: Model
metadata:
  name: llama-70b
spec:
  features: [TextGeneration]
  url: hf://neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8
  engine: VLLM
  args:
  - --max-num-batched-tokens=16384
  - --tensor-parallel-size=4
  - --kv-cache-dtype=fp8
  minReplicas: 2
  maxReplicas: 2
  resourceProfile: nvidia-gpu-h100:4
)";

TEST(EngineServices, ModelsOfKubeAI) {
  const auto got = read(of_kubeai);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "llama3-70b");
  EXPECT_THAT(got.asked.flags,
      IsSupersetOf({Pair("--tp", "4"), Pair("--weights", "fp8"), Pair("--kv", "fp8"), Pair("--replicas", "2")}));
  EXPECT_EQ(got.asked.row.most_positions, 16384);
  EXPECT_THAT(
      read(with_changed(of_kubeai, "maxReplicas: 2", "maxReplicas: 5")).error, HasSubstr("replicas from 2 to 5"));
  const auto open =
      read(with_changed(with_changed(of_kubeai, "minReplicas: 2", "minReplicas: 0"), "  maxReplicas: 2\n", ""));
  EXPECT_THAT(open.error, HasSubstr("replicas from 0 to more"));
  EXPECT_THAT(
      read(with_changed(of_kubeai, "nvidia-gpu-h100", "google-tpu-v5e-2x2")).error, HasSubstr("it starts on TPUs"));
  EXPECT_THAT(read(with_changed(of_kubeai, "nvidia-gpu-h100", "cpu")).error, HasSubstr("the host's processors"));
  EXPECT_THAT(read(with_changed(of_kubeai, "  minReplicas", "  adapters:\n  - name: a\n  minReplicas")).error,
      HasSubstr("adapters is not known"));
  // no maximum is no end, and without an autoscaler the copies are those that are told
  const std::string unended = with_changed(of_kubeai, "  maxReplicas: 2\n", "");
  EXPECT_THAT(read(unended).error, HasSubstr("replicas from 2 to more"));
  EXPECT_EQ(
      flag_of(read(with_changed(unended, "minReplicas: 2", "autoscalingDisabled: true\n  replicas: 3")), "--replicas"),
      "3");
  EXPECT_THAT(read(with_changed(of_kubeai, "VLLM", "OLlama")).error, HasSubstr("no command in it"));
}

TEST(EngineServices, ProfilesOfKubeAiHoldRanks) {
  EXPECT_THAT(read(with_changed(of_kubeai, "nvidia-gpu-h100:4", "nvidia-gpu-h100:2")).error,
      HasSubstr("tp 4 x pp 1 on one machine, where 2 GPUs are asked for"));
  for (const char* of_own : {"four-h100s:1", "nvidia-gpu-h100-x4:1"})
    EXPECT_EQ(read(with_changed(of_kubeai, "nvidia-gpu-h100:4", of_own)).error, "") << "what it has is not told";
}

constexpr const char* truss = R"(model_name: GLM
base_image:
  image: vllm/vllm-openai:v0.15.0
docker_server:
  start_command: sh -c "TOKEN=$(cat /t) vllm serve zai-org/GLM-4.5-Air -tp 2 --max-num-seqs 8"
  server_port: 8000
resources:
  accelerator: H100:2
)";

TEST(EngineServices, ServersOfTruss) {
  const auto got = read(truss);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "glm-4.5-air");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--engine", "vllm-2026")}));
  EXPECT_EQ(got.asked.row.most_sequences, 8);
  EXPECT_THAT(read(with_changed(truss, "H100:2", "L4:2")).asked.warnings, Contains(HasSubstr("asks for GPUs 'L4:2'")));
  EXPECT_THAT(read(with_changed(truss, "H100:2", "H100:1")).error,
      AllOf(HasSubstr("tp 2 x pp 1 on one machine, where 1 GPU is asked for"), HasSubstr("--tp N")));
  EXPECT_THAT(read(with_changed(truss, "H100:2", "H100_40GB")).error, HasSubstr("slices of GPUs"));
}

constexpr const char* sky = R"(resources:
  accelerators: {H100: 4}
envs:
  NAME: Qwen/Qwen3-32B
service:
  readiness_probe: /v1/models
  replicas: 3
run: |
  bash -c "vllm serve $NAME --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE"
)";

TEST(EngineServices, ServicesOfSkyPilot) {
  const auto got = read(sky);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "qwen3-32b");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--replicas", "3")}));
  EXPECT_THAT(read(with_changed(sky, "replicas: 3", "replica_policy:\n    min_replicas: 1\n    max_replicas: 4")).error,
      HasSubstr("replicas from 1 to 4"));
  EXPECT_THAT(read(with_changed(sky, "{H100: 4}", "[H100:4, A100:8]")).error, HasSubstr("SKYPILOT_NUM_GPUS_PER_NODE"));
  const std::string written = with_changed(sky, "$SKYPILOT_NUM_GPUS_PER_NODE", "8");
  EXPECT_THAT(read(written).error, HasSubstr("tp 8 x pp 1 on one machine, where 4 GPUs are asked for"));
  EXPECT_EQ(flag_of(read(written, {{"--tp", "4"}}), "--replicas"), "3") << "the user's own";
  const std::string on_two = with_changed(with_changed(written, "=8", "=4"), "envs:", "num_nodes: 2\nenvs:");
  EXPECT_THAT(read(on_two).error, HasSubstr("num_nodes 2: the script runs on each of them"));
  EXPECT_THAT(read(with_changed(sky, "{H100: 4}", "A100:8")).asked.flags.at("--tp"), "8");
  EXPECT_THAT(read(with_changed(sky, "  NAME: Qwen/Qwen3-32B", "  NAME: null")).error, HasSubstr("$NAME"));
}

/// Of several nodes the first one's part of the script is followed.
TEST(EngineServices, TasksOnSeveralNodesTellThemApart) {
  const std::string task = R"(resources:
  accelerators: H100:8
num_nodes: 2
run: |
  if [ "$SKYPILOT_NODE_RANK" == "0" ]; then
    ray start --head --port 6379
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE --pipeline-parallel-size 2
  else
    ray start --address $HEAD_IP:6379
  fi
)";
  const auto got = read(task);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "8"), Pair("--pp", "2")}));
}

/// dstackai/dstack, mkdocs/docs/concepts/services.md.
TEST(EngineServices, ServicesOfDstack) {
  const std::string service = R"(type: service
name: q
env:
  - HF_TOKEN
  - MODEL=Qwen/Qwen3-32B
image: vllm/vllm-openai:v0.11.0
commands:
  - vllm serve $MODEL
      --tensor-parallel-size $DSTACK_GPUS_NUM
resources:
  gpu: H100:80GB:4
)";
  const auto got = read(service);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "qwen3-32b");
  EXPECT_EQ(got.asked.flags.at("--tp"), "4");
  EXPECT_THAT(got.asked.notes, Contains(HasSubstr("release 0.11.0")));
  EXPECT_EQ(flag_of(read(with_changed(service, "resources:", "replicas: 2\nresources:")), "--replicas"), "2");
  EXPECT_EQ(read(service, {}, "", false, {{"MODEL", "Qwen/Qwen3-8B"}}).asked.network, "qwen3-8b")
      << "goes over the file";
  EXPECT_THAT(read(with_changed(service, "$DSTACK_GPUS_NUM", "8")).error,
      HasSubstr("tp 8 x pp 1 on one machine, where 4 GPUs are asked for"));
  EXPECT_THAT(read(with_changed(service, "resources:", "replicas: 1..4\nresources:")).error, HasSubstr("replicas"));
}

}  // namespace
}  // namespace stepcast::engines
