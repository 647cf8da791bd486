// Deployments: on other chips than the machine's (a chip that is no GPU is refused, another GPU is a warning), and told
// by values of charts, operators and Ray.
#include <array>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::Ran;
using testing_program::run_line;

Ran infer(const std::string& name, const std::string& text, const std::string& more = "") {
  std::ofstream(own_path(name)) << text;
  return run_line("infer --launch " + own_path(name) + " --prompt 1024 " + more);
}

std::string pod(const std::string& image, const std::string& resource, const std::string& selector) {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: server\nspec:\n  template:\n    spec:\n" +
         selector + "      containers:\n      - name: server\n        image: " + image +
         "\n        command: [vllm, serve]\n        args: [meta-llama/Llama-3.1-8B-Instruct, "
         "--tensor-parallel-size=2]\n"
         "        resources:\n          limits:\n            " +
         resource + ": 2\n";
}

TEST(DeployedChips, EnginesOnOtherChipsAreRefused) {
  const Ran gpu = infer("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", ""));
  EXPECT_EQ(gpu.code, 0) << gpu.err;
  EXPECT_THAT(gpu.out, Not(HasSubstr("asks for GPUs")));
  for (const auto& [image, resource, chip] :
      {std::array{"vllm/vllm-openai:v1", "google.com/tpu", "TPUs"}, std::array{"vllm/vllm-tpu:v1", "cpu", "TPUs"},
          std::array{"vllm/vllm-openai:v1", "aws.amazon.com/neuron", "Neuron cores"},
          std::array{"vllm/vllm-openai-cpu:v1", "cpu", "the host's processors"},
          std::array{"rebellions/vllm-rbln:v1", "cpu", "Rebellions' chips"},
          std::array{"vllm/vllm-openai:v1", "furiosa.ai/rngd", "Furiosa's chips"},
          std::array{"vllm/vllm-openai:v1", "nvidia.com/mig-3g.40gb", "slices of GPUs (MIG)"}}) {
    const Ran ran = infer("pod.yaml", pod(image, resource, ""));
    EXPECT_EQ(ran.code, 2) << image << resource;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("it starts on "), HasSubstr(chip)));
    const Ran lenient = infer("pod.yaml", pod(image, resource, ""), "--lenient");
    EXPECT_EQ(lenient.code, 0) << lenient.err;
    EXPECT_THAT(lenient.out, HasSubstr("engines on these are not forecast"));
  }
}

TEST(DeployedChips, ScriptsForOtherChipsAreRefused) {
  const std::string serve = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n";
  EXPECT_EQ(infer("run.sh", "export NCCL_DEBUG=INFO\n" + serve).code, 0);
  EXPECT_THAT(infer("run.sh", "export HCCL_BUFFSIZE=1024\n" + serve).err, HasSubstr("it starts on Ascend NPUs"));
  EXPECT_THAT(infer("run.sh", "docker run --rm quay.io/ascend/vllm-ascend:v0.11.0 " + serve).err,
      HasSubstr("it starts on Ascend NPUs"));
  EXPECT_EQ(infer("run.sh", "docker run --gpus all vllm/vllm-openai:v0.11.0 " + serve).code, 0);
}

/// A secret that is still to be filled in says nothing; a number of copies that is does of a load, and not of an
/// iteration.
TEST(DeployedChips, TemplatesAreReadWhereTheyDecideNothing) {
  const std::string text = pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", "");
  const std::string secret = "---\napiVersion: v1\nkind: Secret\nstringData:\n  token: {{HF_TOKEN}}\n";
  EXPECT_EQ(infer("pod.yaml", text + secret).code, 0);
  std::string copies = text;
  copies.insert(copies.find("  template:"), "  replicas: {{COPIES}}\n");
  EXPECT_EQ(infer("pod.yaml", copies).code, 0);
  const std::string load = "serve --input 64 --output 8 --concurrency 4 --launch " + own_path("pod.yaml");
  EXPECT_THAT(
      run_line(load).err, AllOf(HasSubstr("pod.yaml:6 replicas '{{COPIES}}' is no number"), HasSubstr("--replicas N")));
  EXPECT_EQ(run_line(load + " --replicas 3 --gpus 6").code, 0);
  copies.replace(copies.find("{{COPIES}}"), 10, "2");
  EXPECT_EQ(infer("pod.yaml", copies).code, 0);
}

