// Which number type a checkpoint's config.json says that its weights have.
#include "model/network/hf/stored_weights.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace stepcast {
namespace {

std::string type_of(const std::string& quantised, const std::string& beside = "") {
  const StoredWeights stored = stored_weights("{\"quantization_config\": " + quantised + beside + "}");
  EXPECT_NE(stored.how, "") << quantised;
  return stored.type.empty() ? "not known" : stored.type;
}

/// A group of layers of compressed-tensors.
std::string group(const std::string& weights, const std::string& inputs, const std::string& ignore = "\"lm_head\"") {
  return R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {)" + weights +
         R"(}, "input_activations": )" + inputs + "}}, \"ignore\": [" + ignore + "]}";
}

TEST(StoredWeights, AreTheTypesOfTheirForms) {
  EXPECT_EQ(type_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"), "fp8-block");
  EXPECT_EQ(type_of(R"({"quant_method": "fbgemm_fp8"})"), "fp8");
  EXPECT_EQ(type_of(R"({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})"), "mxfp4");
  EXPECT_EQ(type_of(R"({"quant_method": "awq", "bits": 4, "group_size": 128})"), "int4");
  EXPECT_EQ(type_of(R"({"quant_method": "gptq", "bits": 8})"), "int8");
  EXPECT_EQ(type_of(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})"), "nvfp4");
  const std::string narrow = R"({"num_bits": 8})";
  EXPECT_EQ(type_of(group(R"("num_bits": 8, "type": "float", "group_size": null)", narrow)), "fp8");
  EXPECT_EQ(type_of(group(R"("num_bits": 8, "type": "float", "block_structure": [128, 128])", narrow)), "fp8-block");
  EXPECT_EQ(type_of(group(R"("num_bits": 4, "type": "float", "group_size": 16)", narrow)), "nvfp4");
  EXPECT_EQ(type_of(group(R"("num_bits": 4, "type": "int", "group_size": 128)", "null")), "int4");
  EXPECT_EQ(type_of(group(R"("num_bits": 8, "type": "int", "group_size": -1)", "null")), "int8");
  // Kimi K2's: experts alone are narrow, of which a dense network has none.
  const std::string int4 = group(R"("num_bits": 4, "type": "int", "group_size": 32)", "null",
      R"("lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*")");
  EXPECT_EQ(type_of(int4, R"(, "n_routed_experts": 8)"), "int4-experts");
  const std::string heads = group(R"("num_bits": 4, "type": "int", "group_size": 32)", "null", "\"re:.*self_attn.*\"");
  EXPECT_EQ(type_of(heads, R"(, "n_routed_experts": 8)"), "int4-experts");
  EXPECT_EQ(type_of(heads), "int4");
}

/// AutoRound packs as GPTQ does, with zero points; what has bits of its own makes them differ.
TEST(StoredWeights, AreThoseOfAutoRound) {
  const auto round = [](const std::string& more) {
    return R"({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true)" + more + "}";
  };
  EXPECT_EQ(type_of(round(R"(, "data_type": "int")")), "int4");
  const StoredWeights read = stored_weights("{\"quantization_config\": " + round(R"(, "data_type": "int")") + "}");
  EXPECT_DOUBLE_EQ(read.element_bytes, 0.5 + (2 + 0.5) / 128);
  EXPECT_EQ(type_of(round(R"(, "data_type": "mx_fp")")), "not known");
  EXPECT_EQ(type_of(round(R"(, "data_type": "int", "extra_config": {"lm_head": {"bits": 16}})")), "not known");
  EXPECT_EQ(type_of(round(R"(, "data_type": "int", "extra_config": {})")), "int4");
}

/// Quark: one form of all layers, where the layers of the cache have the same and outputs of their own.
TEST(StoredWeights, AreThoseOfQuark) {
  const auto quark = [](const std::string& global, const std::string& layers, const std::string& more = "") {
    return R"({"quant_method": "quark", "exclude": ["lm_head"], "global_quant_config": )" + global +
           R"(, "layer_quant_config": )" + layers + more + "}";
  };
  const std::string tensor = R"({"dtype": "fp8_e4m3", "qscheme": "per_tensor", "group_size": null})",
                    four = R"({"dtype": "fp4", "qscheme": "per_group", "group_size": 32})",
                    fp8 = R"({"weight": )" + tensor + R"(, "input_tensors": )" + tensor + "}",
                    keys = R"({"*k_proj": {"weight": )" + tensor + R"(, "input_tensors": )" + tensor +
                           R"(, "output_tensors": )" + tensor + "}}";
  EXPECT_EQ(type_of(quark(fp8, "{}")), "fp8");
  const StoredWeights cached = stored_weights(
      "{\"quantization_config\": " + quark(fp8, keys, R"(, "export": {"kv_cache_group": ["*k_proj"]})") + "}");
  EXPECT_EQ(cached.type, "fp8");
  EXPECT_EQ(cached.cache, "fp8");
  ASSERT_EQ(cached.wide_weights.size(), 1U);
  EXPECT_EQ(cached.wide_weights.front().name, "head");
  EXPECT_EQ(stored_weights("{\"quantization_config\": " + quark(fp8, keys) + "}").cache_how, "") << "no group of it";
  EXPECT_EQ(type_of(quark(R"({"weight": )" + tensor + "}", "{}")), "not known") << "inputs stay wide";
  EXPECT_EQ(type_of(quark(R"({"weight": )" + four + R"(, "input_tensors": )" + four + "}", "{}")), "not known");
  EXPECT_EQ(type_of(quark(R"({"weight": )" + four + R"(, "input_tensors": )" + tensor + "}", "{}")), "not known");
  EXPECT_EQ(type_of(quark(fp8, R"({"*down_proj": {"weight": )" + four + "}}")), "not known") << "layers differ";
}

/// Files of MLX say it under a key of their own, too.
TEST(StoredWeights, OfMlxHaveNoType) {
  const StoredWeights read = stored_weights(R"({"quantization": {"group_size": 64, "bits": 4}})");
  EXPECT_EQ(read.type, "");
  EXPECT_EQ(read.how, "a method that it does not name, 4 bits");
}

/// A block of one row is a run of its numbers: MXFP8's by its name, and none of fp8's.
TEST(StoredWeights, RunsAreNoBlocks) {
  EXPECT_EQ(type_of(R"({"quant_method": "mxfp8", "weight_block_size": [1, 32]})"), "mxfp8");
  EXPECT_EQ(type_of(R"({"quant_method": "fp8", "weight_block_size": [1, 128]})"), "not known");
  EXPECT_EQ(stored_weights(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [1, 128]}})").how,
      "fp8 in runs of 128");
}

