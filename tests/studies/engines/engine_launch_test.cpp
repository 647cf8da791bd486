// Launches of engines as they are written, and what they come to: flags of serve and the engine's row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

TEST(EngineLaunch, VllmOfADenseNetwork) {
  const auto got = read(R"(export NAME=meta-llama/Llama-3.1-70B-Instruct
vllm serve $NAME \
  --tensor-parallel-size 4 -dp=2 \
  --kv-cache-dtype fp8 --quantization fp8 \
  --max-num-batched-tokens 4k --max-num-seqs 128 \
  --gpu-memory-utilization 0.95 --no-enable-prefix-caching --port 8000 > server.log 2>&1 &
vllm bench serve --model $NAME --dataset-name random --random-input-len 1000 --random-output-len 100 \
  --max-concurrency 32 --num-prompts 320
)");
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.network, "llama3-70b");
  // data ranks of a network without experts are engines beside each other
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--replicas", "2"), Pair("--weights", "fp8"),
                                   Pair("--kv", "fp8"), Pair("--engine", "vllm"), Pair("--input", "1000"),
                                   Pair("--output", "100"), Pair("--concurrency", "32"), Pair("--requests", "320")}));
  EXPECT_FALSE(got.asked.flags.contains("--dp-attention"));
  EXPECT_EQ(got.asked.row.most_positions, 4000);  // k counts by 1000
  EXPECT_EQ(got.asked.row.most_sequences, 128);
  EXPECT_EQ(got.asked.row.cache_share, 0.95);
  EXPECT_TRUE(got.asked.warnings.empty());
}

TEST(EngineLaunch, VllmOfExperts) {
  const auto got = read("vllm serve deepseek-ai/DeepSeek-R1-0528 -tp 2 --data-parallel-size 4 --enable-expert-parallel "
                        "--all2all-backend deepep_low_latency --enforce-eager");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--dp-attention", "4"), Pair("--ep", "8"),
                                   Pair("--exchange", "rows"), Pair("--weights", "fp8-block"), Pair("--kv", "bf16")}));
  EXPECT_FALSE(got.asked.row.captured);
  EXPECT_FALSE(got.asked.flags.contains("--input"));
}

/// Eight tensor ranks have copies of the latent cache, or parts of it.
TEST(EngineLaunch, VllmOfKeysOnSeveralRanks) {
  const auto got = read("vllm serve moonshotai/Kimi-K2-Thinking -tp 8 -dcp 4 --dcp-comm-backend a2a");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--tp", "8"), Pair("--dcp", "4")}));
  EXPECT_FALSE(read("vllm serve moonshotai/Kimi-K2-Thinking -tp 8 -dcp 1").asked.flags.contains("--dcp"));
  EXPECT_THAT(read("vllm serve moonshotai/Kimi-K2-Thinking -tp 8 -pcp 2").error,
      HasSubstr("prompts split over ranks are not forecast"));
}

TEST(EngineLaunch, SglangCountsAllRanks) {
  // 16 tensor ranks hold 8 groups of two; what an iteration reads and who runs is divided between them.
  const auto got = read("python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 16 --dp 8 "
                        "--enable-dp-attention --moe-a2a-backend deepep --chunked-prefill-size 65536 "
                        "--max-running-requests 1024 --mem-fraction-static 0.8 --disable-radix-cache");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags,
      IsSupersetOf({Pair("--tp", "2"), Pair("--dp-attention", "8"), Pair("--ep", "16"), Pair("--exchange", "rows")}));
  EXPECT_EQ(got.asked.row.most_positions, 8192);
  EXPECT_EQ(got.asked.row.most_sequences, 128);
  EXPECT_EQ(got.asked.row.cache_share, 0.8);
  EXPECT_EQ(got.asked.row.reserved.value(), 0);
  // without attention groups data ranks are copies
  const auto copies = read("python -m sglang.launch_server --model Qwen/Qwen3-32B --tp 2 --dp 4");
  EXPECT_THAT(copies.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--replicas", "4")}));
}

/// SGLang decides more by itself where an indexer picks keys, and not always the same.
TEST(EngineLaunch, HabitsOfReleasesAreSaid) {
  const std::string line = "python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3.2-Exp --tp 8";
  const auto got = read(line);
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.notes, IsSupersetOf({HasSubstr("--tp 1 --dp-attention 8"), HasSubstr("--kv fp8")}));
  EXPECT_THAT(read(line + " --dp-size 8 --enable-dp-attention --kv-cache-dtype bfloat16").asked.notes,
      Not(Contains(AnyOf(HasSubstr("--tp 1"), HasSubstr("on Blackwell")))));
  EXPECT_THAT(read(line, {{"--dp-attention", "8"}, {"--kv", "fp8"}}).asked.notes,
      Not(Contains(AnyOf(HasSubstr("--tp 1"), HasSubstr("on Blackwell")))));
  EXPECT_EQ(read("vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8 --kv-cache-dtype fp8_ds_mla").asked.flags.at("--kv"),
      "fp8-ds-mla");
}

