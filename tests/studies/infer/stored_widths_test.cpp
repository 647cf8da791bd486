// Checkpoints that leave some of their weights wide: their sizes as published, and what products, memory and the layer
// that predicts take of them.
#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/phases.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using Json = nlohmann::json;

ServingWishes wishes_of(const Json& config) {
  const std::string file = testing_program::own_path("config.json");
  std::ofstream(file) << config.dump();
  ServingWishes wishes;
  wishes.network = file, wishes.machine = "dgx-b200", wishes.engine = "vllm-2026";
  return wishes;
}

/// stored_sizes.jsonl: `bytes` of the tensors as published, "mtp" what the file has for a layer that predicts: with a
/// table and a head of its own, or sharing those of the network.
TEST(StoredWidths, SizesAreThoseOfPublishedFiles) {
  std::ifstream lines(STEPCAST_SOURCE_DIR "/tests/studies/infer/stored_sizes.jsonl");
  int files = 0;
  for (std::string line; std::getline(lines, line); ++files) {
    const Json row = Json::parse(line);
    ServingWishes wishes = wishes_of(row.at("config"));
    wishes.draft = row.contains("mtp") ? 1 : 0;
    const Serving s = served(wishes);
    double bytes = s.weight_bytes();
    if (s.drafter) bytes += s.drafter->weight_bytes();
    constexpr double wide = 2;
    const double ends = wide * 2 * static_cast<double>(s.network().vocab) * static_cast<double>(s.network().hidden);
    if (row.value("mtp", "") == "shared ends") bytes -= ends;
    EXPECT_NEAR(bytes / row.at("bytes").get<double>(), 1, 0.01) << row.at("id");
  }
  EXPECT_GE(files, 6);
}