/// Integers that multiply integers, groups that differ, experts apart from the rest, and methods of others.
TEST(StoredWeights, AreNotGuessed) {
  EXPECT_EQ(type_of(group(R"("num_bits": 8, "type": "int")", R"({"num_bits": 8})")), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", R"(, "expert_dtype": "fp4")"),
      "fp8-mxfp4-experts")
      << "DeepSeek V4's own";
  EXPECT_EQ(type_of(R"({"quant_method": "fp8"})", R"(, "expert_dtype": "fp4")"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", R"(, "expert_dtype": "int4")"),
      "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "modelopt", "config_groups": {
      "a": {"weights": {"num_bits": 8, "type": "float"}, "input_activations": {}},
      "b": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "input_activations": {}}}})"),
      "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "gptq", "bits": "four"})"), "not known");
  // some modules have other bits, or two of four weights are left out
  EXPECT_EQ(
      type_of(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*self_attn.*": {"bits": 8}}})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "gptq", "bits": 4, "dynamic": {".*self_attn.*": {"bits": 8}}})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "gptq", "bits": 4, "dynamic": {}})"), "int4");
  std::string pattern = group(R"("num_bits": 4, "type": "int", "group_size": 128)", "null");
  pattern.insert(1, R"("format": "marlin-24", )");
  EXPECT_EQ(type_of(pattern), "not known");
  pattern = group(R"("num_bits": 8, "type": "float")", R"({"num_bits": 8})");
  pattern.insert(1, R"("sparsity_config": {"format": "sparse-24-bitmask"}, )");
  EXPECT_EQ(type_of(pattern), "not known");
  pattern.replace(pattern.find("sparse-24-bitmask"), 17, "dense");
  EXPECT_EQ(type_of(pattern), "fp8");
}

