// Launches whose prompts and tokens have pools of their own: which command is which, and how many engines each pool
// has.
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

const std::string sglang = "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode ";
const std::string vllm = "vllm serve Qwen/Qwen3-32B ";

std::string connector(const std::string& role) {
  return "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"" + role + "\"}' ";
}

/// A pool of prompts on four nodes is two engines of two nodes, and one of tokens is one engine on two.
TEST(EnginePools, NodesOfOneEngineAreOne) {
  const auto node = [](const std::string& mode, int port, int rank) {
    return sglang + mode + " --tp 16 --nnodes 2 --node-rank " + std::to_string(rank) +
           " --dist-init-addr ten:" + std::to_string(port) + " &\n";
  };
  const auto got = read(node("prefill", 1, 0) + node("prefill", 1, 1) + node("prefill", 2, 0) + node("prefill", 2, 1) +
                        node("decode", 3, 0) + node("decode", 3, 1));
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "16"), Pair("--prefill-tp", "16"),
                                   Pair("--prefill-replicas", "2"), Pair("--prefill-gpus", "32")}));
  EXPECT_FALSE(got.asked.flags.contains("--replicas"));
}

/// vLLM's example of one producer and three consumers: ports of the connector differ from one to the next.
TEST(EnginePools, EnginesAtOtherAddressesAreCopies) {
  const auto server = [](const std::string& role, int gpu) {
    return "CUDA_VISIBLE_DEVICES=" + std::to_string(gpu) + " " + vllm + "--enforce-eager --port 2000" +
           std::to_string(gpu) + " --kv-transfer-config '{\"kv_connector\":\"P2pNcclConnector\",\"kv_role\":\"" + role +
           "\",\"kv_buffer_size\":\"8e9\",\"kv_port\":\"2100" + std::to_string(gpu) +
           "\",\"kv_connector_extra_config\":{\"proxy_port\":\"30001\",\"http_port\":\"2000" + std::to_string(gpu) +
           "\"}}' &\n";
  };
  const std::string script =
      server("kv_producer", 0) + server("kv_consumer", 1) + server("kv_consumer", 2) + server("kv_consumer", 3);
  const auto got = read(script);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--replicas", "3"), Pair("--prefill-replicas", "1")}));
  // the same line twice is one engine that is shown twice, or two
  const auto twice = script + server("kv_producer", 0);
  EXPECT_THAT(read(twice).error,
      AllOf(HasSubstr("2 commands start engines alike (line 1, line 5)"), HasSubstr("--prefill-replicas N")));
  EXPECT_EQ(read(twice, {{"--prefill-replicas", "2"}}).asked.flags.at("--prefill-gpus"), "2");
  EXPECT_THAT(read(twice, {}, "", true).asked.warnings, Contains(HasSubstr("2 taken")));
}

TEST(EnginePools, HowOftenALoopRunsIsAskedFor) {
  const std::string script = "for i in 0 1 2; do\n  " + vllm + "--port $((8100 + i)) " + connector("kv_producer") +
                             "&\ndone\n" + vllm + "-tp 2 --port 9000 " + connector("kv_consumer") + "\n";
  EXPECT_THAT(
      read(script).error, AllOf(HasSubstr("a loop starts the engine of line 2"), HasSubstr("--prefill-replicas")));
  const auto got = read(script, {{"--prefill-replicas", "3"}});
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(
      got.asked.flags, IsSupersetOf({Pair("--prefill-gpus", "3"), Pair("--prefill-replicas", "3"), Pair("--tp", "2")}));
}

/// Engines of both pools have settings of their own: their memory, their iterations, how experts exchange rows.
TEST(EnginePools, EachPoolHasItsOwnRow) {
  const auto got = read(sglang + "prefill --mem-fraction-static 0.7 --chunked-prefill-size 4096 &\n" + sglang +
                        "decode --mem-fraction-static 0.8 --max-running-requests 64\n");
  ASSERT_EQ(got.error, "");
  ASSERT_TRUE(got.asked.prompt_row);
  EXPECT_EQ(got.asked.prompt_row->cache_share, 0.7);
  EXPECT_EQ(got.asked.row.cache_share, 0.8);
  EXPECT_EQ(got.asked.row.most_sequences, 64);
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--prefill-most-positions", "4096")}));
  EXPECT_THAT(read(sglang + "prefill --page-size 32 &\n" + sglang + "decode\n").error,
      HasSubstr("blocks of 32 positions, and that of the tokens of 1"));
  EXPECT_THAT(read(sglang + "prefill --kv-cache-dtype fp8_e4m3 &\n" + sglang + "decode\n").error,
      HasSubstr("other number types"));
}

