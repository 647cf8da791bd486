// What stands in the memory of an engine: cache, weights, activations, and how much room its rule leaves.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/network/hf/config.h"
#include "studies/engines/positions/context_length.h"
#include "studies/infer/phases.h"
#include "studies/infer/start_rules.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

/// Keys and values of a position: layers x key heads x head size x 2 x 2 bytes; latent: layers x (rank + rotated) x 2.
TEST(InferMemory, TheCacheHoldsKeysAndValuesOfEachPosition) {
  const auto bytes = [](const Serving& s) { return s.cache_bytes(1000) / 1000; };
  EXPECT_EQ(bytes(serving("llama3-8b", "dgx-h100", 1)), 32 * 8 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("llama2-70b", "dgx-h100", 8)), 80 * 1 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 1)), 27 * (512 + 64) * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 4)), 27 * (512 + 64) * 2) << "every rank has the latents";
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.cache = "fp8";
  EXPECT_EQ(bytes(*serving_of(wishes)), 32 * 8 * 128 * 2);
  EXPECT_EQ(bytes(serving("qwen3-30b-a3b", "dgx-h100", 8)), 48 * 1 * 128 * 2 * 2) << "4 key heads, each on two ranks";
  // Every second layer of gpt-oss keeps 128 positions.
  EXPECT_EQ(serving("gpt-oss-20b", "dgx-h100", 1).cache_bytes(1000), 12.0 * (1000 + 128) * 8 * 64 * 2 * 2);
  // TensorRT-LLM keeps all of them.
  EXPECT_EQ(serving("gpt-oss-20b", "dgx-h100", 1, "tensorrt-llm").cache_bytes(1000), 24.0 * 1000 * 8 * 64 * 2 * 2);
}

/// OLMo 3's 100,278 words are no multiple of 8: engines add rows, of 64 at a time, and no rank has the whole table.
TEST(InferMemory, VocabulariesAreFilledUpWhereRanksDoNotDivideThem) {
  const Serving whole = serving("olmo3-7b", "dgx-h100", 1), split = serving("olmo3-7b", "dgx-h100", 8);
  EXPECT_EQ(whole.network().vocab, 100278);
  EXPECT_EQ(split.network().vocab, 100288);
  constexpr double norms = 32 * 4 * 4096 + 4096;  // on every rank; those of queries and keys are split
  const double added = 2.0 * 10 * 4096, own = whole.weight_bytes() / 2 - norms;
  EXPECT_NEAR(split.weight_bytes() / 2, (own + added) / 8 + norms, norms);
  EXPECT_THAT(split.assumptions, testing::Contains(HasSubstr("vocabulary of 100278 rows is filled up to 100288")));
  EXPECT_THAT(whole.assumptions, Not(testing::Contains(HasSubstr("filled up"))));
  EXPECT_EQ(serving("llama3-8b", "dgx-h100", 8).network().vocab, 128256);
}

/// vLLM and SGLang fill up to whole runs of 64 rows and divide what comes of it: 51,200 rows have no sixth.
TEST(InferMemory, VocabulariesThatRanksDoNotDivideWhenFilledUpAreRefused) {
  const auto on_six = [](const char* network, const char* engine) {
    ServingWishes wishes;
    wishes.network = network, wishes.engine = engine, wishes.tp = 6;
    return serving_of(wishes);
  };
  for (const char* engine : {"vllm", "sglang", "vllm-v0"}) {
    const auto refused = on_six("megatron-1.7b", engine);
    ASSERT_FALSE(refused) << engine;
    EXPECT_THAT(refused.error().where, HasSubstr("--tp"));
    EXPECT_THAT(refused.error().what, HasSubstr("51200 rows of the vocabulary, filled up to 51200, on 6 ranks"));
    EXPECT_THAT(refused.error().hint, HasSubstr("legal tp: 1, 2, 4, 8"));
  }
  const auto filled = on_six("megatron-1.7b", "tensorrt-llm");
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->network().vocab % 6, 0);
}

