// Recipes of srt-slurm: pools, engines that do both, loads, GPUs and variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

/// The benchmark of a recipe draws lengths from 0.8 of the nominal one to all of it, ten requests of each user.
TEST(SlurmRecipes, SayTheirLoad) {
  const auto recipe = [](const std::string& benchmark) {
    return "model: {path: qwen3-32b, precision: fp8}\nresources: {prefill_workers: 1, decode_workers: 1}\nbackend:\n"
           "  sglang_config:\n    prefill: {tensor-parallel-size: 2}\n    decode: {tensor-parallel-size: 4}\n" +
           benchmark;
  };
  const auto loaded = [&](const std::string& keys) {
    return read(recipe("benchmark:\n  type: \"sa-bench\"\n" + keys), {{"--weights", "fp8"}});
  };
  for (const char* users : {"concurrencies: [64]", "concurrencies: \"64\"", "concurrencies:\n    - 64"}) {
    const auto one = loaded("  isl: 1024\n  osl: 512\n  req_rate: \"inf\"\n  " + std::string(users) + "\n");
    ASSERT_EQ(one.error, "") << users;
    EXPECT_THAT(
        one.asked.flags, IsSupersetOf({Pair("--input", "1024"), Pair("--output", "512"), Pair("--shortest", "0.8"),
                             Pair("--concurrency", "64"), Pair("--requests", "640")}))
        << users;
  }
  const auto several = loaded("  isl: 1024\n  osl: 512\n  random_range_ratio: 1\n  concurrencies: \"64x128\"\n");
  EXPECT_THAT(several.asked.notes, Contains(HasSubstr("64, 128 are loads one after the other")));
  EXPECT_FALSE(several.asked.flags.contains("--concurrency"));
  EXPECT_FALSE(several.asked.flags.contains("--shortest"));
  for (const char* keys : {"  isl: 1024\n  concurrencies: [1]\n", "  isl: long\n  osl: 1\n  concurrencies: [1]\n",
           "  isl: 8\n  osl: 8\n  concurrencies: [1]\n  req_rate: 3\n",
           "  isl: 8\n  osl: 8\n  concurrencies: [1]\n  random_range_ratio: 2\n",
           "  isl: 8\n  osl: 8\n  concurrencies: [1]\n  num_prompts_mult: 0.5\n",
           "  isl: 8\n  osl: 8\n  concurrencies: [1]\n  num_prompts_mult: 1e30\n"}) {
    const auto not_read = loaded(keys);
    EXPECT_THAT(not_read.asked.notes, Contains(HasSubstr("the load is not read"))) << keys;
    EXPECT_FALSE(not_read.asked.flags.contains("--input")) << keys;
  }
  const auto other = read(recipe("benchmark: {type: mmlu, num_threads: 512}\n"), {{"--weights", "fp8"}});
  EXPECT_THAT(other.asked.notes, Contains(HasSubstr("benchmark is not read")));
  for (const char* users : {"{n}", "9223372036854775807"})
    EXPECT_THAT(loaded("  isl: 8\n  osl: 8\n  concurrencies: \"" + std::string(users) + "\"\n").asked.notes,
        Contains(HasSubstr("how many requests come at once is not read")))
        << users;
}

std::string slurm_recipe(const std::string& config, const std::string& sections) {
  return "name: r\nmodel:\n  path: dsr1-fp8\n  precision: fp8\nresources:\n  agg_workers: 2\n  prefill_workers: 1\n"
         "  decode_workers: 3\nbackend:\n  " +
         config + ":\n" + sections;
}

TEST(SlurmRecipes, AreOfEnginesThatDoBoth) {
  const auto got =
      read(slurm_recipe("sglang_config",
               "    aggregated:\n      tensor-parallel-size: 8\n      data-parallel-size: 8\n"
               "      enable-dp-attention: true\n      quantization: fp8\n      max-running-requests: 256\n"),
          {}, "deepseek-v3");
  ASSERT_EQ(got.error, "");
  EXPECT_THAT(got.asked.flags,
      IsSupersetOf({Pair("--dp-attention", "8"), Pair("--weights", "fp8-block"), Pair("--replicas", "2")}));
  EXPECT_EQ(got.asked.row.most_sequences, 32);  // 256 over 8 groups
}

