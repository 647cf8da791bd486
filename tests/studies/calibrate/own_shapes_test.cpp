// The kernels of a network's step, held against its published sizes by hand.
#include "studies/calibrate/own_shapes.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/bench/work.h"
#include "model/catalog.h"

namespace stepcast::calibration {
namespace {

OwnShapesRequest shapes_request(const char* stack = "megatron-core") {
  OwnShapesRequest request;
  request.gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  request.stack = **find_row(built_in().stacks, stack, "stack");
  return request;
}

std::vector<std::string> names_of_shapes(const char* network, const OwnShapesRequest& request = shapes_request()) {
  const auto shapes = own_shapes(**find_row(built_in().networks, network, "network"), request);
  if (!shapes) {
    ADD_FAILURE() << network << ": " << to_text(shapes.error());
    return {};
  }
  std::vector<std::string> out;
  for (const Query& query : *shapes) out.push_back(work_name(query));
  return out;
}

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

// Hidden 12288, 96 heads of 128, MLP 49152, 2048 positions. At tp 8: qkv 3 x 12288 / 8 = 4608, out 1536, MLP 6144, 12
// heads.
TEST(OwnShapes, gpt3_175b_at_tp_8) {
  EXPECT_THAT(names_of_shapes("gpt3-175b"),
      IsSupersetOf({"gemm bf16 tn 2048x4608x12288", "gemm bf16 nt 4608x12288x2048", "gemm bf16 nn 2048x12288x4608",
          "gemm bf16 tn 2048x12288x1536", "gemm bf16 nn 2048x1536x12288", "gemm bf16 nt 12288x1536x2048",
          "gemm bf16 tn 2048x6144x12288", "gemm bf16 nn 2048x12288x6144", "gemm bf16 nt 6144x12288x2048",
          "gemm bf16 tn 2048x12288x6144", "gemm bf16 nn 2048x6144x12288", "gemm bf16 nt 12288x6144x2048",
          "attention forward bf16 1x2048x12x128 causal", "attention backward bf16 1x2048x12x128 causal",
          // Norms and residuals on an eighth of the positions, the activation on an eighth of its width.
          "norm 256x12288 of 2 B", "norm-backward 256x12288 of 2 B", "add 256x12288 of 2 B", "gelu 2048x6144 of 2 B",
          "gelu-backward 2048x6144 of 2 B",
          // The head: 51200 rows / 8.
          "gemm bf16 tn 2048x6400x12288", "cross-entropy 2048x6400 of 2 B", "embedding 2048x12288 of 2 B"}));
}

TEST(OwnShapes, other_splits_and_short_sequences_together) {
  const std::vector<std::string> names = names_of_shapes("gpt3-175b");
  EXPECT_THAT(names,
      IsSupersetOf({"gemm bf16 tn 2048x49152x12288", "gemm bf16 tn 2048x24576x12288", "gemm bf16 tn 2048x12288x12288",
          "gemm bf16 tn 8192x6144x12288", "attention forward bf16 4x2048x96x128 causal"}));
  OwnShapesRequest longer = shapes_request();
  longer.sequence = 8192;
  const std::vector<std::string> at_8192 = names_of_shapes("llama3-8b", longer);
  EXPECT_THAT(at_8192, Contains(std::string("attention forward bf16 1x8192x32x128 kv 8 causal")));
  for (const std::string& name : at_8192)
    EXPECT_THAT(name, Not(testing::HasSubstr("2x8192x"))) << "one sequence at a time";
}

// Llama 3 8B: hidden 4096, 32 heads on 8 groups of keys, MLP 14336: up and gate are one product of 28672.
TEST(OwnShapes, grouped_queries_and_gated_mlp) {
  OwnShapesRequest request = shapes_request();
  request.sequence = 4096;
  EXPECT_THAT(names_of_shapes("llama3-8b", request),
      IsSupersetOf({"gemm bf16 tn 4096x6144x4096", "gemm bf16 tn 4096x28672x4096", "gemm bf16 nn 4096x14336x4096",
          "gemm bf16 nt 28672x4096x4096", "attention backward bf16 1x4096x4x128 kv 1 causal",
          "attention backward bf16 1x4096x32x128 kv 8 causal", "swiglu 4096x14336 of 2 B",
          "swiglu-backward 4096x14336 of 2 B", "norm 4096x4096 of 2 B",
          // 40 heads of queries and keys are rotated at every position; 5 of them at tp 8.
          "rope 4096x5120 of 2 B", "rope 4096x640 of 2 B"}));
}

// Mixtral 8x7B: 8 experts of 14336, 2 for each of 4096 tokens: 1024 rows each, over 8 ranks of the same batch size
// 8192.
TEST(OwnShapes, experts_are_single_products_of_their_mean_rows) {
  const std::vector<std::string> names = names_of_shapes("mixtral-8x7b");
  // Gate and up are one product of 2 x 14336.
  EXPECT_THAT(names,
      IsSupersetOf({"gemm bf16 tn 1024x28672x4096", "gemm bf16 nn 1024x14336x4096", "gemm bf16 nt 4096x14336x1024",
          "gemm bf16 tn 8192x28672x4096", "swiglu 8192x14336 of 2 B", "gemm tf32 tn 4096x8x4096"}));
  for (const std::string& name : names) EXPECT_THAT(name, Not(testing::HasSubstr(" x8"))) << name;
}

// DeepSeek-V2-Lite: 16 heads of 128 + 64 for queries and keys, keys and values from 512 latent numbers, which one
// product makes together with the 64 of the rotary key.
TEST(OwnShapes, latent_attention) {
  OwnShapesRequest request = shapes_request();
  request.sequence = 4096;
  EXPECT_THAT(names_of_shapes("deepseek-v2-lite", request),
      IsSupersetOf({"gemm bf16 tn 4096x576x2048", "attention forward bf16 1x4096x16x192 causal",
          "attention backward bf16 1x4096x2x192 causal", "norm 4096x512 of 2 B"}));
}

TEST(OwnShapes, attention_that_is_not_fused_is_batches_of_heads) {
  const std::vector<std::string> names = names_of_shapes("gpt3-175b", shapes_request("megatron-2020"));
  EXPECT_THAT(names, IsSupersetOf({"gemm bf16 tn 2048x2048x128 x12", "gemm bf16 nn 2048x128x2048 x12",
                         "softmax 24576x2048 of 2 B", "softmax-backward 24576x2048 of 2 B"}));
  for (const std::string& name : names) EXPECT_THAT(name, Not(testing::StartsWith("attention")));
}

TEST(OwnShapes, narrow_types_are_of_projections_and_tn) {
  OwnShapesRequest request = shapes_request();
  request.precision = Precision::fp8;
  const std::vector<std::string> names = names_of_shapes("llama3-8b", request);
  EXPECT_THAT(names, IsSupersetOf({"gemm fp8 tn 8192x28672x4096", "gemm fp8 tn 28672x4096x8192",
                         "gemm bf16 tn 8192x128256x4096", "attention forward bf16 1x8192x32x128 kv 8 causal"}));
  for (const std::string& name : names) EXPECT_FALSE(name.starts_with("gemm fp8 n")) << name;
}

TEST(OwnShapes, what_weighs_most_comes_first) {
  const std::vector<std::string> names = names_of_shapes("gpt3-175b");
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(names[i].starts_with("gemm")) << names[i];
  EXPECT_TRUE(names[0].find("2048x") != std::string::npos) << names[0];
  const auto place = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  EXPECT_LT(place("gemm bf16 tn 2048x6144x12288"), place("gemm bf16 tn 8192x6144x12288"));
  EXPECT_LT(place("gemm bf16 tn 2048x6144x12288"), place("norm 256x12288 of 2 B"));
}

TEST(OwnShapes, every_network_has_some_and_none_twice) {
  for (const NetworkSpec& network : built_in().networks) {
    const auto shapes = own_shapes(network, shapes_request());
    ASSERT_TRUE(shapes.has_value()) << network.id << ": " << to_text(shapes.error());
    EXPECT_GT(shapes->size(), 30u) << network.id;
    EXPECT_LT(shapes->size(), network.encoders.empty() ? 320u : 480u) << network.id;
    std::set<std::string> names;
    bool attends = false, forward = false, weights = false;
    for (const Query& query : *shapes) {
      EXPECT_TRUE(names.insert(work_name(query)).second) << network.id << " " << work_name(query);
      attends = attends || std::holds_alternative<AttentionQuery>(query);
      const auto whole = [](double size) { return size >= 1 && std::floor(size) == size; };
      if (const auto* g = std::get_if<GemmQuery>(&query)) {
        forward = forward || g->layout == GemmLayout::tn;
        weights = weights || g->layout == GemmLayout::nt;
        EXPECT_TRUE(whole(g->m) && whole(g->n) && whole(g->k) && whole(g->batch))
            << network.id << " " << work_name(query);
      }
      if (const auto* a = std::get_if<AttentionQuery>(&query)) {
        EXPECT_TRUE(whole(a->heads) && whole(a->kv_heads) && whole(a->heads / a->kv_heads))
            << network.id << " " << work_name(query);
      }
      if (const auto* m = std::get_if<MemoryQuery>(&query)) {
        EXPECT_TRUE(whole(m->rows) && whole(m->columns)) << network.id << " " << work_name(query);
      }
    }
    EXPECT_TRUE((attends || !has_attention(network)) && forward && weights) << network.id;
  }
}

TEST(OwnShapes, a_sequence_beyond_learned_positions_is_refused) {
  OwnShapesRequest request = shapes_request();
  request.sequence = 1 << 20;
  const auto shapes = own_shapes(**find_row(built_in().networks, "gpt3-175b", "network"), request);
  ASSERT_FALSE(shapes.has_value());
  EXPECT_EQ(shapes.error().where, "--seq");
  EXPECT_THAT(shapes.error().hint, testing::HasSubstr("2048"));
}

}  // namespace
}  // namespace stepcast::calibration