/// vLLM keeps an fp8 cache of picked latents in a layout of its own; what a user says of it stands.
TEST(EngineLaunch, PickedLatentsHaveALayoutOfTheirOwn) {
  const auto kept = [](const std::string& line, const Told& told = {}) {
    return read(line, told).asked.flags.at("--kv");
  };
  const std::string picks = "vllm serve deepseek-ai/DeepSeek-V3.2 -tp 8", narrow = " --kv-cache-dtype fp8";
  EXPECT_EQ(kept(picks + narrow), "fp8-ds-mla");
  EXPECT_EQ(kept(picks), "bf16");
  EXPECT_EQ(kept(picks + narrow, {{"--kv", "fp8"}}), "fp8");
  EXPECT_EQ(kept("vllm serve deepseek-ai/DeepSeek-V3 -tp 8" + narrow), "fp8");
}

/// A template of talks may stand in the line itself; it begins like an object.
TEST(EngineLaunch, TemplatesOfTalksAreNoObjects) {
  const std::string line = "vllm serve Qwen/Qwen3-32B -tp 2 --chat-template ";
  EXPECT_EQ(read(line + "'{% for m in messages %}{{ m }}{% endfor %}'").error, "");
  EXPECT_THAT(read(line + "'{for m in messages}'").error, HasSubstr("--chat-template"));
}

/// Nodes of a cluster of KubeRay start Ray by a variable that its operator sets.
TEST(EngineLaunch, RayIsStartedBesideIt) {
  const auto got = read("eval \"$KUBERAY_GEN_RAY_START_CMD --block\" &\nsleep 2\n"
                        "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags, Contains(Pair("--tp", "2")));
  EXPECT_THAT(read("eval \"$START\"\nvllm serve Qwen/Qwen3-8B\n").error, HasSubstr("evaluates"));
}

TEST(EngineLaunch, TensorRtLlmWithTheFileThatItWrites) {
  const auto got = read(R"(cat > extra.yml <<EOF
enable_attention_dp: true
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.7
cuda_graph_config:
  max_batch_size: 64
EOF
trtllm-serve nvidia/DeepSeek-R1-NVFP4 --tp_size=8 --ep_size 8 --max_batch_size 64 --max_num_tokens 2048 \
  --kv_cache_free_gpu_memory_fraction 0.9 --extra_llm_api_options extra.yml
)",
      {{"--machine", "dgx-b200"}});
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags,
      IsSupersetOf({Pair("--dp-attention", "8"), Pair("--ep", "8"), Pair("--weights", "nvfp4"), Pair("--kv", "fp8")}));
  EXPECT_FALSE(got.asked.flags.contains("--tp"));
  EXPECT_EQ(got.asked.row.cache_share, 0.7);  // its file goes over its options
  EXPECT_EQ(got.asked.row.most_captured, 64);
}

TEST(EngineLaunch, TrtllmWindowsAreTheNetworksOrAnotherNetwork) {
  const auto with = [](const std::string& windows, const std::string& more = "") {
    return read("cat > e.yml <<EOF\nkv_cache_config:\n  max_attention_window: " + windows + "\n" + more +
                    "EOF\ntrtllm-serve openai/gpt-oss-20b --max_seq_len 8192 --extra_llm_api_options e.yml",
        {{"--machine", "dgx-b200"}});
  };
  const auto own = with("[128, 8192]", "disable_overlap_scheduler: true\n");
  ASSERT_EQ(own.error, "");
  EXPECT_FALSE(own.asked.row.keeps_windows);
  EXPECT_FALSE(own.asked.row.plans_ahead);
  EXPECT_TRUE(with("[]").asked.row.keeps_windows);
  EXPECT_TRUE(with("[]").asked.row.plans_ahead);
  for (const char* all : {"null", "[8192]", "[9000, 8192]"}) EXPECT_TRUE(with(all).asked.row.keeps_windows) << all;
  EXPECT_THAT(with("[128, 8192, 8192, 8192]").error, HasSubstr("some windowed layers of gpt-oss-20b keep all"));
  EXPECT_THAT(with("[256, 8192]").error, HasSubstr("gives layer 0 256 positions, and gpt-oss-20b has 128 there"));
  EXPECT_THAT(with("[128]").error, HasSubstr("gives layer 1 128 positions, and gpt-oss-20b has 8192 there"));
  EXPECT_THAT(with("[128, many]").error, HasSubstr("is no list of sizes"));
}

