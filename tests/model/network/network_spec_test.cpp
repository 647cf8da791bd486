#include <gtest/gtest.h>

#include "model/network/network.h"

namespace stepcast {
namespace {

const std::string small_network = R"({
  "id": "small", "layers": 2, "hidden": 64, "ffn_hidden": 256, "heads": 8, "kv_heads": 2, "vocab": 1000, "sequence": 128,
  "norm": "rmsnorm", "activation": "swiglu", "positions": "rope"})";

std::string network_with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  return at == std::string::npos ? "nothing to replace" : text.replace(at, from.size(), to);
}

std::string network_error(const std::string& text) {
  const auto spec = read_network(text, "n.json");
  return spec ? "accepted" : to_text(spec.error());
}

TEST(ReadNetwork, DerivesHeadSizeAndDefaults) {
  const auto spec = read_network(small_network, "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  EXPECT_EQ(spec->head_dim, 8);
  EXPECT_EQ(spec->name, "small");
  EXPECT_FALSE(spec->tied_embeddings);
}

TEST(ReadNetwork, KeyValueHeadsDefaultToHeads) {
  const auto spec = read_network(network_with(small_network, "\"kv_heads\": 2, ", ""), "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  EXPECT_EQ(spec->kv_heads, 8);
}

TEST(ReadNetwork, ExplainsWhatDoesNotDivide) {
  EXPECT_EQ(network_error(network_with(small_network, "\"kv_heads\": 2", "\"kv_heads\": 3")),
      "n.json:/kv_heads: 3 key-value heads do not divide 8 heads (one of: 1, 2, 4, 8)");
  EXPECT_EQ(network_error(network_with(small_network, "\"hidden\": 64", "\"hidden\": 65")),
      "n.json:/heads: 8 heads do not divide hidden 65 (give head_dim, or a divisor of hidden)");
}

TEST(ReadNetwork, RefusesAnOddRotaryHeadAndAShortPositionTable) {
  EXPECT_NE(
      network_error(network_with(small_network, "\"vocab\"", "\"head_dim\": 7, \"vocab\"")).find("head_dim 7 is odd"),
      std::string::npos);
  EXPECT_NE(
      network_error(network_with(small_network, "\"rope\"", "\"learned\", \"max_positions\": 64")).find("has 64 rows"),
      std::string::npos);
}

TEST(ReadNetwork, RefusesZeroNegativeAndAbsurdSizes) {
  for (const char* layers : {"0", "-2", "1e9", "2.5", "100000000000", "\"2\"", "null"})
    EXPECT_NE(
        network_error(network_with(small_network, "\"layers\": 2", std::string("\"layers\": ") + layers)), "accepted")
        << layers;
}

TEST(ReadNetwork, RefusesMoreParametersThanCanBeCounted) {
  const std::string wide = network_with(network_with(small_network, "\"hidden\": 64", "\"hidden\": 10000000"),
      "\"ffn_hidden\": 256", "\"ffn_hidden\": 10000000");
  // 10,000 layers of 3 x 10^7 x 10^7 weights, and the attention's.
  EXPECT_NE(network_error(network_with(wide, "\"layers\": 2", "\"layers\": 10000"))
                .find("parameters in all (fewer than 1e17)"),
      std::string::npos);
}

TEST(ReadNetwork, SuggestsTheNearestKeyAndActivation) {
  EXPECT_NE(network_error(network_with(small_network, "ffn_hidden", "fnn_hidden")).find("did you mean 'ffn_hidden'?"),
      std::string::npos);
  EXPECT_NE(
      network_error(network_with(small_network, "swiglu", "swigul")).find("did you mean 'swiglu'?"), std::string::npos);
  EXPECT_NE(
      network_error(network_with(small_network, "\"small\"", "\"My Net\"")).find("lower-case"), std::string::npos);
}

const std::string experts_key = R"("experts": {"count": 8, "top_k": 2, "ffn_hidden": 32}, "vocab")";
const std::string latent_key =
    R"("latent_attention": {"kv_rank": 16, "nope_dim": 8, "rope_dim": 4, "value_dim": 8}, "vocab")";

TEST(ReadNetwork, TakesExpertsWithTheirDefaults) {
  const auto spec = read_network(network_with(small_network, "\"vocab\"", experts_key), "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  EXPECT_EQ(spec->experts.count, 8);
  EXPECT_EQ(spec->experts.every, 1);
  EXPECT_EQ(spec->experts.capacity_factor, 0) << "dropless";
  EXPECT_EQ(spec->experts.imbalance, 1) << "balanced";
  EXPECT_EQ(spec->ffn_hidden, 256);
}

TEST(ReadNetwork, WantsThePlainWidthOnlyWherePlainLayersAre) {
  const std::string all_routed =
      network_with(network_with(small_network, "\"vocab\"", experts_key), "\"ffn_hidden\": 256, ", "");
  const auto spec = read_network(all_routed, "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  EXPECT_EQ(spec->ffn_hidden, 32) << "the width of a routed expert";
  EXPECT_EQ(network_error(network_with(all_routed, "\"top_k\"", "\"dense_layers\": 1, \"top_k\"")),
      "n.json:/ffn_hidden: this key is missing (it is required)");
  EXPECT_NE(network_error(network_with(small_network, "\"ffn_hidden\": 256, ", "")), "accepted");
}

TEST(ReadNetwork, ExplainsImpossibleExperts) {
  const std::string routed = network_with(small_network, "\"vocab\"", experts_key);
  EXPECT_EQ(network_error(network_with(routed, "\"top_k\": 2", "\"top_k\": 9")),
      "n.json:/experts/top_k: a token goes to 9 of 8 experts (1 to 8)");
  EXPECT_EQ(network_error(network_with(routed, "\"top_k\"", "\"dense_layers\": 2, \"top_k\"")),
      "n.json:/experts/dense_layers: 2 leading dense layers of 2 leave none for the experts (0 to 1)");
  EXPECT_EQ(network_error(network_with(routed, "\"top_k\"", "\"every\": 3, \"top_k\"")),
      "n.json:/experts/every: every 3 does not divide the 2 layers behind the dense ones (one of: 1, 2)");
  EXPECT_NE(
      network_error(network_with(routed, "\"top_k\"", "\"shared_gate\": true, \"top_k\"")).find("no shared expert"),
      std::string::npos);
  EXPECT_NE(
      network_error(network_with(routed, "\"top_k\"", "\"imbalance\": 0.5, \"top_k\"")).find("/experts/imbalance"),
      std::string::npos);
  for (const char* groups : {"\"groups\": 3, \"top_groups\": 1", "\"groups\": 4"})
    EXPECT_NE(network_error(network_with(routed, "\"top_k\"", std::string(groups) + ", \"top_k\"")).find("groups"),
        std::string::npos);
  EXPECT_EQ(network_error(network_with(routed, "\"top_k\"", "\"groups\": 8, \"top_groups\": 1, \"top_k\"")),
      "n.json:/experts/top_groups: 1 groups have 1 experts, and a token takes 2 (more groups, or fewer experts per "
      "token)");
  EXPECT_NE(network_error(network_with(routed, "\"top_k\"", "\"capacity_factor\": 9, \"top_k\""))
                .find("/experts/capacity_factor"),
      std::string::npos);
  EXPECT_NE(network_error(network_with(routed, "\"rope\"", "\"rope\", \"linear_bias\": true")).find("/linear_bias"),
      std::string::npos);
  EXPECT_NE(
      network_error(network_with(routed, "\"rope\"", "\"rope\", \"parallel_block\": true")).find("/parallel_block"),
      std::string::npos)
      << "two norms";
  EXPECT_EQ(
      network_error(network_with(routed, "\"rope\"", "\"rope\", \"parallel_block\": true, \"norms_per_layer\": 1")),
      "accepted");
  EXPECT_NE(network_error(network_with(routed, "top_k", "topk")).find("did you mean 'top_k'?"), std::string::npos);
}

TEST(ReadNetwork, DerivesTheHeadOfLatentAttention) {
  const std::string latent =
      network_with(network_with(small_network, "\"vocab\"", latent_key), "\"kv_heads\": 2, ", "");
  const auto spec = read_network(latent, "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  EXPECT_EQ(spec->head_dim, 12) << "8 that stay and 4 that turn";
  EXPECT_EQ(spec->kv_heads, 8);
  EXPECT_EQ(spec->latent.q_rank, 0) << "queries projected directly";
  EXPECT_NE(network_error(network_with(latent, "\"rope_dim\": 4", "\"rope_dim\": 3")).find("rope_dim 3 is odd"),
      std::string::npos);
  EXPECT_NE(
      network_error(network_with(latent, "\"vocab\"", "\"kv_heads\": 2, \"vocab\"")).find("2 key-value heads for 8"),
      std::string::npos);
  EXPECT_NE(network_error(network_with(latent, "\"vocab\"", "\"head_dim\": 8, \"vocab\""))
                .find("is not nope_dim 8 + rope_dim 4"),
      std::string::npos);
  EXPECT_NE(network_error(network_with(latent, "\"rope\"", "\"alibi\"")).find("/positions"), std::string::npos);
  EXPECT_NE(network_error(network_with(latent, "\"rope\"", "\"rope\", \"qkv_bias\": true")).find("/latent_attention"),
      std::string::npos);
  EXPECT_NE(network_error(network_with(latent, "\"kv_rank\": 16, ", "")).find("/latent_attention/kv_rank"),
      std::string::npos);
}

TEST(ReadNetwork, SharesANormOnlyInParallelBlocks) {
  EXPECT_NE(
      network_error(network_with(small_network, "\"rope\"", "\"rope\", \"norms_per_layer\": 1")).find("side by side"),
      std::string::npos);
  EXPECT_EQ(network_error(
                network_with(small_network, "\"rope\"", "\"rope\", \"norms_per_layer\": 1, \"parallel_block\": true")),
      "accepted");
  EXPECT_NE(network_error(network_with(small_network, "\"rope\"", "\"rope\", \"norms_per_layer\": 3")), "accepted");
}

TEST(WriteNetwork, KeepsEveryFieldOfExpertsAndLatentAttention) {
  const std::string text =
      network_with(network_with(small_network, "\"kv_heads\": 2, \"vocab\"", R"("kv_heads": 8, "mtp_layers": 1,
    "experts": {"count": 8, "top_k": 2, "ffn_hidden": 32, "shared_ffn_hidden": 64, "shared_gate": true, "router_bias": true,
                "expert_bias": true, "groups": 4, "top_groups": 2, "dense_layers": 1, "every": 1, "capacity_factor": 1.25, "imbalance": 1.5},
    "latent_attention": {"q_rank": 24, "kv_rank": 16, "nope_dim": 8, "rope_dim": 4, "value_dim": 6}, "vocab")"),
          "small", "routed");
  const auto spec = read_network(text, "n.json");
  ASSERT_TRUE(spec) << to_text(spec.error());
  const auto again = read_network(write_network(*spec), "again.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_network(*again), write_network(*spec));
  EXPECT_EQ(again->experts.shared_ffn_hidden, 64);
  EXPECT_TRUE(again->experts.shared_gate && again->experts.router_bias && again->experts.expert_bias);
  EXPECT_EQ(again->experts.dense_layers, 1);
  EXPECT_EQ(again->experts.groups, 4);
  EXPECT_EQ(again->experts.top_groups, 2);
  EXPECT_EQ(again->experts.capacity_factor, 1.25);
  EXPECT_EQ(again->experts.imbalance, 1.5);
  EXPECT_EQ(again->latent.q_rank, 24);
  EXPECT_EQ(again->latent.value_dim, 6);
  EXPECT_EQ(again->mtp_layers, 1);
}

TEST(WriteNetwork, ReadsBackTheSame) {
  const auto spec = read_network(small_network, "n.json");
  const std::string text = write_network(*spec);
  const auto again = read_network(text, "again.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_network(*again), text);
  EXPECT_EQ(again->kv_heads, 2);
}

}  // namespace
}  // namespace stepcast