/// Most weights of a network are those of its MLPs, or of its experts.
TEST(StoredWeights, AreNotThoseOfAFewLayers) {
  const std::string narrow = R"("num_bits": 8, "type": "float")", inputs = R"({"num_bits": 8})";
  const std::string mlps = group(narrow, inputs, R"("re:.*mlp.(gate|up|down)_proj")");
  EXPECT_EQ(type_of(mlps), "not known");
  EXPECT_EQ(stored_weights("{\"quantization_config\": " + mlps + "}").how,
      "compressed-tensors, float of 8 bits, the MLP left wide");
  EXPECT_EQ(type_of(mlps, R"(, "num_experts": 8)"), "fp8") << "the few dense layers of a network of experts";
  EXPECT_EQ(type_of(group(narrow, inputs, R"("re:.*mlp.experts.*")"), R"(, "num_experts": 8)"), "not known");
  EXPECT_EQ(type_of(group(narrow, inputs, R"("re:.*mlp.*")"), R"(, "num_experts": 8)"), "not known");
  for (const char* targets : {R"(["re:.*self_attn.*"])", R"(["re:.*mlp.*"])"})
    EXPECT_EQ(type_of(R"({"quant_method": "compressed-tensors", "config_groups": {"a": {"targets": )" +
                      std::string(targets) + R"(, "weights": {)" + narrow + R"(}, "input_activations": {}}}})"),
        "not known");
}

TEST(StoredWeights, MayStandInThePartOfTheText) {
  const StoredWeights stored =
      stored_weights(R"({"text_config": {"quantization_config": {"quant_method": "fp8"}}, "vision_config": {}})");
  EXPECT_EQ(stored.type, "fp8");
  EXPECT_EQ(stored_weights(R"({"hidden_size": 64, "quantization_config": null})").how, "");
  EXPECT_EQ(stored_weights("no JSON").how, "");
}

/// The Model Optimizer's own file speaks where the config.json says nothing.
TEST(StoredWeights, MayStandBesideTheFile) {
  const auto beside = [](const std::string& told, const std::string& config = "{}") {
    return stored_weights(config, R"({"producer": {"name": "modelopt"}, "quantization": {)" + told + "}}");
  };
  const StoredWeights fp8 = beside(R"("quant_algo": "FP8", "kv_cache_quant_algo": "FP8")");
  EXPECT_EQ(fp8.type, "fp8");
  EXPECT_EQ(fp8.cache, "fp8");
  EXPECT_EQ(fp8.told_by, "hf_quant_config.json");
  EXPECT_EQ(beside(R"("quant_algo": "FP8_PB_WO")").type, "fp8-block");
  EXPECT_EQ(beside(R"("quant_algo": "FP8_PER_CHANNEL_PER_TOKEN")").type, "fp8");
  const StoredWeights fp4 = beside(R"("quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": null,
      "exclude_modules": ["lm_head", "model.layers.0.self_attn*"])",
      R"({"num_hidden_layers": 4})");
  EXPECT_EQ(fp4.type, "nvfp4");
  EXPECT_EQ(fp4.wide, "part of attention");
  EXPECT_EQ(fp4.cache_how, "");
  for (const char* unknown : {R"("quant_algo": "MIXED_PRECISION")", R"("quant_algo": "W4A8_AWQ")"}) {
    EXPECT_EQ(beside(unknown).type, "");
    EXPECT_NE(beside(unknown).how, "") << unknown;
  }
  const StoredWeights cache = beside(R"("quant_algo": null, "kv_cache_quant_algo": "FP8")");
  EXPECT_EQ(cache.how, "") << "of the weights it says nothing";
  EXPECT_EQ(cache.cache, "fp8");
  EXPECT_EQ(beside(R"("quant_algo": "FP8")", R"({"quantization_config": {"quant_method": "mxfp4"}})").type, "mxfp4");
  for (const char* broken : {"no JSON", "{}", R"({"quantization": "FP8"})"})
    EXPECT_EQ(stored_weights("{}", broken).how, "a form that is none") << broken;
}

/// Of the cache the files have a line of their own; what is no float of 8 bits is no type of ours.
TEST(StoredWeights, SayHowTheCacheIsKept) {
  const auto stored = [](const std::string& line) {
    return stored_weights(R"({"quantization_config": {"quant_method": "fbgemm_fp8")" + line + "}}");
  };
  EXPECT_EQ(stored("").cache_how, "");
  EXPECT_EQ(stored(R"(, "kv_cache_scheme": null)").cache_how, "");
  EXPECT_EQ(stored(R"(, "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": false})").cache, "fp8");
  EXPECT_EQ(stored(R"(, "kv_cache_quant_algo": "FP8")").cache, "fp8");
  const StoredWeights integers = stored(R"(, "kv_cache_scheme": {"num_bits": 8, "type": "int"})");
  EXPECT_EQ(integers.cache, "");
  EXPECT_EQ(integers.cache_how, "int of 8 bits");
  EXPECT_EQ(integers.type, "fp8") << "of the weights it says nothing";
}