/// SGLang has a pool of windows for some classes of networks, of a share of the others' positions; others keep all
/// keys.
TEST(InferMemory, WindowsHaveAPoolWhereTheClassOfTheNetworkHasOne) {
  const auto of = [](const char* network, double positions, const char* engine = "sglang") {
    return serving(network, "dgx-h100", 1, engine).cache_bytes(positions);
  };
  // gpt-oss-20b: 12 layers with a window of 128 and 12 without, 8 key heads of 64, 2 x 2 bytes
  constexpr double layer = 8 * 64 * 2 * 2;
  EXPECT_DOUBLE_EQ(of("gpt-oss-20b", 7000), 7000 * layer * (12 + 0.8 * 12));
  EXPECT_DOUBLE_EQ(of("gpt-oss-20b", 128), 128 / 0.8 * layer * (12 + 0.8 * 12)) << "the pool of windows is full first";
  EXPECT_DOUBLE_EQ(of("gpt-oss-20b", 150), 160 * layer * (12 + 0.8 * 12));
  // gemma3-27b: 62 layers, 16 key heads of 128, windows of 1,024; gemma2-2b: 26 layers, 4 of 256
  EXPECT_EQ(of("gemma3-27b", 30000), 62.0 * 30000 * 16 * 128 * 2 * 2);
  EXPECT_EQ(of("gemma2-2b", 7000), 26.0 * 7000 * 4 * 256 * 2 * 2);
  EXPECT_EQ(of("mistral-7b", 7000), 32.0 * 7000 * 8 * 128 * 2 * 2);
  EXPECT_LT(of("gemma3-27b", 30000, "vllm"), 0.25 * of("gemma3-27b", 30000))
      << "vLLM lets go of what no window reaches";
  const Engine& sglang = **find_row(built_in().engines, "sglang", "engine");
  for (const char* pooled : {"llama4-scout", "gemma4-31b", "step-3.5-flash", "gpt-oss-120b", "deepseek-v4-flash"})
    EXPECT_NE(sglang.window_pool((*find_row(built_in().networks, pooled, "network"))->family), nullptr) << pooled;
}

/// Families that rows of engines and of networks name are those that read files.
TEST(InferMemory, FamiliesOfRowsAreKnown) {
  const std::vector<std::string> known = hf_families();
  std::vector<std::string> named;
  for (const Engine& engine : built_in().engines) {
    named.insert(named.end(), engine.expands_latents.begin(), engine.expands_latents.end());
    for (const Engine::WindowPool& pool : engine.window_pools)
      named.insert(named.end(), pool.families.begin(), pool.families.end());
  }
  for (const NetworkSpec& network : built_in().networks)
    if (!network.family.empty()) named.push_back(network.family);
  EXPECT_FALSE(named.empty());
  for (const std::string& family : named) EXPECT_THAT(known, testing::Contains(family));
}

/// A latent network that vLLM does not list has keys and values of each head there, which is refused.
TEST(InferMemory, LatentsThatAnEngineExpandsAreRefused) {
  const std::string file = testing_program::own_path("config.json");
  std::ofstream(file) << R"({"architectures": ["MiniCPM3ForCausalLM"], "model_type": "minicpm3", "hidden_size": 2560,
      "intermediate_size": 6400, "num_hidden_layers": 62, "num_attention_heads": 40, "num_key_value_heads": 40,
      "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "vocab_size": 73448,
      "max_position_embeddings": 32768, "hidden_act": "silu", "dim_model_base": 256, "scale_depth": 1.4,
      "scale_emb": 12, "rms_norm_eps": 1e-5})";
  const auto infer = [&](const char* engine) {
    return run_line(fmt::format("infer {} --machine dgx-h100 --context 1000 --engine {}", file, engine));
  };
  for (const char* vllm : {"vllm", "vllm-2026", "vllm-v0"}) {
    EXPECT_EQ(infer(vllm).code, 2) << vllm;
    EXPECT_THAT(infer(vllm).err, HasSubstr("keeps keys and values of each head of minicpm3")) << vllm;
  }
  // SGLang has latents: 62 x (256 + 32) x 2 bytes
  EXPECT_THAT(infer("sglang").out, HasSubstr("positions of 35712 bytes"));
}