TEST(SlurmRecipes, SayWhichGpusTheyAreFor) {
  const std::string text = slurm_recipe("sglang_config", "    aggregated:\n      tensor-parallel-size: 8\n");
  std::string of_h200 = text;
  of_h200.insert(of_h200.find("  agg_workers"), "  gpu_type: h200\n");
  EXPECT_TRUE(read(text, {}, "deepseek-v3").asked.warnings.empty());
  EXPECT_THAT(read(of_h200, {}, "deepseek-v3").asked.warnings, Contains(HasSubstr("the launch asks for GPUs 'h200'")));
  EXPECT_TRUE(read(of_h200, {{"--machine", "dgx-h200"}}, "deepseek-v3").asked.warnings.empty());
}

TEST(SlurmRecipes, AreOfOtherEngines) {
  const auto trtllm = read(
      slurm_recipe("trtllm_config", "    prefill:\n      tensor_parallel_size: 4\n      moe_expert_parallel_size: 4\n"
                                    "    decode:\n      tensor_parallel_size: 8\n      moe_expert_parallel_size: 8\n"
                                    "      enable_attention_dp: true\n"),
      {{"--machine", "dgx-b200"}}, "deepseek-v3");
  ASSERT_EQ(trtllm.error, "");
  EXPECT_THAT(trtllm.asked.flags, IsSupersetOf({Pair("--engine", "tensorrt-llm"), Pair("--prefill-tp", "4"),
                                      Pair("--dp-attention", "8"), Pair("--ep", "8"), Pair("--replicas", "3")}));
  const auto vllm =
      read(slurm_recipe("vllm_config", "    prefill:\n      data-parallel-size: 16\n      enable-expert-parallel: "
                                       "true\n    decode:\n      data-parallel-size: 8\n"
                                       "      enable-expert-parallel: true\n"),
          {}, "deepseek-v3");
  ASSERT_EQ(vllm.error, "");
  EXPECT_THAT(vllm.asked.flags, IsSupersetOf({Pair("--engine", "vllm"), Pair("--prefill-ep", "16"),
                                    Pair("--dp-attention", "8"), Pair("--ep", "8")}));
}

/// srtctl shows containers the folder of model.path as /model, and never takes SGLang's own key for it; of precisions
/// mxfp4 is one type. Workers are Dynamo's.
TEST(SlurmRecipes, TellTheirModelOnce) {
  const auto recipe = [](const std::string& path, const std::string& precision, const std::string& config,
                          const std::string& keys) {
    return read("model: {path: " + path + ", precision: " + precision + "}\nresources: {agg_workers: 1}\nbackend:\n  " +
                    config + ":\n    aggregated: {" + keys + "}\n",
        {{"--machine", "gb300-nvl72"}});
  };
  const std::string sglang = "tensor-parallel-size: 4, model-path: ";
  for (const char* own : {"/model/", "/model", "Qwen/Qwen3-8B"}) {
    const auto got = recipe("deepseek-v4-pro", "mxfp4", "sglang_config", sglang + own);
    ASSERT_EQ(got.error, "") << own;
    EXPECT_EQ(got.asked.network, "deepseek-v4-pro") << own;
    EXPECT_THAT(got.asked.flags, IsSupersetOf({Pair("--weights", "mxfp4"), Pair("--kv", "fp8")})) << own;
  }
  EXPECT_THAT(recipe("deepseek-v4-pro", "fp4", "sglang_config", sglang + "/model/").error,
      HasSubstr("the number type of the weights is not told"));
  EXPECT_EQ(recipe("hf:Qwen/Qwen3-8B", "bf16", "sglang_config", "tensor-parallel-size: 2").asked.network, "qwen3-8b");
  EXPECT_EQ(recipe("Qwen/Qwen3-8B", "bf16", "vllm_config",
                "tensor-parallel-size: 2, dyn-tool-call-parser: hermes, dyn-reasoning-parser: qwen3, "
                "dyn-default-thinking-mode: enabled")
                .error,
      "");
  EXPECT_THAT(
      recipe("Qwen/Qwen3-8B", "bf16", "vllm_config", "wibble: 2").error, HasSubstr("not known of Dynamo's vLLM"));
}

/// Variables of each pool count as those of a command do.
TEST(SlurmRecipes, HaveVariablesOfEachPool) {
  const auto exchange = [](const std::string& variables) {
    const auto got = read("model: {path: deepseek-r1, precision: fp8}\n"
                          "resources: {prefill_workers: 1, decode_workers: 1}\nbackend:\n" +
                              variables +
                              "  vllm_config:\n    prefill: {tensor-parallel-size: 8}\n"
                              "    decode: {data-parallel-size: 16, enable-expert-parallel: true}\n",
        {{"--weights", "fp8"}}, "deepseek-r1");
    const auto told = got.asked.flags.find("--exchange");
    return got.error + (told == got.asked.flags.end() ? "" : told->second);
  };
  EXPECT_EQ(exchange(""), "");
  EXPECT_EQ(exchange("  decode_environment: {VLLM_ALL2ALL_BACKEND: deepep_low_latency}\n"), "rows");
  EXPECT_EQ(exchange("  aggregated_environment: {VLLM_ALL2ALL_BACKEND: deepep_low_latency}\n"), "");
  EXPECT_THAT(exchange("  decode_environment: {VLLM_ALL2ALL_BACKEND: deepest}\n"), HasSubstr("'deepest'"));
}