/// What the file leaves wide is said; experts alone leave it so by their name.
TEST(StoredWeights, SayWhatStaysWide) {
  const auto wide = [](const std::string& ignored, const std::string& key = "exclude_modules") {
    return stored_weights(R"({"num_hidden_layers": 4, "n_routed_experts": 8, "quantization_config": {
        "quant_method": "modelopt", "quant_algo": "NVFP4", ")" +
                          key + "\": [" + ignored + "]}}")
        .wide;
  };
  EXPECT_EQ(wide(R"("*self_attn*")"), "attention");
  EXPECT_EQ(wide(R"("re:.*self_attn.*")", "ignored_layers"), "attention");
  EXPECT_EQ(wide(R"("model.layers.*.attention.query_key_value")", "modules_to_not_convert"), "attention");
  EXPECT_EQ(wide(R"("model.layers.0.self_attn*")"), "part of attention");
  EXPECT_EQ(
      wide(R"("model.layers.0.self_attn*", "model.layers.1.self_attn*", "model.layers.2.self_attn*")"), "attention")
      << "three of four";
  EXPECT_EQ(wide(R"("model.layers.2.self_attn.o_proj")"), "part of attention");
  EXPECT_EQ(wide(R"("model.layers.0.mlp.up_proj", "*self_attn*")"), "attention with part of the MLP");
  EXPECT_EQ(wide(R"("*.shared_experts.*")"), "the shared expert");
  EXPECT_EQ(wide(R"("lm_head", "v_proj", "k_proj", "q_proj")"), "attn.qkv.K, attn.qkv.Q, attn.qkv.V");
  EXPECT_EQ(wide(R"("*.v_proj")"), "attn.qkv.V");
  EXPECT_EQ(wide(R"("re:.*layers.1.*k_proj")"), "attn.qkv.K of some layers");
  for (const char* nothing : {"lm_head", "model.layers.0.self_attn.q_norm", "model.visual.blocks.0.attn.qkv",
           "model.layers.0.linear_attn.conv1d", "model.layers.0.linear_attn.in_proj_ba", "model.layers.0.mlp.gate",
           "model.layers.0.mlp.shared_expert_gate", "model.layers.0.mlp.router"})
    EXPECT_EQ(wide('"' + std::string(nothing) + '"'), "") << nothing;
}

/// The operators whose weights stay wide, "attn.out 1 2"; of all layers by its name alone.
std::vector<std::string> wide_weights(const std::string& ignored) {
  std::vector<std::string> all;
  const StoredWeights stored = stored_weights(R"({"num_hidden_layers": 4, "n_routed_experts": 8, )"
                                              R"("quantization_config": {"quant_method": "fp8", "ignore": [)" +
                                              ignored + "]}}");
  for (const WeightsOfLayers& weights : stored.wide_weights) {
    all.push_back(weights.name);
    for (const std::int64_t layer : weights.layers) all.back() += ' ' + std::to_string(layer);
    EXPECT_EQ(weights.all, weights.layers.empty()) << weights.name;
  }
  return all;
}