/// Plans of TensorRT-LLM up to 0.21 have a network's windows where a launch says them.
TEST(EngineLaunch, TrtllmPlansHaveTheWindowsThatAreSaid) {
  const auto with = [](const std::string& windows) {
    return read("docker run nvcr.io/nvidia/tensorrt-llm/release:0.17.0 bash -c \"trtllm-serve "
                "mistralai/Mistral-7B-v0.1 --max_seq_len 32768 --extra_llm_api_options e.yml\"\ncat > e.yml <<EOF\n"
                "kv_cache_config:\n  max_attention_window: " +
                windows + "\nEOF\n");
  };
  const auto said = with("[4096]"), whole = with("[32768]");
  ASSERT_EQ(said.error, "");
  EXPECT_EQ(said.asked.row.id, "tensorrt-llm-2024");
  EXPECT_FALSE(said.asked.row.windows_when_said);
  EXPECT_TRUE(whole.asked.row.windows_when_said);
}

TEST(EngineLaunch, HabitsFollowTheGpu) {
  const std::string line = "vllm serve meta-llama/Llama-3.1-8B-Instruct";
  EXPECT_EQ(read(line, {{"--machine", "dgx-h100"}}).asked.row.most_positions, 8192);
  EXPECT_EQ(read(line, {{"--machine", "dgx-a100"}}).asked.row.most_positions, 2048);  // vLLM spares A100
  EXPECT_EQ(read(line, {{"--machine", "dgx-a100"}}).asked.row.most_sequences, 256);
}

TEST(EngineLaunch, FilesHaveOtherNamesOfOlderReleasesAndNoKeys) {
  const auto old = read("cat > e.yml <<EOF\npytorch_backend_config:\n  cuda_graph_batch_sizes: [1, 2, 96]\nEOF\n"
                        "trtllm-bench -m meta-llama/Llama-3.1-8B-Instruct throughput --dataset d.txt --concurrency 8 "
                        "--kv_cache_free_gpu_mem_fraction 0.8 --extra_llm_api_options e.yml");
  ASSERT_EQ(old.error, "");
  EXPECT_EQ(old.asked.row.most_captured, 96);
  EXPECT_EQ(old.asked.row.cache_share, 0.8);
  EXPECT_EQ(old.asked.flags.at("--concurrency"), "8");
  const auto no = read("cat > c.yaml <<EOF\nno-enable-chunked-prefill: true\nmax-num-seqs: 7\nmax-model-len: 4k\nEOF\n"
                       "vllm serve Qwen/Qwen3-8B --config c.yaml --max-num-seqs 9");
  ASSERT_EQ(no.error, "");
  EXPECT_TRUE(no.asked.row.whole_prompts);
  EXPECT_EQ(no.asked.row.most_sequences, 9);  // the line goes over the file
}

TEST(EngineLaunch, FoldersOfCheckpointsAreNames) {
  const std::string hash(40, 'a');
  const auto network = [](const std::string& model) { return read("vllm serve " + model).asked; };
  EXPECT_EQ(network("/hub/models--Qwen--Qwen3-8B/snapshots/" + std::string(40, 'b')).network, "qwen3-8b");
  EXPECT_EQ(network("/data/deepseek-ai/DeepSeek-V3/" + hash).flags.at("--weights"), "fp8-block");
  EXPECT_EQ(network("/data/Qwen3-30B-A3B-Instruct-2507-FP8").flags.at("--weights"), "fp8-block");
  EXPECT_EQ(network("RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8-dynamic").flags.at("--weights"), "fp8");
}

/// vLLM follows the scheme in a checkpoint's file; what SGLang makes of it is not known, and told types go over both.
TEST(EngineLaunch, TheCacheIsKeptAsTheFileInFrontSays) {
  const auto file = [](const std::string& kind) {
    return written("config.json", R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false,
      "quantization_config": {"quant_method": "fbgemm_fp8", "kv_cache_scheme": {"num_bits": 8, "type": ")" +
                                      kind + R"("}}})");
  };
  const std::string vllm = "vllm serve ./mine", sglang = "python3 -m sglang.launch_server --model-path ./mine";
  EXPECT_EQ(read(vllm, {}, file("float")).asked.flags.at("--kv"), "fp8");
  EXPECT_EQ(read(vllm, {{"--kv", "bf16"}}, file("float")).asked.flags.at("--kv"), "bf16");
  EXPECT_THAT(read(sglang, {}, file("float")).error, HasSubstr("what sglang makes of that is not known"));
  EXPECT_THAT(read(vllm, {}, file("int")).error, HasSubstr("has its cache kept as int of 8 bits"));
}