/// The Model Optimizer's own file stands beside the config.json, which says nothing.
TEST(InferMemory, TheFileBesideTheConfigIsRead) {
  const std::string folder = testing_program::own_path("checkpoint");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096,
      "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false})";
  std::ofstream(folder + "/hf_quant_config.json")
      << R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})";
  for (const std::string& name : {folder, folder + "/config.json"}) {
    const auto answer = run_line("infer " + name + " --machine dgx-h100 --context 1000");
    EXPECT_THAT(answer.out, HasSubstr("--weights fp8, as hf_quant_config.json says")) << answer.err;
    EXPECT_THAT(answer.out, HasSubstr("--kv fp8, as hf_quant_config.json says"));
    EXPECT_THAT(answer.out, HasSubstr(fmt::format("positions of {} bytes", 36 * 2 * 8 * 128)));
  }
  std::filesystem::remove_all(folder);
}

/// vLLM: 0.9 of 80 GiB, less weights, activations and what is reserved, in blocks of 16 positions.
/// A checkpoint that is narrow is served narrow, as engines read its file; one of a form that --weights has not is
/// asked for.
TEST(InferMemory, WeightsAreThoseOfTheCheckpoint) {
  const auto infer = [](const std::string& quantised, const std::string& more = "") {
    const std::string file = testing_program::own_path("config.json");
    std::ofstream(file) << R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "intermediate_size": 12288,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false)"
                        << quantised << "}";
    return run_line("infer " + file + " --machine dgx-h100 --prompt 1024 " + more);
  };
  const std::string blocks = R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})";
  const auto wide = infer(""), narrow = infer(blocks), told = infer(blocks, "--weights bf16");
  EXPECT_THAT(wide.out, HasSubstr("--weights bf16, --kv bf16"));
  EXPECT_THAT(narrow.out, HasSubstr("--weights fp8-block, as quantization_config of the file says"));
  // 8.19e9 numbers of two bytes, and of one
  EXPECT_THAT(wide.out, HasSubstr("15.3 GiB of weights"));
  EXPECT_THAT(narrow.out, Not(HasSubstr("15.3 GiB of weights")));
  EXPECT_THAT(told.out, HasSubstr("15.3 GiB of weights"));
  const auto cached = [](const char* kind) {
    return fmt::format(R"(, "quantization_config": {{"quant_method": "fbgemm_fp8", "kv_cache_scheme": {{)"
                       R"("num_bits": 8, "type": "{}"}}}})",
        kind);
  };
  EXPECT_THAT(infer(cached("float")).out, HasSubstr("--kv fp8, as quantization_config of the file says"));
  EXPECT_THAT(infer(cached("float"), "--weights bf16").out, HasSubstr("--kv bf16")) << "another checkpoint";
  EXPECT_THAT(infer(cached("int")).err,
      HasSubstr("--kv: the file has its cache kept as int of 8 bits, which is no type of ours\n  --kv fp8, or bf16"));
  const auto asked = infer(R"(, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true})");
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--weights: the file keeps its weights as bitsandbytes, which is no type of ours"));
}

