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

std::string flag_of(const Read& got, const std::string& flag) {
  if (!got.error.empty()) return got.error;
  const auto found = got.asked.flags.find(flag);
  return found == got.asked.flags.end() ? "" : found->second;
}

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

TEST(CountedEngines, OfKServe) {
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

std::string with_changed(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

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

TEST(CountedEngines, LeaderAndWorkersAreOneEngine) {
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

TEST(CountedEngines, NodesOfOneEngineAreAlike) {
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
TEST(CountedEngines, DeploymentsOnUnlikeGpusAreAskedFor) {
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

TEST(CountedEngines, ModelsOfKubeAI) {
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

constexpr const char* truss = R"(model_name: GLM
base_image:
  image: vllm/vllm-openai:v0.15.0
docker_server:
  start_command: sh -c "TOKEN=$(cat /t) vllm serve zai-org/GLM-4.5-Air -tp 2 --max-num-seqs 8"
  server_port: 8000
resources:
  accelerator: H100:2
)";

TEST(CountedEngines, ServersOfTruss) {
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

TEST(CountedEngines, ServicesOfSkyPilot) {
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
TEST(CountedEngines, TasksOnSeveralNodesTellThemApart) {
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
TEST(CountedEngines, ServicesOfDstack) {
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

/// GPUs of a pod are those of its engine, unless its ranks may lie on several pods.
TEST(CountedEngines, PodsHoldTheRanksOfTheirEngines) {
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

TEST(CountedEngines, ProfilesOfKubeAiHoldRanks) {
  EXPECT_THAT(read(with_changed(of_kubeai, "nvidia-gpu-h100:4", "nvidia-gpu-h100:2")).error,
      HasSubstr("tp 4 x pp 1 on one machine, where 2 GPUs are asked for"));
  for (const char* of_own : {"four-h100s:1", "nvidia-gpu-h100-x4:1"})
    EXPECT_EQ(read(with_changed(of_kubeai, "nvidia-gpu-h100:4", of_own)).error, "") << "what it has is not told";
}

/// A runtime of one's own may set arguments of vLLM.
TEST(CountedEngines, RuntimesOfKServe) {
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