/// Two connectors that go both ways look alike: the router knows which port is which.
TEST(EnginePools, RoutersTellRolesByPorts) {
  const std::string servers =
      vllm + "--port 8100 " + connector("kv_both") + "&\n" + vllm + "-tp 2 --port 8200 " + connector("kv_both") + "&\n";
  EXPECT_THAT(read(servers).error, HasSubstr("2 commands start engines"));
  for (const std::string router :
      {"python3 toy_proxy_server.py --port 8192 --prefiller-ports 8100 --decoder-ports 8200",
          "vllm-router --prefill http://a:8100 --decode http://b:8200 --policy round_robin",
          "python3 disagg_proxy_demo.py --model m --prefill localhost:8100 --decode localhost:8200 --port 80"}) {
    const auto got = read(servers + router + "\n");
    ASSERT_EQ(got.error, "") << router;
    EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--prefill-gpus", "1")})) << router;
  }
  const std::string third = vllm + "--port 8300 " + connector("kv_both") + "&\n";
  EXPECT_THAT(read(servers + third + "vllm-router --prefill http://a:8100 --decode http://b:8200\n").error,
      AllOf(HasSubstr("whether these read prompts or say tokens is not told: line 3"), HasSubstr("launch.sh:3")));
}

const std::string disagg = R"(hostname: localhost
port: 8000
model: Qwen/Qwen3-32B
backend: pytorch
disable_overlap_scheduler: true
context_servers:
  num_instances: 2
  tensor_parallel_size: 1
  kv_cache_config:
    free_gpu_memory_fraction: 0.2
  cache_transceiver_config:
    backend: DEFAULT
  urls:
    - "localhost:8001"
    - "localhost:8002"
generation_servers:
  num_instances: 1
  tensor_parallel_size: 4
  max_batch_size: 64
  urls: ["localhost:8003"]
)";

/// What stands outside the sections holds for both.
TEST(EnginePools, TensorRtLlmDescribesBothInOneFile) {
  const Told b200 = {{"--machine", "dgx-b200"}};
  const auto got = read(disagg, b200);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "qwen3-32b");
  EXPECT_THAT(
      got.asked.flags, IsSupersetOf({Pair("--engine", "tensorrt-llm"), Pair("--tp", "4"), Pair("--prefill-tp", "1"),
                           Pair("--prefill-replicas", "2"), Pair("--prefill-gpus", "2")}));
  EXPECT_EQ(got.asked.row.most_sequences, 64);
  EXPECT_FALSE(got.asked.row.plans_ahead);
  EXPECT_FALSE(got.asked.prompt_row->plans_ahead);
  EXPECT_EQ(got.asked.prompt_row->cache_share, 0.2);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = disagg;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(read(changed("max_batch_size", "max_batch_sise"), b200).error,
      AllOf(HasSubstr("generation_servers.max_batch_sise"), HasSubstr("near it: max_batch_size")));
  EXPECT_THAT(read(changed("port: 8000", "conditional_disagg_config:\n  max_local_prefill_length: 512"), b200).error,
      HasSubstr("max_local_prefill_length 512 is not followed"));
  EXPECT_THAT(read(changed("port: 8000", "disagg_cluster:\n  cluster_uri: etcd://a"), b200).error,
      AllOf(HasSubstr("join the cluster is not told"), HasSubstr("--replicas N")));
  EXPECT_THAT(read(changed("model: Qwen/Qwen3-32B\n", ""), b200).error, HasSubstr("it names no model"));
}

