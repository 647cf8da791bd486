// Which number type a checkpoint's config.json says that its weights have.
#include "model/network/hf/stored_weights.h"

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
  EXPECT_EQ(type_of(group(R"("num_bits": 4, "type": "int", "group_size": 32)", "null", "\"re:.*self_attn.*\"")),
      "int4-experts");
}

/// Integers that multiply integers, groups that differ, experts apart from the rest, and methods of others.
TEST(StoredWeights, AreNotGuessed) {
  EXPECT_EQ(type_of(group(R"("num_bits": 8, "type": "int")", R"({"num_bits": 8})")), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})"), "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", R"(, "expert_dtype": "fp4")"),
      "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "modelopt", "config_groups": {
      "a": {"weights": {"num_bits": 8, "type": "float"}, "input_activations": {}},
      "b": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "input_activations": {}}}})"),
      "not known");
  EXPECT_EQ(type_of(R"({"quant_method": "gptq", "bits": "four"})"), "not known");
}

TEST(StoredWeights, MayStandInThePartOfTheText) {
  const StoredWeights stored =
      stored_weights(R"({"text_config": {"quantization_config": {"quant_method": "fp8"}}, "vision_config": {}})");
  EXPECT_EQ(stored.type, "fp8");
  EXPECT_EQ(stored_weights(R"({"hidden_size": 64, "quantization_config": null})").how, "");
  EXPECT_EQ(stored_weights("no JSON").how, "");
}

/// What the file leaves wide and counts as narrow is said; experts alone leave it so by their name.
TEST(StoredWeights, SayWhatStaysWide) {
  const auto wide = [](const std::string& ignored) {
    return stored_weights(R"({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4",
        "exclude_modules": [")" +
                          ignored + "\"]}}")
        .wide;
  };
  EXPECT_EQ(wide("model.layers.0.self_attn*"), "attention");
  EXPECT_EQ(wide("lm_head"), "");
  EXPECT_EQ(wide("model.layers.0.self_attn.q_norm"), "");
}

}  // namespace
}  // namespace stepcast