TEST(DeployedChips, GemmaForChatIsOfItsNetwork) {
  EXPECT_THAT(
      infer("run.sh", "vllm serve google/gemma-3-27b-it --tensor-parallel-size 2\n").out, HasSubstr("Gemma 3 27B"));
}

TEST(DeployedChips, NodesWithOtherGpusAreSaid) {
  const std::string selector = "      nodeSelector:\n        cloud.google.com/gke-accelerator: nvidia-l4\n";
  const std::string text = pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu", selector);
  EXPECT_THAT(
      infer("pod.yaml", text).out, HasSubstr("the launch asks for GPUs 'nvidia-l4', and the forecast is for DGX H100"));
  EXPECT_THAT(
      infer("pod.yaml", pod("vllm/vllm-openai:v0.11.0", "nvidia.com/gpu",
                            "      nodeSelector:\n        cloud.google.com/gke-accelerator: nvidia-h100-80gb\n"))
          .out,
      Not(HasSubstr("asks for GPUs")));
}

Ran serve(const std::string& name, const std::string& text, const std::string& more = "") {
  std::ofstream(own_path(name)) << text;
  return run_line("explain --launch " + own_path(name) + " " + more);
}

/// Values of the Helm chart of vLLM's production stack.
std::string stack_values(const std::string& engine, const std::string& beside = "") {
  return "servingEngineSpec:\n  runtimeClassName: \"\"\n  modelSpec:\n  - name: llama3\n    repository: "
         "vllm/vllm-openai\n    modelURL: meta-llama/Llama-3.1-8B-Instruct\n    replicaCount: 2\n    requestGPU: 4\n" +
         beside + "    vllmConfig:\n" + engine;
}

TEST(DeployedValues, OfTheProductionStackAreACommand) {
  const Ran ran = serve("values.yaml",
      stack_values("      tensorParallelSize: 4\n      enablePrefixCaching: false\n      maxNumSeqs: 64\n      "
                   "extraArgs: [\"--kv-cache-dtype\", fp8]\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("serve llama3-8b --engine vllm --kv fp8 --replicas 2 --tp 4 --weights bf16"),
                           HasSubstr("most_sequences 64"), HasSubstr("--no-enable-prefix-caching")));
  // a misspelled value, and a store of caches
  EXPECT_THAT(infer("values.yaml", stack_values("      tensorParalelSize: 4\n")).err,
      HasSubstr("values.yaml:10 vllmConfig/tensorParalelSize is not known"));
  EXPECT_THAT(
      serve("values.yaml", stack_values("      dtype: bfloat16\n", "    lmcacheConfig:\n      enabled: true\n")).out,
      AllOf(HasSubstr("not forecast"), HasSubstr("--kv-transfer-config.kv_connector LMCacheConnectorV1")));
  const Ran slice =
      infer("values.yaml", stack_values("      maxNumSeqs: 8\n", "    requestGPUType: nvidia.com/mig-4g.71gb\n"));
  EXPECT_EQ(slice.code, 2);
  EXPECT_THAT(slice.err, HasSubstr("it starts on slices of GPUs (MIG)"));
}