/// Keys become options of a command: false writes none, and "no-" in front says no (NVIDIA/srt-slurm
/// src/srtctl/backends/vllm.py, _config_to_cli_args).
TEST(SlurmRecipes, WriteOptions) {
  const auto caches = [](const std::string& key) {
    const auto launch =
        read_engine_launch({.file = written("launch.sh", slurm_recipe("vllm_config", "    aggregated:\n      " + key)),
            .words = {},
            .defined = {},
            .folders = {}});
    EXPECT_TRUE(launch) << to_text(launch.error());
    SaidArguments said = launch->server;
    EXPECT_THAT(said.unknown, testing::IsEmpty()) << key;
    return said.text("enable_prefix_caching").value_or("not said");
  };
  EXPECT_EQ(caches("no-enable-prefix-caching: true\n"), "false");
  EXPECT_EQ(caches("enable-prefix-caching: true\n"), "true");
  EXPECT_EQ(caches("enable-prefix-caching: false\n"), "not said");
}

/// Two nodes of four GPUs are one worker of 8 ranks, whose groups of attention stand on them, too.
TEST(SlurmRecipes, HoldRanksAgainstTheirGpus) {
  const auto error = [](const std::string& resources, const std::string& keys, const std::string& of_backend = "") {
    return read(
        "model: {path: dsr1-fp8, precision: fp8}\nresources: {gpu_type: gb200, gpus_per_node: 4, agg_workers: 1, " +
            resources + "}\nbackend:\n" + of_backend + "  sglang_config:\n    aggregated: {" + keys + "}\n",
        {{"--machine", "gb200-nvl72"}}, "deepseek-v3")
        .error;
  };
  EXPECT_EQ(error("agg_nodes: 2", "tensor-parallel-size: 8, data-parallel-size: 8, enable-dp-attention: true"), "");
  EXPECT_THAT(error("agg_nodes: 2", "tensor-parallel-size: 16"),
      HasSubstr("tp 16 x pp 1 x 1 beside each other, where 8 GPUs are asked for"));
  EXPECT_THAT(error("agg_nodes: 2", "tensor-parallel-size: 4, data-parallel-size: 4"),
      HasSubstr("tp 4 x pp 1 x 4 beside each other, where 8 GPUs are asked for"));
  EXPECT_THAT(error("agg_nodes: 2, gpus_per_agg: 4", "tensor-parallel-size: 8"), HasSubstr("where 4 GPUs"));
  EXPECT_EQ(error("agg_nodes: two", "tensor-parallel-size: 16"), "") << "not told in numbers";
  // a variable names the GPUs of one node
  const std::string seen = "  aggregated_environment: {CUDA_VISIBLE_DEVICES: \"0,1,2,3\"}\n";
  EXPECT_EQ(error("agg_nodes: 2", "tensor-parallel-size: 8", seen), "");
  EXPECT_THAT(error("agg_nodes: 2", "tensor-parallel-size: 16", seen), HasSubstr("where 8 GPUs are asked for"));
}

