// How many engines a launch starts, and what its values and files say that their readers would refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

/// 4 and 3 replicas of one command are 7 engines, and two at ports of their own are 2.
TEST(CountedEngines, ThatAreAlikeStandBesideEachOther) {
  const auto deployment = [](const std::string& name, int replicas) {
    return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
           "}\nspec:\n  replicas: " + std::to_string(replicas) +
           "\n  template: {spec: {containers: [{command: [vllm, serve, Qwen/Qwen3-8B]}]}}\n";
  };
  EXPECT_EQ(flag_of(read(deployment("a", 4) + deployment("b", 3)), "--replicas"), "7");
  const std::string serve = "vllm serve Qwen/Qwen3-8B ";
  EXPECT_EQ(flag_of(read(serve + "--port 1 &\n" + serve + "--port 2 &\n"), "--replicas"), "2");
  const std::string twice = serve + "\n" + serve + "\n";
  EXPECT_THAT(read(twice).error,
      AllOf(HasSubstr("2 commands start engines alike (line 1, line 2)"), HasSubstr("--replicas N")));
  EXPECT_EQ(flag_of(read(twice, {{"--replicas", "5"}}), "--replicas"), "5");
  EXPECT_THAT(read(serve + "--port 1 &\nfor i in 1 2; do\n  " + serve + "--port 2 &\ndone\n").error,
      HasSubstr("a loop starts the engine of line 3"));
  // benchmarks that run the engine themselves run one after the other
  const std::string bench = "vllm bench throughput --model Qwen/Qwen3-8B --input-len 64 --output-len 8\n";
  EXPECT_EQ(flag_of(read(bench + bench), "--replicas"), "");
}

TEST(CountedEngines, ComposeTakesTwoNumbersThatAreOne) {
  const auto compose = [](const std::string& copies) {
    return read(
        "services:\n  server:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen3-8B\n" + copies);
  };
  EXPECT_EQ(flag_of(compose("    scale: 3\n    deploy: {replicas: 3}\n"), "--replicas"), "3");
  EXPECT_THAT(compose("    scale: 3\n    deploy: {replicas: 2}\n").error,
      AllOf(HasSubstr("launch.sh:5 scale '3' stands beside replicas '2' of deploy"), HasSubstr("--replicas N")));
}

std::string stack(const std::string& of_model) {
  return "servingEngineSpec:\n  modelSpec:\n  - name: a\n    modelURL: Qwen/Qwen3-8B\n" + of_model +
         "    vllmConfig: {tensorParallelSize: 2, pipelineParallelSize: 2}\n";
}

/// What is no number of engines is asked for, and --replicas answers.
TEST(CountedEngines, AreAskedForWhereTheirNumberIsNone) {
  for (const std::string count : {"9223372036854775807", "1000001", "-1", "many"}) {
    EXPECT_THAT(read(stack("    replicaCount: " + count + "\n")).error,
        AllOf(HasSubstr("replicaCount '" + count + "' is no number of engines"), HasSubstr("--replicas N")));
    EXPECT_EQ(flag_of(read(stack("    replicaCount: " + count + "\n"), {{"--replicas", "3"}}), "--replicas"), "3");
  }
  // 1,000,000 engines of 16 GPUs
  std::string many = stack("    replicaCount: 1000000\n");
  many.replace(many.find("tensorParallelSize: 2"), 21, "tensorParallelSize: 8");
  EXPECT_THAT(read(many).error, AllOf(HasSubstr("8 x 2 x 1 x 1 x 1000000 GPUs"), HasSubstr("from 1 to 10000000")));
  EXPECT_EQ(flag_of(read(many, {{"--replicas", "3"}}), "--replicas"), "3");
}