/// By mpirun the file starts all engines; beside servers of their own it says where they listen.
TEST(EnginePools, TensorRtLlmsCommandsNameTheFile) {
  const Told b200 = {{"--machine", "dgx-b200"}};
  const std::string file = "cat > disagg.yaml <<EOF\n" + disagg + "EOF\n";
  const auto by_mpi = read(file + "mpirun -n 6 trtllm-serve disaggregated_mpi_worker -c disagg.yaml &\n"
                                  "trtllm-serve disaggregated -c disagg.yaml\n",
      b200);
  ASSERT_EQ(by_mpi.error, "");
  EXPECT_THAT(by_mpi.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--prefill-gpus", "2")}));
  const auto server = [](const std::string& port, const std::string& more) {
    return "trtllm-serve Qwen/Qwen3-32B --port " + port + " " + more + " &\n";
  };
  const auto beside = read(file + server("8001", "--max_num_tokens 4096") + server("8002", "--max_num_tokens 4096") +
                               server("8003", "--tp_size 2") + "trtllm-serve disaggregated -c disagg.yaml\n",
      b200);
  ASSERT_EQ(beside.error, "");
  EXPECT_THAT(beside.asked.flags,
      IsSupersetOf({Pair("--tp", "2"), Pair("--prefill-replicas", "2"), Pair("--prefill-most-positions", "4096")}));
  const auto told = read(server("1", "--server_role CONTEXT") + server("2", "--server_role GENERATION"), b200);
  EXPECT_EQ(told.error, "");
  EXPECT_THAT(read("trtllm-serve disaggregated -c nowhere.yaml\n", b200).error, HasSubstr("it is not there"));
  EXPECT_THAT(read("trtllm-serve disaggregated --port 1\n", b200).error, HasSubstr("which file describes its pools"));
}

/// TensorRT-LLM's benchmark under Slurm and recipes of srt-slurm have sections of other names.
TEST(EnginePools, OtherFilesNameTheirSectionsOtherwise) {
  const auto slurm = read(R"(hardware:
  gpus_per_node: 4
  num_ctx_servers: 3
  num_gen_servers: 1
environment:
  model_path: /models/DeepSeek-R1-FP4
worker_config:
  gen:
    tensor_parallel_size: 8
    moe_expert_parallel_size: 8
    enable_attention_dp: true
    kv_cache_config: {dtype: fp8}
  ctx:
    tensor_parallel_size: 4
    moe_expert_parallel_size: 4
    enable_attention_dp: true
    cuda_graph_config: null
    kv_cache_config: {dtype: fp8}
)",
      {{"--machine", "gb200-nvl72"}, {"--weights", "nvfp4"}}, "deepseek-r1");
  ASSERT_EQ(slurm.error, "");
  EXPECT_THAT(slurm.asked.flags,
      IsSupersetOf({Pair("--dp-attention", "8"), Pair("--ep", "8"), Pair("--prefill-dp-attention", "4"),
          Pair("--prefill-ep", "4"), Pair("--prefill-replicas", "3"), Pair("--prefill-gpus", "12")}));
  const std::string recipe = R"(model: {path: qwen3-32b, precision: fp8}
resources: {prefill_workers: 1, decode_workers: 2}
backend:
  sglang_config:
    prefill: {tensor-parallel-size: 2}
    decode: {tensor-parallel-size: 4}
)";
  const auto srt = read(recipe, {{"--weights", "fp8"}});
  ASSERT_EQ(srt.error, "");
  EXPECT_THAT(srt.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--replicas", "2"), Pair("--prefill-tp", "2")}));
  std::string untold = recipe;
  EXPECT_THAT(read(untold.erase(untold.find(", decode_workers: 2"), 19), {{"--weights", "fp8"}}).error,
      AllOf(HasSubstr("resources.decode_workers is not told"), HasSubstr("--replicas N")));
}

/// A chart's template is no manifest before Helm has filled it in; where it is YAML all the same what it leaves open is
/// asked for.
TEST(EnginePools, TemplatesOfChartsAreRefusedByName) {
  const std::string pod = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - image: vllm/vllm-openai:v0.11.0\n"
                          "      args:\n        - --model=Qwen/Qwen3-32B\n";
  for (const char* more : {"        {{- range .Values.args }}\n        - {{ . | quote }}\n        {{- end }}\n",
           "      name: {{ .Release.Name }}-vllm\n", "      {{- toYaml .Values.more | nindent 6 }}\n"})
    EXPECT_THAT(read(pod + more).error, AllOf(HasSubstr(":8"), HasSubstr("a template of a Helm chart"),
                                            HasSubstr("helm template CHART -f values.yaml")))
        << more;
  EXPECT_EQ(read(pod).error, "");
  // what is no YAML for another reason is told as before
  EXPECT_THAT(read(pod + "        - [a\n").error, Not(HasSubstr("Helm")));
}

