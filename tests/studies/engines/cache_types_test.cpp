// What engines keep keys and values in where nobody says it, and iterations that hold whole prompts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string kept_by(const std::string& line, const Told& told = {}) {
  const Read got = read(line, told);
  return got.error.empty() ? got.asked.flags.at("--kv") : "error: " + got.error;
}

std::string from_image(const std::string& image, const std::string& words) {
  return "docker run " + image + " " + words;
}

/// vLLM follows what NVIDIA's checkpoints tell of the cache since 0.14, and not before 0.13.
TEST(CacheTypes, VllmFollowsOptimizedCheckpointsByRelease) {
  const std::string model = "--model nvidia/Llama-3.3-70B-Instruct-FP4 -tp 2";
  const auto image = [&](const std::string& release) {
    return kept_by(from_image("vllm/vllm-openai:" + release, model));
  };
  EXPECT_EQ(image("v0.19.0"), "fp8");
  EXPECT_EQ(image("v0.14.0"), "fp8");
  EXPECT_EQ(image("v0.12.0"), "bf16");
  EXPECT_THAT(image("v0.13.0"), AllOf(HasSubstr("of releases between it is not known"), HasSubstr("--kv bf16")));
  const std::string bare = "vllm serve nvidia/Llama-3.3-70B-Instruct-FP4 -tp 2";
  EXPECT_THAT(kept_by(bare), AllOf(HasSubstr("which release it is is not told"), HasSubstr("--kv fp8")));
  EXPECT_EQ(kept_by(bare, {{"--engine", "vllm-2026"}}), "fp8");
  EXPECT_EQ(kept_by(bare, {{"--kv", "bf16"}}), "bf16");
  EXPECT_EQ(kept_by("VLLM_USE_V1=0 " + bare), "bf16");
  EXPECT_EQ(kept_by(bare + " --kv-cache-dtype fp8"), "fp8");
  EXPECT_THAT(read(from_image("vllm/vllm-openai:v0.9.0", model)).asked.notes,
      Contains(HasSubstr("vLLM before 0.13 does not follow the checkpoint, which has fp8")));
}

/// SGLang since October 2025, and a release that nobody tells is later. TensorRT-LLM always.
TEST(CacheTypes, OtherEnginesFollowThemToo) {
  const std::string words = "python3 -m sglang.launch_server --model-path nvidia/Llama-3.1-8B-Instruct-FP8";
  EXPECT_EQ(kept_by(from_image("lmsysorg/sglang:v0.5.9", words)), "fp8");
  EXPECT_EQ(kept_by(from_image("lmsysorg/sglang:v0.5.2", words)), "bf16");
  EXPECT_THAT(kept_by(from_image("lmsysorg/sglang:v0.5.3", words)), HasSubstr("SGLang follows since 0.5.5"));
  EXPECT_EQ(kept_by(words), "fp8");
  EXPECT_THAT(read(words).asked.notes, Contains(HasSubstr("SGLang follows it since 0.5.5 or earlier")));
  EXPECT_EQ(kept_by("trtllm-serve nvidia/Llama-3.1-8B-Instruct-FP8"), "fp8");
}

/// vLLM reads the key of the Model Optimizer alone (get_kv_cache_quant_algo_string), and AMD's checkpoints are Quark's.
TEST(CacheTypes, CheckpointsOfOthersTellVllmNothing) {
  EXPECT_EQ(kept_by("vllm serve amd/Llama-3.1-70B-Instruct-FP8-KV -tp 4"), "bf16");
  EXPECT_EQ(kept_by("vllm serve Qwen/Qwen3-8B"), "bf16");
}