TEST(CountedEngines, OfTheProductionStack) {
  EXPECT_EQ(flag_of(read(stack("    replicaCount: 3\n")), "--replicas"), "3");
  // workers of Ray are of one engine
  EXPECT_EQ(flag_of(read(stack("    replicaCount: 3\n    raySpec: {headNode: {requestGPU: 2}}\n")), "--replicas"), "");
  for (const char* off : {"    enabled: false\n", "    replicaCount: 0\n"})
    EXPECT_THAT(read(stack(off)).error, HasSubstr("no command in it starts a serving engine")) << off;
  const std::string scaled = "    replicaCount: 3\n    keda: {minReplicaCount: 1, maxReplicaCount: 4, enabled: ";
  EXPECT_THAT(read(stack(scaled + "true}\n")).error, HasSubstr("replicas from 1 to 4: how many run is not told"));
  EXPECT_EQ(flag_of(read(stack(scaled + "false}\n")), "--replicas"), "3");
  const auto layers = read(stack("    env: [{name: VLLM_USE_V1, value: \"0\"}, {name: VLLM_PP_LAYER_PARTITION, value: "
                                 "\"10,26\"}]\n"));
  EXPECT_EQ(flag_of(layers, "--layout"), "10,26");
  EXPECT_EQ(layers.asked.row.id, "vllm-v0");
  EXPECT_THAT(read(stack("    repository: vllm/vllm-tpu\n")).error, HasSubstr("it starts on TPUs"));
}

/// build_pd_openai_app: four engines of two GPUs read prompts.
TEST(CountedEngines, OfRaysTwoPools) {
  const auto pool = [](const std::string& name, int replicas, const std::string& more) {
    return "    " + name + ":\n      model_loading_config: {model_id: q, model_source: Qwen/Qwen3-8B}\n" +
           "      deployment_config: {num_replicas: " + std::to_string(replicas) +
           "}\n      engine_kwargs: {tensor_parallel_size: 2, max_num_seqs: null" + more + "}\n";
  };
  const auto both = [&](const std::string& more) {
    return read("applications:\n- name: pd\n  import_path: ray.serve.llm:build_pd_openai_app\n  args:\n" +
                pool("prefill_config", 4, more) + pool("decode_config", 1, more));
  };
  for (const char* more : {"", ", kv_transfer_config: {kv_connector: NixlConnector, kv_role: kv_both}"}) {
    const auto got = both(more);
    ASSERT_EQ(got.error, "") << more;
    EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--prefill-replicas", "4"), Pair("--prefill-gpus", "8"),
                                     Pair("--prefill-tp", "2"), Pair("--tp", "2")}));
    EXPECT_FALSE(got.asked.flags.contains("--replicas"));
  }
}

TEST(CountedEngines, CommentsOfScriptsAreNoValues) {
  EXPECT_EQ(
      read("# values as in llm_configs: of Ray\nvllm serve Qwen/Qwen3-8B --max-num-seqs 64\n").asked.row.most_sequences,
      64);
}

/// TensorRT-LLM raises where the top and a section differ, and where there are more or fewer addresses than engines.
TEST(CountedEngines, FilesThatTensorRtLlmRefuses) {
  const auto file = [](const std::string& top, const std::string& prompts = "", const std::string& tokens = "") {
    return read("model: Qwen/Qwen3-32B\n" + top + "context_servers:\n  num_instances: 2\n  tensor_parallel_size: 4\n" +
                    prompts + "generation_servers:\n  tensor_parallel_size: 4\n" + tokens,
        {{"--machine", "dgx-b200"}});
  };
  EXPECT_EQ(file("tensor_parallel_size: 4\n").error, "");
  EXPECT_THAT(file("tensor_parallel_size: 8\n").error,
      HasSubstr("launch.sh:2 tensor_parallel_size and context_servers.tensor_parallel_size differ"));
  EXPECT_THAT(file("kv_cache_config: {dtype: fp8}\n", "  kv_cache_config: {free_gpu_memory_fraction: 0.4}\n").error,
      HasSubstr("kv_cache_config and context_servers.kv_cache_config differ"));
  EXPECT_EQ(file("", "  urls: [\"a:1\", \"b:2\"]\n", "  urls:\n  - \"c:3\"\n").error, "");
  EXPECT_THAT(file("", "  urls: [\"a:1\"]\n").error, HasSubstr("addresses in context_servers.urls: 1, and engines: 2"));
  std::string huge = "model: Qwen/Qwen3-32B\ncontext_servers:\n  num_instances: 9223372036854775807\n"
                     "generation_servers:\n  num_instances: 1\n";
  EXPECT_THAT(read(huge, {{"--machine", "dgx-b200"}}).error, HasSubstr("is no number of engines"));
}