TEST(DeployedValues, OfTheStacksOperator) {
  const std::string text =
      "apiVersion: production-stack.vllm.ai/v1alpha1\nkind: VLLMRuntime\nmetadata:\n  name: sample\nspec:\n  model:\n"
      "    modelURL: meta-llama/Llama-3.1-8B-Instruct\n    maxNumSeqs: 32\n  vllmConfig:\n    tensorParallelSize: 2\n"
      "    gpuMemoryUtilization: \"0.8\"\n  deploymentConfig:\n    replicas: 3\n";
  const Ran ran = serve("runtime.yaml", text);
  EXPECT_THAT(
      ran.out, AllOf(HasSubstr("--replicas 3 --tp 2"), HasSubstr("most_sequences 32"), HasSubstr("cache_share 0.8")));
}

/// v1 chooses vLLM's engine: where it is false the pods have VLLM_USE_V1=0 (operator's vllmruntime_controller.go).
TEST(DeployedValues, OfTheStacksOperatorWithTheOldEngine) {
  const auto text = [](const char* v1) {
    return "apiVersion: production-stack.vllm.ai/v1alpha1\nkind: VLLMRuntime\nmetadata:\n  name: sample\nspec:\n"
           "  model:\n    modelURL: meta-llama/Llama-3.1-8B-Instruct\n  vllmConfig:\n    v1: " +
           std::string(v1) + "\n  deploymentConfig:\n    replicas: 1\n";
  };
  EXPECT_THAT(serve("runtime.yaml", text("false")).out, HasSubstr("--engine vllm-v0"));
  EXPECT_THAT(serve("runtime.yaml", text("true")).out, HasSubstr("--engine vllm "));
}

std::string inference_service(const std::string& spec, const std::string& image = "vllm/vllm-openai:v0.11.0") {
  return "apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nmetadata:\n  name: qwen\nspec:\n  model:\n"
         "    uri: hf://Qwen/Qwen3-32B\n    name: Qwen/Qwen3-32B\n  replicas: 2\n" +
         spec + "  template:\n    containers:\n    - name: main\n      image: " + image +
         "\n      env:\n      - name: VLLM_ADDITIONAL_ARGS\n        value: --max-num-seqs 16\n";
}

TEST(DeployedValues, OfKServe) {
  const Ran ran = serve("service.yaml", inference_service("  parallelism:\n    tensor: 4\n"));
  EXPECT_THAT(ran.out,
      AllOf(HasSubstr("serve qwen3-32b --engine vllm --kv bf16 --replicas 2 --tp 4"), HasSubstr("most_sequences 16")));
  EXPECT_THAT(serve("service.yaml", inference_service("  prefill:\n    replicas: 1\n")).out,
      HasSubstr("prompts have a pool of their own"));
  EXPECT_THAT(serve("service.yaml", inference_service("  parallelism:\n    tensors: 4\n")).out,
      HasSubstr("parallelism/tensors is not known"));
  EXPECT_THAT(
      serve("service.yaml", inference_service("", "vllm/vllm-openai-cpu:v0.23.0")).out, HasSubstr("it starts on "));
  // what a service says beside its sizes counts as well
  EXPECT_THAT(serve("service.yaml", inference_service("  kvCacheOffloading: {cpu: 10Gi}\n")).out,
      HasSubstr("caches in host memory are not forecast"));
  EXPECT_THAT(serve("service.yaml", inference_service("  workload: {kvCacheOffloading: {cpu: 10Gi}}\n")).out,
      HasSubstr("caches in host memory are not forecast"));
  EXPECT_THAT(
      serve("service.yaml", inference_service("  baseRefs: [{name: base}]\n")).out, HasSubstr("its values stand"));
  EXPECT_THAT(
      serve("service.yaml", inference_service("  quantisation: fp8\n")).out, HasSubstr("quantisation is not known"));
  EXPECT_THAT(serve("service.yaml", inference_service("  scaling: {minReplicas: 1, maxReplicas: 4}\n")).out,
      HasSubstr("replicas from 1 to 4"));
  std::string adapted = inference_service("");
  adapted.insert(adapted.find("  replicas"), "    lora: {adapters: [{uri: hf://a/b, name: b}]}\n");
  EXPECT_THAT(serve("service.yaml", adapted).out, HasSubstr("adapters are not forecast"));
  const std::string older =
      "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata:\n  name: llama\nspec:\n  predictor:\n"
      "    model:\n      modelFormat:\n        name: huggingface\n      storageUri: "
      "hf://meta-llama/Llama-3.1-8B-Instruct\n"
      "      args:\n      - --served-model-name=llama\n      - --tensor-parallel-size=2\n";
  EXPECT_THAT(serve("older.yaml", older).out, HasSubstr("serve llama3-8b --engine vllm --kv bf16 --tp 2"));
}