/// SGLang's own choice for picked latents hangs on the GPU, and goes before what a checkpoint tells.
TEST(CacheTypes, SglangChoosesForSomeNetworks) {
  const Told blackwell = {{"--machine", "dgx-b200"}}, hopper = {{"--machine", "hgx-h200"}};
  for (const char* model : {"deepseek-ai/DeepSeek-V3.2", "zai-org/GLM-5-FP8"}) {
    const std::string line = std::string("python3 -m sglang.launch_server --tp 8 --model-path ") + model;
    EXPECT_EQ(kept_by(line, blackwell), "fp8") << model;
    EXPECT_EQ(kept_by(line, hopper), "bf16") << model;
    EXPECT_EQ(kept_by(line + " --kv-cache-dtype bfloat16", blackwell), "bf16") << model;
    EXPECT_THAT(read(line, blackwell).asked.notes,
        AllOf(Contains(HasSubstr("SGLang keeps latents that are picked so on Blackwell")),
            Not(Contains(HasSubstr("--machine, or --kv fp8")))));
    EXPECT_THAT(read(line).asked.notes, Contains(HasSubstr("--machine, or --kv fp8")));
  }
  const std::string compressed = "python3 -m sglang.launch_server --tp 8 --model-path deepseek-ai/DeepSeek-V4-Pro";
  EXPECT_EQ(kept_by(compressed, {{"--machine", "dgx-b300"}, {"--weights", "mxfp4"}}), "fp8");
  EXPECT_EQ(kept_by(compressed, {{"--machine", "hgx-h200"}, {"--weights", "mxfp4"}}), "fp8");
  const std::string vllm = "vllm serve deepseek-ai/DeepSeek-V4-Pro -tp 8";
  EXPECT_EQ(kept_by(vllm, {{"--machine", "hgx-h200"}, {"--weights", "mxfp4"}}), "fp8-ds-mla");
  EXPECT_EQ(kept_by(vllm, {{"--machine", "dgx-b200"}, {"--weights", "mxfp4"}}), "bf16");
}

/// --quantization fp8 narrows wide weights and leaves others; of a network with both the name must tell which they are.
TEST(StoredTypes, OnlineQuantizationLeavesNarrowWeights) {
  const auto weights = [](const std::string& model) {
    const Read got = read("vllm serve " + model + " -tp 16 --quantization fp8");
    return got.error.empty() ? got.asked.flags.at("--weights") : got.error;
  };
  EXPECT_EQ(weights("moonshotai/Kimi-K2-Instruct"), "fp8-block");
  EXPECT_EQ(weights("moonshotai/Kimi-K2-Instruct-0905"), "fp8-block");
  EXPECT_EQ(weights("Qwen/Qwen3-32B"), "fp8");
  EXPECT_THAT(
      weights("deepseek-ai/DeepSeek-V4-Pro"), HasSubstr("in which type deepseek-ai/DeepSeek-V4-Pro stores them"));
}

/// max(the longest request, 8,192 of an H100), and no more than all sequences together.
TEST(WholePrompts, VllmsIterationsHoldTheLongestRequest) {
  const std::string line = "vllm serve Qwen/Qwen3-32B -tp 2 --no-enable-chunked-prefill";
  const auto positions = [&](const std::string& more, const Told& told = {}) {
    const Read got = read(line + more, told);
    EXPECT_EQ(got.error, "") << more;
    return got.asked.row.most_positions;
  };
  EXPECT_EQ(positions(" --max-model-len 32768"), 32768);
  EXPECT_EQ(read(line + " --max-model-len 32768").asked.flags.at("--most-positions"), "32768");
  EXPECT_EQ(positions(" --max-model-len 4096"), 8192);
  EXPECT_EQ(positions(" --max-model-len 512 --max-num-seqs 4"), 2048);
  EXPECT_EQ(positions(" --max-model-len 32768 --max-num-batched-tokens 65536"), 65536);
  EXPECT_THAT(read(line + " --max-model-len 32768 --max-num-batched-tokens 4096").error,
      HasSubstr("4096 positions of an iteration, and requests of 32768 are not cut"));
  EXPECT_THAT(
      read(line).error, AllOf(HasSubstr("how long one of qwen3-32b may be is not told"), HasSubstr("--max-model-len")));
  EXPECT_EQ(read(line, {{"--most-positions", "16384"}}).error, "");
  // where prompts are cut the longest request says nothing of it
  EXPECT_EQ(read("vllm serve Qwen/Qwen3-32B -tp 2 --max-model-len 32768").asked.row.most_positions, 8192);
}