TEST(StoredWeights, TellTheOperatorsThatStayWide) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(wide_weights(R"("model.layers.2.self_attn.o_proj")"), (Names{"attn.out 2", "mixer.out.y 2"}));
  EXPECT_EQ(wide_weights(R"("re:.*shared_experts.*")"), (Names{"shared.down", "shared.gate", "shared.up"}));
  EXPECT_EQ(wide_weights(R"("language_model.model.layers.1.mlp.shared_experts*")"),
      (Names{"shared.down 1", "shared.gate 1", "shared.up 1"}));
  EXPECT_EQ(wide_weights(R"("re:.*layers\\.[0-1]\\.mlp\\.down_proj")"), (Names{"mlp.down 0 1"}));
  EXPECT_EQ(wide_weights(R"("model.layers.*.mlp.router")"), (Names{"router"}));
  EXPECT_EQ(wide_weights(R"("lm_head")"), (Names{"head"}));
  EXPECT_EQ(wide_weights(R"("model.language_model.embed_tokens")"), (Names{"embed"}));
  EXPECT_EQ(wide_weights(R"("model.layers.2.self_attn.indexers_proj")"), (Names{"index.w 2"}))
      << "GLM-5-FP8 names it so";
  EXPECT_EQ(wide_weights(R"("model.layers.3.linear_attn.in_proj_ba")"), (Names{"mixer.in.beta 3", "mixer.in.decay 3"}));
  EXPECT_EQ(wide_weights(R"("backbone.layers.1.mixer.in_proj")"),
      (Names{"mixer.in.B.in 1", "mixer.in.C.in 1", "mixer.in.X.in 1", "mixer.in.Z 1", "mixer.in.dt 1"}));
  EXPECT_EQ(wide_weights(R"("mtp.layers.0.mlp.down_proj")"), (Names{"mlp.down 4"})) << "behind the network's own";
  EXPECT_EQ(wide_weights(R"("model.layers.4.mlp.down_proj")"), (Names{"mlp.down 4"}));
  EXPECT_EQ(wide_weights(R"("model.layers.1", "model.layers.12")").size(), wide_weights(R"("model.layers.1.*")").size())
      << "12 is none of its layers";
  const StoredWeights gptq = stored_weights(
      R"({"num_hidden_layers": 4, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128,
          "dynamic": {"-:.*k_proj": {}, "lm_head": {}}}})");
  EXPECT_EQ(gptq.type, "int4");
  ASSERT_EQ(gptq.wide_weights.size(), 3U);
  EXPECT_EQ(gptq.wide_weights.front().name, "attn.qkv.K");
  EXPECT_EQ(gptq.element_bytes, 0.5 + 2.5 / 128);
}

/// A pattern of one product is none of what engines join it with; one that spells the joined name holds all of it.
TEST(StoredWeights, OneProductIsNotWhatItIsJoinedWith) {
  using Names = std::vector<std::string>;
  const Names value{"attn.qkv.V", "mixer.in.V", "mixer.in.V.in"};
  EXPECT_EQ(wide_weights(R"("v_proj")"), value);
  EXPECT_EQ(wide_weights(R"("re:.*v_proj")"), value);
  EXPECT_EQ(wide_weights(R"("*v_proj")"), value);
  EXPECT_EQ(wide_weights(R"("re:.*(k|v)_proj")"),
      (Names{"attn.qkv.K", "attn.qkv.V", "mixer.in.K", "mixer.in.K.in", "mixer.in.V", "mixer.in.V.in"}));
  EXPECT_EQ(wide_weights(R"("re:.*[kv]_proj")").size(), 6U);
  // what stands in a set stands in no name that it finds
  const Names each = wide_weights(R"("re:.*[.]v_proj")");
  EXPECT_EQ(each.size(), 3U);
  EXPECT_EQ(wide_weights(R"("re:.*[[:alnum:]_.of_letters]v_proj")"), each);
  EXPECT_EQ(wide_weights(R"("re:.*[\\].of_letters]v_proj")"), each);
  EXPECT_EQ(wide_weights(R"("re:.*mlp\\.up_proj")"), (Names{"mlp.up"}));
  EXPECT_EQ(wide_weights(R"("model.layers.1.mlp.*up_proj")"), (Names{"expert.up 1", "mlp.up 1", "shared.up 1"}));
  EXPECT_EQ(wide_weights(R"("*mlp.gate_up_proj")"), (Names{"mlp.gate", "mlp.up"}));
  EXPECT_EQ(wide_weights(R"("re:.*mlp\\.(gate_up|down)_proj")"), (Names{"mlp.down", "mlp.gate", "mlp.up"}));
  EXPECT_EQ(
      wide_weights(R"("model.layers.*.attn.c_attn")"), (Names{"attn.qkv.G", "attn.qkv.K", "attn.qkv.Q", "attn.qkv.V"}));
  EXPECT_EQ(
      wide_weights(R"("re:.*layers\\.1\\.mlp\\.experts\\.[a-z]*_up_proj")"), (Names{"expert.gate 1", "expert.up 1"}))
      << "of no single one";
}