Json small_network(const Json& quantised) {
  return {{"architectures", {"Qwen3MoeForCausalLM"}}, {"hidden_size", 1024}, {"num_hidden_layers", 4},
      {"num_attention_heads", 8}, {"num_key_value_heads", 8}, {"head_dim", 128}, {"vocab_size", 32000},
      {"num_experts", 16}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 512}, {"intermediate_size", 1024},
      {"max_position_embeddings", 40960}, {"tie_word_embeddings", false}, {"quantization_config", quantised}};
}
Json modelopt(const Json& excluded) {
  return {{"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"ignore", excluded}};
}
double bytes_of(const Json& excluded) { return served(wishes_of(small_network(modelopt(excluded)))).weight_bytes(); }

/// Attention of a layer: four matrices of 1024 x 1024. An expert: three of 1024 x 512.
TEST(StoredWidths, AreThoseOfThePartsThatPatternsName) {
  constexpr double attention = 4.0 * 1024 * 1024, experts = 16 * 3.0 * 1024 * 512;
  const double narrow = bytes_of({"lm_head"});
  EXPECT_DOUBLE_EQ(bytes_of({"*self_attn*"}) - narrow, 4 * attention);
  EXPECT_DOUBLE_EQ(bytes_of({"re:.*self_attn.*"}) - narrow, 4 * attention);
  EXPECT_DOUBLE_EQ(bytes_of({"model.layers.1.self_attn.o_proj"}) - narrow, attention / 4);
  EXPECT_DOUBLE_EQ(bytes_of({"model.layers.0*", "model.layers.3*"}) - narrow, 2 * (attention + experts));
  EXPECT_DOUBLE_EQ(bytes_of({"model.layers.2.mlp.experts"}) - narrow, experts);
  EXPECT_DOUBLE_EQ(bytes_of({"model.layers.2.mlp.experts.*.down_proj"}) - narrow, experts / 3);
  for (const char* value : {"v_proj", "*.v_proj", "*v_proj", "re:.*v_proj"})
    EXPECT_DOUBLE_EQ(bytes_of({value}) - narrow, attention) << value << ": of four layers a matrix each";
  constexpr double matrix = 1024.0 * 512;
  EXPECT_DOUBLE_EQ(bytes_of({"model.layers.1.mlp.experts.3.down_proj"}) - narrow, matrix) << "one of 16";
  EXPECT_DOUBLE_EQ(bytes_of({"re:.*layers.[12].mlp.experts.[3-5].*"}) - narrow, 2 * 3 * 3 * matrix);
  Json each;
  for (int layer = 0; layer < 4; ++layer)
    each.push_back("model.layers." + std::to_string(layer) + ".mlp.experts.7.up_proj");
  EXPECT_DOUBLE_EQ(bytes_of(each) - narrow, 4 * matrix) << "a single one in most layers leaves no layer's experts wide";
  for (const char* wide : {"*.mlp.gate", "model.embed_tokens", "*norm*"})  // these are wide in any case
    EXPECT_DOUBLE_EQ(bytes_of({wide}) - narrow, 0) << wide;
}

/// DeepSeek V4's own form: experts of half a byte and a scale of a byte for each 32, all else in fp8 in blocks of 128.
TEST(StoredWidths, ExpertsOfV4AreNarrowerThanWhatIsBesideThem) {
  ServingWishes wishes = wishes_of(small_network({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}));
  const Serving blocks = served(wishes);
  wishes.weights = "fp8-mxfp4-experts";
  const Serving apart = served(wishes);
  constexpr double experts = 4 * 16 * 3.0 * 1024 * 512;
  EXPECT_NEAR(blocks.weight_bytes() - apart.weight_bytes(), experts * (1 + 4.0 / (128 * 128) - (0.5 + 1.0 / 32)), 1);
  const sim::IterationTime narrow = iterate(apart, {1, 1, 1000}), wide = iterate(blocks, {1, 1, 1000});
  EXPECT_EQ(part_of(narrow, "attn.out")->time.value(), part_of(wide, "attn.out")->time.value());
  EXPECT_LT(part_of(narrow, "expert.up")->time.value(), part_of(wide, "expert.up")->time.value());
  wishes.products = "bf16";
  EXPECT_EQ(served(wishes).weight_bytes(), apart.weight_bytes()) << "a file is as long whatever multiplies it";
  wishes.products = "", wishes.machine = "dgx-a100";
  EXPECT_FALSE(serving_of(wishes)) << "no fp8 units";
}

/// Experts in runs of 32 have no blocks of 128 that a rank would cut; what is beside them has.
TEST(StoredWidths, ExpertsOfV4AreNotCutAsBlocks) {
  ServingWishes wishes = wishes_of(small_network({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}));
  wishes.tp = 8;
  const auto blocks = serving_of(wishes);
  ASSERT_FALSE(blocks);
  EXPECT_NE(to_text(blocks.error()).find("experts of 512 in 8 parts of 64"), std::string::npos);
  wishes.weights = "fp8-mxfp4-experts";
  EXPECT_TRUE(serving_of(wishes));
  Json dense = small_network({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}});
  dense["mlp_only_layers"] = {0}, dense["intermediate_size"] = 1152;
  wishes.network = wishes_of(dense).network;
  const auto mlp = serving_of(wishes);
  ASSERT_FALSE(mlp);
  EXPECT_NE(to_text(mlp.error()).find("the MLP of 1152"), std::string::npos);
}

/// No row of an engine is of that form: its products are tuned as those of fp8, and nobody's records tell how far off
/// experts are that nobody timed.
TEST(StoredWidths, ExpertsOfV4AreTunedAsProductsAreAndLessSure) {
  ServingWishes wishes = wishes_of(small_network({{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}}));
  wishes.engine = "tensorrt-llm";
  const Serving blocks = served(wishes);
  wishes.weights = "fp8-mxfp4-experts";
  const Serving apart = served(wishes);
  EXPECT_EQ(ServingCost(apart).tuning().products_in, "fp8");
  EXPECT_EQ(ServingCost(apart).tuning().host_per_iteration, ServingCost(blocks).tuning().host_per_iteration);
  const sim::IterationTime narrow = iterate(apart, {1, 1, 1000}), wide = iterate(blocks, {1, 1, 1000});
  EXPECT_TRUE(part_of(narrow, "expert.up")->extrapolated);
  EXPECT_FALSE(part_of(narrow, "attn.out")->extrapolated);
  EXPECT_GT(narrow.spread.p90, wide.spread.p90);
  EXPECT_LT(narrow.spread.p10, wide.spread.p10);
  EXPECT_TRUE(std::ranges::any_of(
      apart.assumptions, [](const std::string& one) { return one.find("is tuned as for fp8") != std::string::npos; }));
  wishes.weights = "mxfp4";
  EXPECT_EQ(ServingCost(served(wishes)).tuning().products_in, "mxfp4") << "this one has a row";
}

/// Patterns that tell experts apart and not layers count in every layer.
TEST(StoredWidths, SingleExpertsOfEveryLayerAreCounted) {
  constexpr double matrix = 1024.0 * 512;
  EXPECT_DOUBLE_EQ(bytes_of({"re:.*experts\\.\\w\\.down_proj"}) - bytes_of({"lm_head"}), 4 * 10 * matrix)
      << "experts 0 to 9 of four layers";
}

/// What `show` prints of them ends, and is read as the file itself.
TEST(StoredWidths, SingleExpertsOfEveryLayerAreShown) {
  const std::string file = wishes_of(small_network(modelopt({"re:.*experts\\.\\w\\.down_proj"}))).network;
  const auto shown = testing_program::run_line("show network " + file + " --json");
  ASSERT_EQ(shown.err, "");
  EXPECT_EQ(
      Json::parse(shown.out).at("stored_weights").at("wide_experts").at("expert.down"), Json({10, 10, 10, 10, 10}));
}

/// A layer that is wide takes a wide layer's time, and its neighbours what they took.
TEST(StoredWidths, ProductsTakeTheTimeOfTheirWidth) {
  const auto times = [](const Json& excluded) {
    const Serving s = served(wishes_of(small_network(modelopt(excluded))));
    const sim::IterationTime one = iterate(s, {1, 1, 1000});
    double sum = 0;
    for (const sim::IterationPart& part : one.parts) sum += part.time.value();
    EXPECT_NEAR(sum, one.kernels.value(), 1e-12);
    double ordered = 0;
    for (const sim::IterationSlice& slice : ServingCost(s).in_order(std::array{sim::Rows{1, 1, 1000}}, one))
      ordered += slice.time.value();
    EXPECT_NEAR(ordered, one.kernels.value(), 1e-12);
    return std::array{part_of(one, "attn.out")->time.value(), part_of(one, "expert.up")->time.value(),
        part_of(one, "attn.out")->calls};
  };
  const auto narrow = times({"lm_head"}), one = times({"model.layers.1.self_attn*"}), all = times({"*self_attn*"});
  EXPECT_GT(all[0], narrow[0]);
  EXPECT_NEAR(one[0] - narrow[0], (all[0] - narrow[0]) / 4, 1e-12) << "one layer of four";
  EXPECT_EQ(one[1], narrow[1]);
  EXPECT_EQ(one[2], 4);
  const auto deep = times({"model.layers.0*"});
  EXPECT_NEAR(deep[1] - narrow[1], (times({"model.layers.3.*"})[1] - narrow[1]), 1e-12);
  EXPECT_GT(deep[1], narrow[1]);
}

/// What is on the GPU beside the cache leaves less room for it.
TEST(StoredWidths, FewerSequencesAreAdmitted) {
  const Serving narrow = served(wishes_of(small_network(modelopt({"lm_head"})))),
                wide = served(wishes_of(small_network(modelopt({"*self_attn*", "model.layers.0*"}))));
  EXPECT_DOUBLE_EQ(
      capacity(narrow, 1000).cache - capacity(wide, 1000).cache, wide.weight_bytes() - narrow.weight_bytes());
  EXPECT_GT(wide.weight_bytes(), narrow.weight_bytes());
}

/// Of stages each has its own layers.
TEST(StoredWidths, StagesHoldTheirOwnLayers) {
  ServingWishes wishes = wishes_of(small_network(modelopt({"model.layers.0*", "model.layers.1*"})));
  wishes.pp = 2;
  const Serving s = served(wishes);
  wishes = wishes_of(small_network(modelopt({"lm_head"})));
  wishes.pp = 2;
  const Serving narrow = served(wishes);
  EXPECT_GT(s.weight_bytes(s.form->held()[0]), narrow.weight_bytes(narrow.form->held()[0]));
  EXPECT_EQ(s.weight_bytes(s.form->held()[1]), narrow.weight_bytes(narrow.form->held()[1]));
}

/// Integers have scales and zero points as their file says, and a head that is narrow is as narrow as they are.
TEST(StoredWidths, HeadsAndGroupsAreTheFiles) {
  const auto bytes = [](const Json& quantised) { return served(wishes_of(small_network(quantised))).weight_bytes(); };
  Json gptq{{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}};
  const double wide = bytes(gptq);
  gptq["lm_head"] = true;
  const double number = 0.5 + (2 + 0.5) / 128;  // a scale and a zero point for each 128
  EXPECT_NEAR(wide - bytes(gptq), 32000.0 * 1024 * (2 - number), 1);
  gptq["lm_head"] = false, gptq["group_size"] = 32;
  const double matrices = 4 * (4.0 * 1024 * 1024 + 16 * 3.0 * 1024 * 512);
  EXPECT_NEAR(bytes(gptq) - wide, matrices * 2.5 * (1.0 / 32 - 1.0 / 128), 0.002 * matrices);
}

/// A pattern that names nothing known may leave more wide: that is said.
TEST(StoredWidths, PatternsThatNameNothingAreSaid) {
  const auto said = [](const Json& excluded) {
    std::string all;
    for (const std::string& one : served(wishes_of(small_network(modelopt(excluded)))).assumptions) all += one + "\n";
    return all;
  };
  EXPECT_EQ(said({"lm_head", "model.visual*"}).find("names no weights"), std::string::npos);
  EXPECT_NE(said({"model.layers.0.strange_proj", "other"})
                .find("'model.layers.0.strange_proj' and 1 more of quantization_config of the file names no weights"),
      std::string::npos);
  EXPECT_NE(
      said({"k_proj", "v_proj"}).find("attn.qkv.K, attn.qkv.V left wide, as quantization_config"), std::string::npos);
  EXPECT_EQ(said({"lm_head", "model.layers.0.mlp.gate"}).find("left wide"), std::string::npos);
  EXPECT_NE(
      said({"*self_attn*"}).find("attention left wide, as quantization_config of the file says"), std::string::npos);
}

/// What `show` writes of a file is taken back.
TEST(StoredWidths, AreTakenBackFromShow) {
  const ServingWishes wishes = wishes_of(small_network(modelopt({"model.layers.2*", "*.self_attn.o_proj"})));
  const double before = served(wishes).weight_bytes();
  const auto shown = testing_program::run_line("show network " + wishes.network + " --json");
  ServingWishes back = wishes;
  back.network = testing_program::own_path("shown.json");
  std::ofstream(back.network) << shown.out;
  EXPECT_EQ(served(back).weight_bytes(), before);
}

}  // namespace
}  // namespace stepcast::infer