std::string ray_values(const std::string& deployment, const std::string& more = "") {
  return "applications:\n- name: llms\n  import_path: ray.serve.llm:build_openai_app\n  args:\n    llm_configs:\n    - "
         "model_loading_config:\n        model_id: qwen\n        model_source: Qwen/Qwen3-8B\n      accelerator_type: "
         "H100\n      deployment_config:\n        " +
         deployment +
         "\n      engine_kwargs:\n        tensor_parallel_size: 2\n        enable_prefix_caching: false\n" + more;
}

TEST(DeployedValues, OfRay) {
  const Ran ran = serve("ray.yaml", ray_values("num_replicas: 2", "        max_num_seqs: 64\n"));
  EXPECT_THAT(ran.out,
      AllOf(HasSubstr("serve qwen3-8b --engine vllm --kv bf16 --replicas 2 --tp 2"), HasSubstr("most_sequences 64")));
  serve("ray.yaml", ray_values("autoscaling_config: {min_replicas: 1, max_replicas: 4}"));
  EXPECT_THAT(run_line("serve --input 64 --output 8 --concurrency 4 --launch " + own_path("ray.yaml")).err,
      AllOf(HasSubstr("replicas from 1 to 4: how many run is not told"), HasSubstr("--replicas N")));
  EXPECT_THAT(
      serve("ray.yaml", ray_values("num_replicas: 2", "      lora_config: {dynamic_lora_loading_path: s3}\n")).out,
      HasSubstr("lora_config is not known"));
  EXPECT_THAT(serve("ray.yaml", ray_values("num_replicas: 2", "        max_num_sekuences: 64\n")).out,
      HasSubstr("--max-num-sekuences (not known of vLLM"));
}

TEST(DeployedValues, CopiesOfCompose) {
  const auto compose = [](const std::string& copies) {
    return "services:\n  server:\n    image: vllm/vllm-openai:v0.11.0\n    command: --model Qwen/Qwen3-8B "
           "--max-num-seqs 64\n" +
           copies;
  };
  EXPECT_THAT(serve("compose.yaml", compose("    deploy:\n      replicas: 3\n")).out, HasSubstr("--replicas 3"));
  EXPECT_THAT(serve("compose.yaml", compose("    scale: 2\n")).out, HasSubstr("--replicas 2"));
  EXPECT_THAT(serve("compose.yaml", compose("")).out, Not(HasSubstr("--replicas")));
}

/// What a chart fills in is asked for where it counts, and nothing where it does not.
TEST(DeployedValues, BracesOfTemplatesAreNoJson) {
  const std::string serve_line = "vllm serve Qwen/Qwen3-8B --served-model-name '{{ .Values.name }}' ";
  EXPECT_EQ(infer("run.sh", serve_line + "\n").code, 0);
  EXPECT_THAT(infer("run.sh", serve_line + "--tensor-parallel-size '{{ .Values.tp }}'\n").err,
      HasSubstr("--tensor-parallel-size hangs on {{ .Values.tp }}, which nothing sets"));
}

TEST(DeployedValues, OtherNamesHavePartsToo) {
  const Ran ran = infer("run.sh", "vllm serve Qwen/Qwen3-8B -cc.cudagraph_mode=NONE -cc.pass_config.fuse_rope=True\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("not known")));
}

}  // namespace
}  // namespace stepcast::engines