/// One expert is never all: a layer's experts are wide where patterns name every one of them.
TEST(StoredWeights, SingleExpertsAreNotAll) {
  using Names = std::vector<std::string>;
  const auto stored = [](const std::string& ignored) {
    return stored_weights(R"({"num_hidden_layers": 4, "num_experts": 3, "quantization_config": {"quant_method": "fp8",
        "ignore": [)" + ignored +
                          "]}}");
  };
  struct Case {
    const char* pattern;
    std::int64_t experts;
  };
  for (const auto& [one, experts] : {Case{"model.layers.1.mlp.experts.0.down_proj", 1},
           {"model.layers.1.mlp.experts.2.down_proj", 1}, {"re:.*layers.1.mlp.experts.[01].down_proj", 2},
           {"*layers.1.*.0.down_proj", 1}, {"model.layers.1.mlp.experts.0*", 1}}) {
    const StoredWeights read = stored('"' + std::string(one) + '"');
    EXPECT_TRUE(read.wide_weights.empty()) << one;
    EXPECT_EQ(read.unknown, Names()) << one;
    EXPECT_EQ(read.type, "fp8") << one;
    ASSERT_FALSE(read.wide_experts.empty()) << one;
    for (const WeightsOfExperts& held : read.wide_experts)
      EXPECT_EQ(held, (WeightsOfExperts{held.name, 1, experts})) << one;
  }
  const char* unheld = "*.layers.1.mlp.experts.?.up_proj.weight";
  EXPECT_EQ(stored('"' + std::string(unheld) + '"').unknown, Names{unheld}) << "a tensor is no module";
  std::string all;
  for (int expert = 0; expert < 3; ++expert)
    all += (expert > 0 ? ", " : "") + ("\"model.layers.1.mlp.experts." + std::to_string(expert)) + ".down_proj\"";
  for (const std::string& every : {all, std::string(R"("re:.*layers.1.mlp.experts.[0-2].down_proj")"),
           std::string(R"("re:.*layers\\.1\\.mlp\\.experts\\.\\d+\\.down_proj")"),
           std::string(R"("model.layers.1.mlp.experts.*.down_proj")"),
           std::string(R"("model.layers.1.mlp.experts.?.down_proj")")}) {
    const StoredWeights read = stored(every);
    ASSERT_EQ(read.wide_weights.size(), 1U) << every;
    EXPECT_EQ(read.wide_weights.front(), (WeightsOfLayers{"expert.down", {1}, false})) << every;
    EXPECT_TRUE(read.unknown.empty()) << every;
  }
}

/// Patterns that tell experts apart and not layers are of each layer, and of the one that predicts behind them.
TEST(StoredWeights, SingleExpertsOfEveryLayerAreThoseOfEach) {
  const auto stored = [](const std::string& sizes, const std::string& ignored) {
    return stored_weights(
        "{" + sizes + R"("quantization_config": {"quant_method": "fp8", "ignore": [)" + ignored + "]}}");
  };
  const auto of_each = [](std::int64_t from, std::int64_t to, std::int64_t experts) {
    std::vector<WeightsOfExperts> all;
    for (std::int64_t layer = from; layer <= to; ++layer) all.push_back({"expert.down", layer, experts});
    return all;
  };
  const std::string sixteen = R"("num_hidden_layers": 4, "num_experts": 16, )";
  const StoredWeights word = stored(sixteen, R"("re:.*experts\\.\\w\\.down_proj")");  // 0 to 9
  EXPECT_EQ(word.wide_experts, of_each(0, 4, 10));
  EXPECT_TRUE(word.wide_weights.empty());
  EXPECT_TRUE(word.unknown.empty());

  const StoredWeights joined =
      stored(sixteen, R"("re:.*experts\\.\\w\\.down_proj", "re:.*layers\\.1\\.mlp\\.experts\\.1\\d\\.down_proj")");
  ASSERT_EQ(joined.wide_weights.size(), 1U) << "the second names the others of one layer";
  EXPECT_EQ(joined.wide_weights.front(), (WeightsOfLayers{"expert.down", {1}, false}));
  std::vector<WeightsOfExperts> others = of_each(0, 0, 10);
  for (const WeightsOfExperts& one : of_each(2, 4, 10)) others.push_back(one);
  EXPECT_EQ(joined.wide_experts, others);

  const char* pattern = "re:.*experts\\\\.\\\\w\\\\.down_proj";
  const StoredWeights unknown = stored(R"("num_experts": 16, )", '"' + std::string(pattern) + '"');
  EXPECT_TRUE(unknown.wide_experts.empty()) << "of how many layers is not said";
  EXPECT_EQ(unknown.unknown, std::vector<std::string>{"re:.*experts\\.\\w\\.down_proj"});
}

