#include <gtest/gtest.h>

#include "model/network.h"

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
  EXPECT_NE(network_error(network_with(small_network, "\"vocab\"", "\"head_dim\": 7, \"vocab\"")).find("head_dim 7 is odd"),
            std::string::npos);
  EXPECT_NE(network_error(network_with(small_network, "\"rope\"", "\"learned\", \"max_positions\": 64")).find("has 64 rows"),
            std::string::npos);
}

TEST(ReadNetwork, RefusesZeroNegativeAndAbsurdSizes) {
  for (const char* layers : {"0", "-2", "1e9", "2.5", "100000000000", "\"2\"", "null"})
    EXPECT_NE(network_error(network_with(small_network, "\"layers\": 2", std::string("\"layers\": ") + layers)), "accepted") << layers;
}

TEST(ReadNetwork, SuggestsTheNearestKeyAndActivation) {
  EXPECT_NE(network_error(network_with(small_network, "ffn_hidden", "fnn_hidden")).find("did you mean 'ffn_hidden'?"), std::string::npos);
  EXPECT_NE(network_error(network_with(small_network, "swiglu", "swigul")).find("did you mean 'swiglu'?"), std::string::npos);
  EXPECT_NE(network_error(network_with(small_network, "\"small\"", "\"My Net\"")).find("lower-case"), std::string::npos);
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