TEST(EngineLaunch, FlagsGoOverTheLoad) {
  const std::string text =
      "vllm serve Qwen/Qwen3-8B --max-model-len 2048\n"
      "vllm bench serve --model x --random-input-len 500 --random-output-len 500 --request-rate 3\n";
  const auto got = read(text, {{"--concurrency", "8"}});
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.flags.at("--concurrency"), "8");
  EXPECT_FALSE(got.asked.flags.contains("--rate"));
  EXPECT_THAT(got.asked.notes, Contains(HasSubstr("what flags replace or leave out: --rate 3")));
  EXPECT_THAT(read(text, {{"--rate", "3"}}).asked.notes, Not(Contains(HasSubstr("replace or leave out"))));
  EXPECT_EQ(got.asked.flags.at("--input"), "500");
  EXPECT_THAT(read(text, {{"--input", "2000"}}).error,
      HasSubstr("requests of 2000 and 500 positions, and the engine takes 2048"));
}

/// Of an iteration a benchmark says nothing: neither its lengths nor its users.
TEST(EngineLaunch, AnIterationTakesNoLoad) {
  const std::string file = written("loaded.sh",
      "vllm serve Qwen/Qwen3-8B --speculative-config '{\"method\": \"eagle3\", \"num_speculative_tokens\": 2}'\n"
      "vllm bench serve --model x --random-input-len 500 --random-output-len 400 --max-concurrency 8\n");
  const auto ran = testing_program::run_line("infer --launch " + file + " --prompt 512 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"phase\": \"prefill\""));
  EXPECT_THAT(ran.out, HasSubstr("\"batch\": 1"));
  EXPECT_THAT(testing_program::run_line("infer --launch " + file + " --context 512").err, HasSubstr("--accepted"));
  EXPECT_EQ(testing_program::run_line("infer --launch " + file + " --context 512 --accepted 0.7").code, 0);
}

TEST(EngineLaunch, V0IsAnEngineOfItsOwn) {
  EXPECT_EQ(read("VLLM_USE_V1=0 vllm serve Qwen/Qwen3-8B").asked.row.id, "vllm-v0");
  EXPECT_EQ(read("vllm serve Qwen/Qwen3-8B").asked.row.id, "vllm");
}

TEST(EngineLaunch, VariablesDealLayersToStages) {
  const auto layout = [](const std::string& line) {
    const auto flags = read(line).asked.flags;
    const auto found = flags.find("--layout");
    return found == flags.end() ? std::string() : found->second;
  };
  EXPECT_EQ(layout("VLLM_PP_LAYER_PARTITION=13,15 vllm serve Qwen/Qwen3-1.7B --pipeline-parallel-size 2"), "13,15");
  EXPECT_EQ(layout("SGLANG_PP_LAYER_PARTITION=13,15 vllm serve Qwen/Qwen3-1.7B --pipeline-parallel-size 2"), "");
  EXPECT_EQ(layout("SGLANG_PP_LAYER_PARTITION=13,15 python3 -m sglang.launch_server --model-path Qwen/Qwen3-1.7B "
                   "--pp-size 2"),
      "13,15");
}

/// Of 28 layers: what the launch says wrongly is its own, and flags of the command line go over it.
TEST(EngineLaunch, LayersOfStagesThatAreNotTheNetworksAreTheLaunchs) {
  const auto error = [](const std::string& layers, const std::string& line, const Told& told = {}) {
    return read(layers + line, told).error;
  };
  const std::string vllm = " vllm serve Qwen/Qwen3-1.7B --pipeline-parallel-size 2";
  const std::string sum = error("VLLM_PP_LAYER_PARTITION=13,14", vllm);
  EXPECT_THAT(sum, HasSubstr("VLLM_PP_LAYER_PARTITION: 27 layers in all, and qwen3-1.7b has 28"));
  EXPECT_THAT(sum, HasSubstr("nearest: 14,14"));
  EXPECT_THAT(error("SGLANG_PP_LAYER_PARTITION=14,14", " python3 -m sglang.launch_server --model-path Qwen/Qwen3-1.7B"),
      HasSubstr("SGLANG_PP_LAYER_PARTITION: layers of 2 stages, and there are 1"));
  EXPECT_EQ(error("VLLM_PP_LAYER_PARTITION=13,14", vllm, {{"--layout", "13,15"}}), "");
  EXPECT_EQ(error("VLLM_PP_LAYER_PARTITION=9,9,10", vllm, {{"--pp", "3"}}), "");
}