TEST(InferMemory, CapacityIsTheEnginesRule) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const Capacity room = capacity(s, 1000);
  EXPECT_EQ(room.weights, 2.0 * 8'030'261'248);
  const double left = 0.9 * room.memory - room.weights - room.activations - room.reserved;
  EXPECT_DOUBLE_EQ(room.cache, left);
  EXPECT_EQ(room.blocks, static_cast<std::int64_t>(left / (16 * 131'072)));
  EXPECT_EQ(room.sequences, room.blocks / 63) << "1000 positions are 63 blocks";
  Serving free = s;
  free.engine.cache_rule = CacheRule::of_free;
  const Capacity share = capacity(free, 1000);
  EXPECT_DOUBLE_EQ(share.cache, 0.9 * (room.memory - room.weights - room.activations - share.reserved));
  EXPECT_DOUBLE_EQ(room.reserved - share.reserved, 392e6) << "one GPU alone has no buffers of NCCL";
  Serving two = serving("llama3-8b", "dgx-h100", 2);
  two.engine.cache_rule = CacheRule::of_free;
  EXPECT_EQ(capacity(two, 1000).reserved, room.reserved);
}

/// 2 bytes x positions x hidden x 11, of one tensor rank.
TEST(InferMemory, ActivationsAreOfThePositionsOfAnIteration) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  EXPECT_EQ(capacity(s, 1000).activations, 2.0 * 8192 * 4096 * 11);
  EXPECT_EQ(capacity(s, 1000, 32'768).activations, 2.0 * 32'768 * 4096 * 11);
  EXPECT_LT(capacity(s, 1000, 32'768).blocks, capacity(s, 1000).blocks);
}

/// vLLM V1 reads 8,192 positions on GPUs of 70 GiB, but 2,048 on others and on A100; a row of one's own stays.
TEST(InferMemory, EnginesHaveTheSizesOfTheirGpu) {
  EXPECT_EQ(serving("llama3-8b", "dgx-h100", 1).engine.most_positions, 8192);
  EXPECT_EQ(serving("llama3-8b", "dgx-a100", 1).engine.most_positions, 2048);
  EXPECT_EQ(serving("llama3-8b", "dgx-a100", 1).engine.most_sequences, 256);
  EXPECT_EQ(serving("llama3-8b", "dgx-b200", 1, "sglang").engine.most_positions, 16'384);
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "dgx-a100";
  Engine own = **find_row(built_in().engines, "vllm", "engine");
  wishes.row = std::make_shared<const Engine>(own);
  EXPECT_EQ(serving_of(wishes)->engine.most_positions, 8192);
}

/// Of 52 layers on a stage each, 24 are an MLP alone, which keeps nothing: they do not say how much room there is.
TEST(InferMemory, StagesThatKeepNothingHoldAnyNumber) {
  ServingWishes wishes;
  wishes.network = "nemotron-h-8b", wishes.machine = "dgx-h100", wishes.pp = 52;
  Serving s = served(wishes);
  const auto keeps_nothing = [&](const Serving::Held& stage) { return s.cache_bytes(stage, 1000) == 0; };
  EXPECT_EQ(std::ranges::count_if(s.form->held(), keeps_nothing), 24);
  const Capacity room = capacity(s, 1000);
  EXPECT_DOUBLE_EQ(room.bytes_per_position, s.cache_bytes(1000) / 1000);
  EXPECT_NEAR(static_cast<double>(room.sequences) * s.cache_bytes(1000) / room.cache, 1, 0.001);
  const auto ran = run_line("infer nemotron-h-8b --machine dgx-h100 --pp 52 --context 1000 --batch 4");
  EXPECT_EQ(ran.code, 0) << ran.err;
  s.engine.reserved = Bytes(1e12);
  EXPECT_EQ(capacity(s, 1000).blocks, 0) << "more than a GPU has";
}

/// A batch that the cache does not hold at once goes in waves.
TEST(InferMemory, WavesFollowFromTheCache) {
  const Serving s = serving("llama3-70b", "dgx-h100", 2);
  const Phase all = static_batch(s, 64, 2048, 2048);
  EXPECT_GT(all.waves, 2);
  EXPECT_EQ(static_batch(serving("llama3-70b", "dgx-h100", 8), 64, 2048, 2048).waves, 1);
}

/// vLLM's Marlin widens weights that the GPU does not multiply in: they are as small, and products are wide. Other
/// engines are refused, and are told what to ask for.
TEST(InferMemory, NarrowWeightsThatTheGpuDoesNotMultiplyInAreWidened) {
  const auto with = [](const char* machine, const char* weights, const char* products, const char* engine) {
    ServingWishes wishes;
    wishes.network = "llama3-8b", wishes.machine = machine, wishes.engine = engine;
    wishes.weights = weights, wishes.products = products;
    return serving_of(wishes);
  };
  const auto widened = with("dgx-h100", "nvfp4", "", "vllm"), asked = with("dgx-h100", "nvfp4", "bf16", "vllm");
  ASSERT_TRUE(widened) << to_text(widened.error());
  EXPECT_EQ(widened->types.products, Precision::bf16);
  EXPECT_EQ(widened->types.weight_bytes, 0.5625);
  EXPECT_THAT(fmt::format("{}", fmt::join(widened->assumptions, "\n")), HasSubstr("(Marlin) widen weights"));
  EXPECT_EQ(iterate(*widened, {1, 1, 1000}).time.value(), iterate(*asked, {1, 1, 1000}).time.value());
  const auto blocks = with("dgx-a100", "fp8-block", "", "vllm");
  ASSERT_TRUE(blocks) << to_text(blocks.error());
  EXPECT_EQ(blocks->types.products, Precision::bf16);
  EXPECT_EQ(with("dgx-b200", "nvfp4", "", "vllm")->types.products, Precision::nvfp4);
  EXPECT_EQ(with("dgx-h100", "fp8", "", "vllm")->types.products, Precision::fp8);
  for (const char* engine : {"sglang", "tensorrt-llm", "vllm-2023"}) {
    const auto refused = with("dgx-h100", "nvfp4", "", engine);
    ASSERT_FALSE(refused) << engine;
    EXPECT_THAT(refused.error().hint, HasSubstr("--products bf16"));
  }
}

/// 32 copies of 128 experts on 8 ranks: each has 20 in place of 16, of 48 layers of three matrices of 2,048 x 768 in
/// bf16.
TEST(InferMemory, CopiesOfExpertsAreHeld) {
  const auto with = [](std::int64_t copies, std::int64_t ep = 8, const char* network = "qwen3-30b-a3b") {
    ServingWishes wishes;
    wishes.network = network, wishes.machine = "dgx-h100", wishes.tp = 8, wishes.ep = ep, wishes.spare_experts = copies;
    return serving_of(wishes);
  };
  EXPECT_NEAR(with(32)->weight_bytes() - with(0)->weight_bytes(), 4.0 * 48 * 3 * 2048 * 768 * 2, 1);
  EXPECT_EQ(iterate(*with(32), {8, 1, 1000}).time.value(), iterate(*with(0), {8, 1, 1000}).time.value());
  EXPECT_THAT(with(30).error().hint, HasSubstr("--spare-experts 32"));
  EXPECT_THAT(with(32, 1).error().hint, HasSubstr("--ep 2"));
  EXPECT_THAT(with(32, 8, "llama3-8b").error().what, HasSubstr("has no experts"));
}

/// Of every length: 2k is 2,048.
TEST(InferMemory, LengthsInThousandsAreTheSame) {
  for (const char* line : {"infer llama3-8b --prompt {} --cached {}", "infer llama3-8b --context {}",
           "infer llama3-8b --prompt {} --output {}", "serve llama3-8b --input {} --output {} --concurrency 2",
           "serve llama3-8b --input 4096 --output 2 --concurrency 2 --shared {} --most-positions {}",
           "serve-sweep llama3-8b --gpus 1 --engine vllm --input {} --output {} --concurrency 2"}) {
    const auto thousands = run_line(fmt::format(fmt::runtime(line), "2k", "2k")),
               digits = run_line(fmt::format(fmt::runtime(line), 2048, 2048));
    EXPECT_EQ(thousands.code, 0) << line << thousands.err;
    // A sweep says how long it took above its table.
    const auto table = [](const std::string& text) {
      const std::size_t best = text.find("Best of each configuration");
      return best == std::string::npos ? text : text.substr(best);
    };
    EXPECT_EQ(table(thousands.out), table(digits.out)) << line;
  }
}

/// The file of the network says how many positions are turned; one that stretches them says more, and a launch that
/// takes longer ones goes over it. Engines of one's own have no such rule.
TEST(InferMemory, NoRequestIsLongerThanThePositionsOfTheFile) {
  const std::string file = testing_program::own_path("turned.json");
  const auto put = [&](const std::string& scaling) {
    std::ofstream(file) << R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "intermediate_size": 12288,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false)"
                        << scaling << "}";
  };
  const auto refused = [&](const std::string& line) {
    const auto ran = run_line(line);
    return ran.err.find("and the network has 40960") != std::string::npos;
  };
  put("");
  EXPECT_EQ(engines::turned_positions(file), 40960);
  EXPECT_TRUE(refused("infer " + file + " --context 40960"));
  EXPECT_FALSE(refused("infer " + file + " --context 40959"));
  EXPECT_TRUE(refused("infer " + file + " --prompt 40000 --output 961"));
  EXPECT_TRUE(refused("serve " + file + " --input 40000 --output 961 --concurrency 1"));
  EXPECT_EQ(run_line("serve " + file + " --input 40000 --output 960 --concurrency 1").code, 0);
  EXPECT_TRUE(refused("infer " + file + " --context 50000 --engine sglang"));
  EXPECT_FALSE(refused("infer " + file + " --context 50000 --engine pytorch"));
  EXPECT_EQ(run_line("infer " + file + " --context 40959 --launch -- vllm serve Qwen/Qwen3-8B").code, 0);
  put(R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768})");
  EXPECT_EQ(engines::turned_positions(file), 131072);
  EXPECT_EQ(run_line("infer " + file + " --context 131071").code, 0);
  put(R"(, "rope_scaling": {"type": "linear", "factor": 2.0})");
  EXPECT_EQ(engines::turned_positions(file), 81920);
  put(R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192})");
  EXPECT_EQ(engines::turned_positions(file), 40960);
  EXPECT_EQ(engines::turned_positions("llama3-8b"), 0);
  put(R"(, "model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0})");
  EXPECT_EQ(engines::turned_positions(file), 40960) << "vllm/config/model.py leaves Gemma 3's factor out";
}

}  // namespace
/// Running sequences and a prompt beside them are not one sequence, and learned positions are held against each.
TEST(InferMemory, LearnedPositionsOfAMixedIterationAreOfOneSequence) {
  const std::string line = "infer opt-13b --machine dgx-h100 --gpus 1 --phase mixed --context 1500 --prompt ";
  EXPECT_EQ(run_line(line + "600").code, 0);
  EXPECT_THAT(run_line(line + "2060").err, HasSubstr("--prompt: 2060 positions, and opt-13b has learned positions"));
}

/// SGLang picks blocks of keys by all heads of a key head, of which more ranks than key heads have a part each.
TEST(InferMemory, PooledKeysOnMoreRanksThanKeyHeads) {
  const std::string file = testing_program::own_path("pooled.json");
  std::ofstream(file) << R"({"architectures": ["MiniCPMForCausalLM"], "model_type": "minicpm", "attention_bias": false,
      "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 16384, "max_position_embeddings": 65536,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
      "vocab_size": 73448, "scale_emb": 12, "dim_model_base": 256, "scale_depth": 1.4, "tie_word_embeddings": false,
      "mup_denominator": 32, "sparse_config": {"kernel_size": 32, "kernel_stride": 16, "init_blocks": 1,
      "block_size": 64, "window_size": 2048, "topk": 64, "use_nope": false, "dense_len": 8192}})";
  const auto infer = [&](const char* flags) {
    return run_line(fmt::format("infer {} --machine dgx-h100 --engine sglang {}", file, flags));
  };
  const auto near = infer("--tp 4 --context 4000");
  EXPECT_EQ(near.code, 0) << near.err;
  EXPECT_THAT(near.out, HasSubstr("every query sees all keys, as up to 8191 positions"));
  EXPECT_THAT(infer("--tp 4 --context 20000").err, HasSubstr("at most 8190, or --tp: at most 2 (key heads)"));
  // What is picked from so many positions on is in the trace from there on, too.
  const auto traced = [&](const char* flags) {
    const std::string trace = testing_program::own_path("pooled.trace.json");
    EXPECT_EQ(infer(fmt::format("--tp 2 --context {} --force --trace {}", flags, trace).c_str()).code, 0);
    std::ifstream read(trace);
    return std::string(std::istreambuf_iterator<char>(read), {});
  };
  EXPECT_THAT(traced("20000"), HasSubstr("index.scores"));
  EXPECT_THAT(traced("4000"), Not(HasSubstr("index.scores")));
}

}  // namespace stepcast::infer