/// Graphs hold iterations of tokens alone, so that nothing is said of them where prompts are read.
TEST(CountedEngines, GraphsAreOfTheTokens) {
  const std::string server = "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode ";
  const auto got = read(server + "prefill --tp 2 &\n" + server + "decode --tp 8 --cuda-graph-max-bs 64 &\n");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.changed, Contains("most_captured 64"));
  EXPECT_THAT(got.asked.prompt_changed, Not(Contains(HasSubstr("most_captured"))));
}

TEST(CountedEngines, APlannerChangesHowManyRun) {
  const std::string graph = R"(apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: graph
spec:
  services:
    Planner:
      componentType: planner
      replicas: 1
    Worker:
      componentType: worker
      replicas: 2
      extraPodSpec:
        mainContainer:
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-32B, --migration-limit=3, --tensor-parallel-size, "2"]
)";
  EXPECT_THAT(read(graph).error, AllOf(HasSubstr("Planner starts and ends engines"), HasSubstr("--replicas N")));
  EXPECT_EQ(read(graph, {{"--replicas", "4"}}).asked.flags.at("--replicas"), "4");
  const auto fixed = read(with_changed(graph, "componentType: planner", "componentType: frontend"));
  ASSERT_EQ(fixed.error, "");
  EXPECT_EQ(fixed.asked.flags.at("--replicas"), "2");
}

/// What scales a deployment may stand beside it, or around its containers.
TEST(CountedEngines, AutoscalersAreAskedFor) {
  const std::string deployment =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server}\nspec:\n  replicas: 2\n"
      "  template: {spec: {containers: [{command: [vllm, serve, Qwen/Qwen3-8B]}]}}\n";
  EXPECT_EQ(flag_of(read(deployment), "--replicas"), "2");
  const std::string scaler =
      "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n"
      "  scaleTargetRef: {kind: Deployment, name: server}\n  minReplicas: 1\n  maxReplicas: 10\n";
  EXPECT_THAT(read(deployment + scaler).error, AllOf(HasSubstr("replicas from 1 to 10"), HasSubstr("--replicas N")));
  EXPECT_EQ(flag_of(read(deployment + with_changed(scaler, "name: server", "name: other")), "--replicas"), "2");
  EXPECT_EQ(flag_of(read(deployment + with_changed(scaler, "minReplicas: 1", "minReplicas: 10")), "--replicas"), "10");
  const std::string keda =
      with_changed(with_changed(scaler, "HorizontalPodAutoscaler", "ScaledObject"), "Replicas: ", "ReplicaCount: ");
  EXPECT_THAT(read(deployment + keda).error, HasSubstr("replicas from 1 to 10"));
  EXPECT_THAT(
      read(deployment + with_changed(keda, "  maxReplicaCount: 10\n", "")).error, HasSubstr("replicas from 1 to more"));
  const std::string service =
      "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: q}\nspec:\n  predictor:\n"
      "    containers: [{command: [vllm, serve, Qwen/Qwen3-8B]}]\n    minReplicas: 2\n    maxReplicas: 6\n";
  EXPECT_THAT(read(service).error, HasSubstr("replicas from 2 to 6"));
  EXPECT_EQ(flag_of(read(with_changed(service, "maxReplicas: 6", "maxReplicas: 2")), "--replicas"), "2");
}

}  // namespace
}  // namespace stepcast::engines