/// llm-d's chart makes the command from the model and the sizes of each pool.
TEST(EnginePools, ValuesOfLlmDsChart) {
  const auto role = [](const std::string& name, const std::string& sizes, const std::string& more) {
    return name + ":\n  create: true\n" + sizes +
           "  containers:\n    - name: vllm\n      image: ghcr.io/llm-d/llm-d-cuda:v0.4.0\n"
           "      modelCommand: vllmServe\n      args:\n        - \"--kv-transfer-config\"\n"
           "        - '{\"kv_connector\":\"NixlConnector\", \"kv_role\":\"kv_both\"}'\n" +
           more;
  };
  const std::string model = "modelArtifacts:\n  uri: \"hf://Qwen/Qwen3-32B\"\n  name: \"Qwen/Qwen3-32B\"\n";
  const std::string decode = role("decode", "  parallelism:\n    tensor: 4\n  replicas: 1\n", ""),
                    prefill = role("prefill", "  parallelism:\n    tensor: 1\n  replicas: 2\n",
                        "        - \"--gpu-memory-utilization=0.95\"\n");
  const auto got = read(model + decode + prefill);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "qwen3-32b");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--prefill-tp", "1"), Pair("--prefill-gpus", "2"),
                                   Pair("--prefill-replicas", "2")}));
  EXPECT_EQ(got.asked.prompt_row->cache_share, 0.95);
  // a pool that is not made leaves an engine by itself, whose connector waits for another
  std::string alone = model + decode + prefill;
  alone.replace(alone.rfind("create: true"), 12, "create: false");
  EXPECT_THAT(read(alone).error, HasSubstr("a part of several pools"));
  const std::string plain = model + "decode:\n  parallelism: {tensor: 2, data: 3}\n  containers:\n"
                                    "    - image: any\n      modelCommand: imageDefault\n";
  EXPECT_THAT(read(plain).asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--replicas", "3")}));
  std::string folder = plain;
  folder.replace(folder.find("hf://"), 5, "pvc+hf://claim/cache/");
  EXPECT_EQ(read(folder).asked.network, "qwen3-32b");
}

/// Dynamo's graphs list components, engines' files are ConfigMaps, and slices repeat both pools.
TEST(EnginePools, GraphsOfComponents) {
  const auto component = [](const std::string& name, const std::string& type, int replicas, const std::string& args) {
    return "    - name: " + name + "\n      type: " + type + "\n      replicas: " + std::to_string(replicas) +
           "\n      podTemplate:\n        spec:\n          containers:\n            - name: main\n"
           "              command: [python3, -m, dynamo.trtllm]\n"
           "              args: [--model-path, Qwen/Qwen3-32B, --extra-engine-args, /config/" +
           args + "]\n";
  };
  const std::string maps =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  prefill.yaml: |\n    max_batch_size: 4\n---\n"
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  decode.yaml: |\n    tensor_parallel_size: "
      "2\n---\n";
  const std::string graph = "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata:\n  name: g\nspec:\n"
                            "  components:\n";
  const Told b200 = {{"--machine", "dgx-b200"}};
  const auto got = read(maps + graph + component("P", "prefill", 3, "prefill.yaml, --disaggregation-mode, prefill") +
                            component("D", "decode", 2, "decode.yaml, --disaggregation-mode, decode"),
      b200);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--replicas", "2"), Pair("--prefill-gpus", "3"),
                                   Pair("--prefill-most-sequences", "4")}));
  // the role of a component counts where its words say nothing, and one without replicas is not started
  EXPECT_EQ(
      read(maps + graph + component("P", "prefill", 1, "prefill.yaml") + component("D", "decode", 2, "decode.yaml"),
          b200)
          .asked.flags.at("--prefill-gpus"),
      "1");
  const auto one = read(
      maps + graph + component("P", "worker", 0, "prefill.yaml") + component("D", "worker", 1, "decode.yaml"), b200);
  ASSERT_EQ(one.error, "");
  EXPECT_FALSE(one.asked.flags.contains("--prefill-gpus"));
  // two ConfigMaps with one key: which of them is mounted is not read
  std::string same = maps;
  same.replace(same.find("decode.yaml"), 11, "prefill.yaml");
  EXPECT_THAT(
      read(same + graph + component("P", "worker", 1, "prefill.yaml"), b200).error, HasSubstr("it is not there"));
}