/// The options of Dynamo's TensorRT-LLM, and the example of its help for what goes over the rest.
TEST(DynamoOptions, OfTensorRtLlm) {
  const std::string line = "python3 -m dynamo.trtllm --model nvidia/Llama-3.3-70B-Instruct-FP4 ";
  const Read blocks = read(line + "--tensor-parallel-size 4 --kv-block-size 64 --publish-kv-events --modality text "
                                  "--conversation-affinity --disaggregation-mode pd");
  ASSERT_EQ(blocks.error, "");
  EXPECT_EQ(blocks.asked.row.cache_block, 64);
  const Read over =
      read(line + "--tensor-parallel-size 4 --override-engine-args "
                  "'{\"tensor_parallel_size\": 2, \"kv_cache_config\": {\"enable_block_reuse\": false}}'");
  ASSERT_EQ(over.error, "");
  EXPECT_EQ(over.asked.flags.at("--tp"), "2");
  EXPECT_THAT(read(line + "--override-engine-args '{\"wibble\": 2}'").error, HasSubstr("wibble"));
  EXPECT_THAT(read(line + "--override-engine-args '{\"max_beam_width\": 2}'").error, HasSubstr("beam search"));
  EXPECT_THAT(
      read(line + "--override-engine-args file.yaml").error, HasSubstr("values over the engine's are not read"));
  EXPECT_THAT(read(line + "--modality video_diffusion").error, HasSubstr("other answers than text"));
}

std::string kserve_service(const std::string& model) {
  return "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: q}\nspec:\n  predictor:\n"
         "    model:\n      modelFormat: {name: huggingface}\n" +
         model + "      resources: {limits: {nvidia.com/gpu: 1}}\n";
}

/// KServe's server has names of its own: its words may tell the model, and a server without vLLM is another one.
TEST(KServeServer, NamesItsModel) {
  const auto got = [](const std::string& model) { return read(kserve_service(model)); };
  const Read by_word = got("      args: [--model_name=llama3, --model_id=meta-llama/Meta-Llama-3-8B-Instruct]\n");
  ASSERT_EQ(by_word.error, "");
  EXPECT_EQ(by_word.asked.network, "llama3-8b");
  const Read by_uri = got("      args: [--model_name=q, --model_dir=/mnt/models, --backend=vllm, --max_length=4096, "
                          "--max-num-seqs=16]\n      storageUri: hf://Qwen/Qwen3-8B\n");
  ASSERT_EQ(by_uri.error, "");
  EXPECT_EQ(by_uri.asked.network, "qwen3-8b");
  EXPECT_EQ(by_uri.asked.longest, 4096);
  EXPECT_EQ(by_uri.asked.row.most_sequences, 16);
  // --model_id goes before the folder
  EXPECT_EQ(got("      args: [--model_id=Qwen/Qwen3-32B]\n      storageUri: hf://Qwen/Qwen3-8B\n").asked.network,
      "qwen3-32b");
  EXPECT_THAT(got("      args: [--model_name=q, --backend=huggingface]\n      storageUri: hf://Qwen/Qwen3-8B\n").error,
      HasSubstr("a server without vLLM is not forecast"));
  EXPECT_THAT(got("      args: [--model_name=q]\n").error, HasSubstr("it names no model"));
  EXPECT_THAT(got("      args: [--model_id=Qwen/Qwen3-8B, --wibble=1]\n").error,
      HasSubstr("not known of KServe's huggingface server"));
  EXPECT_EQ(
      read("python3 -m huggingfaceserver --model_id Qwen/Qwen3-8B --tensor-parallel-size 2").asked.flags.at("--tp"),
      "2");
}

/// What Kubernetes would put in is asked for by its name; "$$(...)" and what a shell runs are no variables.
TEST(OpenVariables, OfKubernetesAreAskedForByName) {
  const auto deployed = [](const std::string& args, const std::map<std::string, std::string>& defined = {}) {
    return read("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: q}\nspec:\n  template:\n    spec:\n"
                "      containers:\n      - name: q\n        image: vllm/vllm-openai:v0.10.0\n        args: [" +
                    args + "]\n",
        {}, "", false, defined);
  };
  EXPECT_THAT(deployed("--model, $(MODEL_PATH)").error,
      AllOf(HasSubstr("MODEL_PATH"), HasSubstr("--define MODEL_PATH="), Not(HasSubstr("no network"))));
  EXPECT_THAT(deployed("--model=Qwen/Qwen3-8B, --tensor-parallel-size=$(PARALLELISM_SIZE)").error,
      HasSubstr("hangs on $PARALLELISM_SIZE, which nothing sets: --define PARALLELISM_SIZE=..."));
  const Read told = deployed(
      "--model, $(MODEL_PATH), --tensor-parallel-size=$(SIZE)", {{"MODEL_PATH", "Qwen/Qwen3-8B"}, {"SIZE", "2"}});
  ASSERT_EQ(told.error, "");
  EXPECT_EQ(told.asked.flags.at("--tp"), "2");
}

}  // namespace
}  // namespace stepcast::engines