/// One file of several recipes: maps are merged, lists of a zip say one value for each, null takes away.
TEST(SlurmRecipes, ShareABase) {
  std::string text =
      "base:\n  model: {path: qwen3-32b}\n  resources: {prefill_workers: 1, decode_workers: 1}\n  backend:\n"
      "    sglang_config:\n      prefill: {tensor-parallel-size: 2, chunked-prefill-size: 4096}\n"
      "      decode: {tensor-parallel-size: 4}\n"
      "  benchmark: {type: sa-bench, isl: 1024, osl: 512, concurrencies: [64]}\n"
      "override_wide:\n  backend: {sglang_config: {decode: {tensor-parallel-size: 8}}}\n  benchmark: null\n"
      "zip_override_sweep:\n  resources: {decode_workers: [2, 3], prefill_workers: [4]}\n"
      "  benchmark: {concurrencies: [[128], [256]]}\n";
  const auto of = [&](const std::string& recipe) {
    Read out;
    auto launch =
        read_engine_launch({.file = written("recipes.yaml", text) + recipe, .words = {}, .defined = {}, .folders = {}});
    if (!launch) return Read{{}, {}, to_text(launch.error())};
    auto asked = asked_engine(*launch, {{"--weights", "bf16"}}, "", {});
    return asked ? Read{std::move(*asked), {}, ""} : Read{{}, {}, to_text(asked.error())};
  };
  EXPECT_THAT(of("").error, testing::AllOf(HasSubstr("3 recipes share its base"),
                                HasSubstr("override_wide, zip_override_sweep[0], zip_override_sweep[1]")));
  EXPECT_THAT(of(":override_narrow").error, HasSubstr("it has no recipe 'override_narrow'"));
  const Read base = of(":base"), wide = of(":override_wide"), second = of(":zip_override_sweep[1]");
  ASSERT_EQ(base.error + wide.error + second.error, "");
  EXPECT_THAT(
      base.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--concurrency", "64"), Pair("--prefill-tp", "2")}));
  EXPECT_THAT(wide.asked.flags, IsSupersetOf({Pair("--tp", "8"), Pair("--prefill-tp", "2")}));
  EXPECT_FALSE(wide.asked.flags.contains("--concurrency"));
  EXPECT_THAT(second.asked.flags, IsSupersetOf({Pair("--tp", "4"), Pair("--replicas", "3"),
                                      Pair("--prefill-replicas", "4"), Pair("--concurrency", "256")}));
  // items in lines of their own are as many values
  text += "zip_override_lines:\n  resources: {decode_workers: 2}\n  backend:\n    sglang_config:\n      decode:\n"
          "        tensor-parallel-size:\n        - 8\n        - 2\n"
          "  benchmark:\n    concurrencies:\n    - [128]\n    - - 256\n";
  EXPECT_THAT(of("").error, HasSubstr("zip_override_lines[0], zip_override_lines[1]"));
  const Read first_line = of(":zip_override_lines[0]"), second_line = of(":zip_override_lines[1]");
  ASSERT_EQ(first_line.error + second_line.error, "");
  EXPECT_THAT(first_line.asked.flags, IsSupersetOf({Pair("--tp", "8"), Pair("--concurrency", "128")}));
  EXPECT_THAT(second_line.asked.flags, IsSupersetOf({Pair("--tp", "2"), Pair("--concurrency", "256")}));
  // items that are maps are merged as they are, with the lists in them
  text += "zip_override_maps:\n  backend:\n    sglang_config:\n      decode:\n      - tensor-parallel-size: 8\n"
          "        cuda-graph-bs: [1, 2, 32]\n      - {tensor-parallel-size: 2}\n"
          "      prefill: [{tensor-parallel-size: 1}]\n  benchmark: {concurrencies: [[128], [256]]}\n";
  const Read first_map = of(":zip_override_maps[0]"), second_map = of(":zip_override_maps[1]");
  ASSERT_EQ(first_map.error + second_map.error, "");
  EXPECT_THAT(first_map.asked.flags,
      IsSupersetOf({Pair("--tp", "8"), Pair("--prefill-tp", "1"), Pair("--concurrency", "128")}));
  EXPECT_EQ(first_map.asked.row.most_captured, 32);
  EXPECT_THAT(second_map.asked.flags,
      IsSupersetOf({Pair("--tp", "2"), Pair("--prefill-tp", "1"), Pair("--concurrency", "256")}));
  EXPECT_THAT(of(":zip_override_maps[2]").error, HasSubstr("it has no recipe 'zip_override_maps[2]'"));
  EXPECT_THAT(read(text + "zip_override_mixed:\n  backend: [{a: 1}, 2]\n").error,
      HasSubstr("zip_override_mixed.backend: a list of maps and of other values"));
  const std::string longer = text + "zip_override_long:\n  benchmark: [{isl: 1}, {isl: 2}]\n  resources:\n    "
                                    "decode_workers: [1, 2, 3]\n";
  EXPECT_THAT(read(longer).error, HasSubstr("zip_override_long.benchmark: a list of 2 beside lists of 3"));
  const std::string unlike =
      text + "zip_override_odd:\n  resources: {decode_workers: [1, 2], prefill_workers: [1, 2, 3]}\n";
  EXPECT_THAT(read(unlike).error, HasSubstr("a list of 3 beside lists of 2"));
  EXPECT_THAT(read("base:\n  a: 1\n").error, HasSubstr("no command in it"));
}

}  // namespace
}  // namespace stepcast::engines