TEST(EnginePools, SlicesRepeatBothPools) {
  const auto role = [](const std::string& name, int replicas, const std::string& kv_role) {
    return "    - name: " + name + "\n      spec:\n        replicas: " + std::to_string(replicas) +
           "\n        leaderWorkerTemplate:\n          workerTemplate:\n            spec:\n              containers:\n"
           "                - command: [vllm, serve]\n                  args: [Qwen/Qwen3-32B, --kv-transfer-config, "
           "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"" +
           kv_role + "\"}']\n";
  };
  const auto got =
      read("apiVersion: disaggregatedset.x-k8s.io/v1\nkind: DisaggregatedSet\nmetadata:\n  name: pd\nspec:\n"
           "  slices: 2\n  roles:\n" +
           role("prefill", 4, "kv_both") + role("decode", 1, "kv_both"));
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--replicas", "2"), Pair("--prefill-replicas", "8")}));
}

TEST(EnginePools, PoolsOnOtherGpusAreRefused) {
  const auto deployment = [](const std::string& name, const std::string& gpu) {
    return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name +
           "\nspec:\n  template:\n    spec:\n      nodeSelector: {gpu.nvidia.com/model: " + gpu +
           "}\n      containers:\n        - command: [vllm, serve, Qwen/Qwen3-32B, --kv-transfer-config, "
           "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}']\n";
  };
  EXPECT_EQ(read(deployment("a-prefill", "H100") + deployment("a-decode", "H100")).error, "");
  EXPECT_THAT(read(deployment("a-prefill", "H100") + deployment("a-decode", "H200")).error,
      HasSubstr("--machine and --prefill-machine say which"));
}

/// What starts a command elsewhere hands its words over.
TEST(EngineLines, AreSeenThroughWrappers) {
  const std::string serve = "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2";
  for (const std::string& line : {"ssh node1 '" + serve + "'", "ssh -t user@node1 \"cd /srv && nohup " + serve + " &\"",
           "ssh node1 " + serve, "sshpass -p x ssh node1 '" + serve + "'", "pdsh -w node[1-2] '" + serve + "'",
           "srun --nodelist=node1 -N1 --gres=gpu:2 " + serve, "srun -w node1 bash -c '" + serve + "'",
           "docker exec -d server bash -c '" + serve + "'", "docker exec server " + serve,
           "kubectl exec -n llm pod-0 -c main -- " + serve, "kubectl exec pod-0 -- bash -lc '" + serve + "'",
           "ssh node1 docker exec server " + serve, "ssh node1 \"docker exec server bash -c '" + serve + "'\""}) {
    const auto got = read(line + "\n");
    ASSERT_EQ(got.error, "") << line;
    EXPECT_EQ(got.asked.flags.at("--tp"), "2") << line;
  }
  // on another node it is another engine
  const auto both =
      read("ssh a '" + sglang + "prefill' &\nssh b '" + sglang + "prefill' &\nssh c '" + sglang + "decode'\n");
  ASSERT_EQ(both.error, "");
  EXPECT_EQ(both.asked.flags.at("--prefill-replicas"), "2");
  EXPECT_THAT(read("ssh node1 'pip install vllm'\n").error, HasSubstr("no command in it starts"));
}

TEST(EnginePools, RolesHaveNames) {
  const auto role = [](const std::string& name, const std::string& copies) {
    return "        - name: " + name + "\n          replicas: " + copies + R"(
          template:
            spec:
              containers:
              - name: engine
                image: vllm/vllm-openai:v0.15.0
                command: [sh, -c]
                args:
                - |
                  vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
)";
  };
  const auto got = read("apiVersion: orchestration.aibrix.ai/v1alpha1\nkind: StormService\nmetadata:\n  name: qwen\n"
                        "spec:\n  replicas: 1\n  template:\n    spec:\n      roles:\n" +
                        role("prefill", "3") + role("decode", "2"));
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags,
      IsSupersetOf({Pair("--prefill-replicas", "3"), Pair("--replicas", "2"), Pair("--prefill-gpus", "3")}));
}

}  // namespace
}  // namespace stepcast::engines