/// A pool of prompts has no graphs, and ranks of its own; engines, versions and loops are told apart.
TEST(EngineDeployment, PoolsOfScriptsAreOfOneEngine) {
  const auto sglang = [](const std::string& prompts, const std::string& tokens) {
    const std::string server = "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --disaggregation-mode ";
    return server + "prefill " + prompts + " &\n" + server + "decode " + tokens + "\n";
  };
  const auto ranks = read(sglang("--tp 2", "--tp 4"));
  ASSERT_EQ(ranks.error, "");
  EXPECT_THAT(ranks.asked.flags, IsSupersetOf({Pair("--prefill-tp", "2"), Pair("--tp", "4")}));
  EXPECT_EQ(read(sglang("--tp 4", "--tp 2")).error, "");
  const std::string vllm = "vllm serve Qwen/Qwen3-32B --kv-transfer-config "
                           "'{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_producer\"}' &\n";
  EXPECT_THAT(
      read(vllm + sglang("", "").substr(sglang("", "").find('\n') + 1)).error, HasSubstr("one engine for both"));
}

TEST(EngineLaunch, EnginesOfALoopAreDoubted) {
  const std::string serve = "vllm serve Qwen/Qwen3-8B --port 8000";
  EXPECT_EQ(read(serve + "\n").error, "");
  EXPECT_EQ(read("while true; do\n  " + serve + "\ndone\n").error, "") << "it is started again where it ends";
  EXPECT_THAT(read("for i in 0 1 2 3; do\n  " + serve + " &\ndone\n").error,
      HasSubstr("a loop starts the engine of line 2, and how often is not followed"));
  EXPECT_EQ(read("for i in 0 1; do\n  echo $i\ndone\n" + serve + "\n").error, "");
}

TEST(EngineLaunch, WithoutTheOverlapSchedulerNothingIsPlannedAhead) {
  const auto plans_ahead = [](const std::string& more) {
    const auto got = read("python -m sglang.launch_server --model-path Qwen/Qwen3-8B" + more + "\n");
    EXPECT_EQ(got.error, "");
    return got.asked.row.plans_ahead;
  };
  EXPECT_TRUE(plans_ahead(""));
  EXPECT_FALSE(plans_ahead(" --disable-overlap-schedule"));
}

TEST(EngineLaunch, SequencesOfInferFitTheEngine) {
  const std::string file = written("short.sh", "vllm serve Qwen/Qwen3-8B --max-model-len 8000\n");
  EXPECT_THAT(testing_program::run_line("infer --launch " + file + " --context 20000").err,
      HasSubstr("a sequence of 20000 positions, and the engine takes 8000"));
  EXPECT_THAT(testing_program::run_line("infer --launch " + file + " --prompt 5000 --cached 4000").err,
      HasSubstr("a sequence of 9000 positions"));
  EXPECT_THAT(testing_program::run_line("infer --launch " + file + " --prompt 7900 --output 500 --batch 1").err,
      HasSubstr("a sequence of 8400 positions"));
  EXPECT_EQ(testing_program::run_line("infer --launch " + file + " --context 7999").code, 0);
  // A prompt beside running sequences, none of them too long.
  EXPECT_EQ(
      testing_program::run_line("infer --launch " + file + " --phase mixed --context 6000 --batch 8 --prompt 4000")
          .code,
      0);
}

TEST(EngineLaunch, FilesOfEchoHaveTheLinesThatItWrites) {
  const auto got = read("echo -e \"max_batch_size: 32\\nkv_cache_config:\\n  dtype: fp8\" > f.yml\n"
                        "trtllm-serve Qwen/Qwen3-8B --config f.yml\n");
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.flags.at("--kv"), "fp8");
}

TEST(EngineLaunch, ExplainSaysThatNothingServes) {
  const std::string file = written("none.sh", "ls -l\n");
  EXPECT_THAT(testing_program::run_line("explain --concurrency 16 --launch " + file).err,
      testing::AllOf(HasSubstr("none.sh: no command in it starts a serving engine"), HasSubstr("--concurrency")));
}

}  // namespace
}  // namespace stepcast::engines