/// Lists that name each module of each layer are read at once.
TEST(StoredWeights, LongListsAreReadInTime) {
  std::string ignored;
  for (int layer = 0; layer < 1000; ++layer)
    for (const char* module : {"mlp.gate", "self_attn.o_proj", "mlp.down_proj"})
      ignored += (ignored.empty() ? "\"" : ", \"") + ("model.language_model.layers." + std::to_string(layer)) + "." +
                 module + "\"";
  const auto begin = std::chrono::steady_clock::now();
  const StoredWeights read = stored_weights(R"({"num_hidden_layers": 1000, "num_experts": 128, "quantization_config": {
      "quant_method": "fp8", "ignore": [)" + ignored +
                                            "]}}");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(read.unknown.empty());
  EXPECT_LT(taken.count(), 20) << "minutes where every layer is asked";
}

/// Encoders and norms are no weights of ours; what is none of all is told.
TEST(StoredWeights, TellPatternsThatAreNotKnown) {
  const auto unknown = [](const std::string& ignored) {
    return stored_weights(
        R"({"num_hidden_layers": 4, "quantization_config": {"quant_method": "fp8", "ignore": [)" + ignored + "]}}")
        .unknown;
  };
  EXPECT_TRUE(unknown(R"("lm_head", "model.visual*", "re:.*input_layernorm", "model.layers.0.mlp.gate")").empty());
  EXPECT_EQ(unknown(R"("model.layers.0.strange", "re:((.*)*)*layers", "lm_head")"),
      (std::vector<std::string>{"model.layers.0.strange", "re:((.*)*)*layers"}));
  EXPECT_EQ(unknown(R"("model.layers.7.self_attn.o_proj")").size(), 1U) << "of four layers";
}

/// Patterns that name layers and no part of them: how many they hold is said, and most of them are no type of all.
TEST(StoredWeights, SayWhichLayersStayWide) {
  const auto stored = [](const std::string& ignored, const std::string& key = "exclude_modules") {
    return stored_weights(R"({"num_hidden_layers": 32, "quantization_config": {
        "quant_method": "modelopt", "quant_algo": "FP8", ")" +
                          key + "\": [\"lm_head\", " + ignored + "]}}");
  };
  EXPECT_EQ(stored(R"("re:.*layers\\.[0-9]\\..*")", "ignore").wide, "10 of 32 layers");
  EXPECT_EQ(stored(R"("re:model\\.layers\\.(0|31)\\..*")", "ignore").wide, "2 of 32 layers");
  EXPECT_EQ(stored(R"("model.layers.0*", "model.layers.31*")").wide, "2 of 32 layers");
  EXPECT_EQ(stored(R"("model.layers.1*")").wide, "11 of 32 layers") << "1 and 10 to 19";
  EXPECT_EQ(stored(R"("model.layers.1", "language_model.model.layers.2")").wide, "2 of 32 layers");
  EXPECT_EQ(stored(R"("model.layers.0.", "model.layers.1.", "model.layers.61.", "mlp.gate.", "indexer")",
                "modules_to_not_convert")
                .wide,
      "2 of 32 layers");
  EXPECT_EQ(stored(R"("model.layers.5.*", "model.layers.7.self_attn*")").wide, "1 of 32 layers with part of attention");
  const StoredWeights most = stored(R"("model.layers.1*", "model.layers.2*")");
  EXPECT_EQ(most.type, "");
  EXPECT_EQ(most.how, "fp8, 22 of 32 layers left wide");
  EXPECT_EQ(stored(R"("re:(?<=x)layers.*")", "ignore").wide, "layers of a pattern that is not read");
  EXPECT_EQ(stored(R"("re:((.*)*)*layers")", "ignore").wide, "layers of a pattern that is not read");
}

/// A head that is narrow is said.
TEST(StoredWeights, SayThatTheHeadIsNarrow) {
  const auto narrow = [](const char* head) {
    return stored_weights(
        R"({"quantization_config": {"quant_method": "gptq", "bits": 4, "lm_head": )" + std::string(head) + "}}");
  };
  EXPECT_EQ(narrow("true").narrow, "the LM head");
  EXPECT_EQ(narrow("true").type, "int4");
  EXPECT_EQ(narrow("false").narrow, "");
}

}  // namespace
}  // namespace stepcast
