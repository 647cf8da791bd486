#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/network/network.h"

namespace stepcast {
namespace {

/// 10 layers, 4 heads of 8, hidden 32, MLP 64, 100 words.
NetworkSpec plain_network() {
  NetworkSpec n;
  n.layers = 10, n.hidden = 32, n.ffn_hidden = 64, n.heads = n.kv_heads = 4, n.head_dim = 8, n.vocab = 100,
  n.sequence = 16;
  n.activation = Activation::gelu;
  n.tied_embeddings = true;
  return n;
}

TEST(ParameterCount, OfAPlainLayerByHand) {
  NetworkSpec n = plain_network();
  // A layer: 4 x 32 x 32 attention, 2 x 32 x 64 MLP, 2 x 32 norms = 8256; around them: table 3200, last norm 32.
  EXPECT_EQ(parameter_count(n), 10 * 8256 + 3232);
  n.tied_embeddings = false;
  EXPECT_EQ(parameter_count(n), 10 * 8256 + 3232 + 3200);
  n.qk_norm = true;
  EXPECT_EQ(parameter_count(n), 10 * (8256 + 16) + 3232 + 3200);
}

TEST(ParameterCount, OfBiasesByHand) {
  NetworkSpec n = plain_network();
  const std::int64_t bare = parameter_count(n);
  n.qkv_bias = true;
  EXPECT_EQ(parameter_count(n) - bare, 10 * 96) << "three of 32";
  n.out_bias = true;
  EXPECT_EQ(parameter_count(n) - bare, 10 * 128);
  n.linear_bias = true;
  EXPECT_EQ(parameter_count(n) - bare, 10 * (128 + 64 + 32)) << "the MLP's two";
}

TEST(ParameterCount, OfExpertsByHand) {
  NetworkSpec n = plain_network();
  const std::int64_t dense = parameter_count(n);
  n.experts.count = 8, n.experts.top_k = 2, n.experts.ffn_hidden = 16, n.experts.dense_layers = 2;
  // A routed layer: 8 x 2 x 32 x 16 and a router of 32 x 8 instead of 2 x 32 x 64.
  EXPECT_EQ(parameter_count(n) - dense, 8 * (8192 + 256 - 4096));
  n.experts.every = 2;
  EXPECT_EQ(parameter_count(n) - dense, 4 * (8192 + 256 - 4096));
  n.experts.shared_ffn_hidden = 16, n.experts.shared_gate = true, n.experts.router_bias = true;
  EXPECT_EQ(parameter_count(n) - dense, 4 * (8192 + 256 - 4096 + 1024 + 32 + 8));
}

TEST(ParameterCount, OfLatentAttentionAndAPredictionModuleByHand) {
  NetworkSpec n = plain_network();
  const std::int64_t plain = parameter_count(n);
  n.latent = {.q_rank = 16, .kv_rank = 8, .nope_dim = 4, .rope_dim = 2, .value_dim = 4};
  // Queries 32x16 + 16 + 16x24; keys and values 32x10 + 8 + 8x32; out 16x32: 2008 for the 4096 of plain attention.
  EXPECT_EQ(plain - parameter_count(n), 10 * (4096 - 2008));
  const std::int64_t without = parameter_count(n);
  n.mtp_layers = 1;
  // Three norms of 32, a joint projection of 64 x 32, and a layer: 2008 + 4096 + 64.
  EXPECT_EQ(parameter_count(n) - without, 96 + 2048 + 6168);
}

TEST(ModelFlops, FollowNarayanan2021Equation3) {
  // 72 B s l h^2 (1 + s/(6h) + V/(12 l h)) without recompute (arXiv 2104.04473, eq. 3 has 96 with it and V/(16 l h)).
  const NetworkSpec& n = **find_row(built_in().networks, "gpt3-175b", "network");
  const double s = 2048, l = 96, h = 12288, v = 51200;
  EXPECT_NEAR(model_flops(n, s, 2048, false) / (72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))), 1, 1e-12);
}

TEST(ModelFlops, OfATokenAreSixPerMatrixWeightItMeets) {
  NetworkSpec n = plain_network();
  n.layers = 1;
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 0, true), 6.0 * (4096 + 4096 + 3200));
  n.experts.count = 8, n.experts.top_k = 2, n.experts.ffn_hidden = 16;
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 0, true), 6.0 * (4096 + 2 * 1024 + 256 + 3200)) << "two experts and the router";
  n.mtp_layers = 1;
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 0, true), 6.0 * (2 * 6400 + 2 * 3200 + 2048))
      << "its layer, head, joint projection";
}

TEST(ModelFlops, CausalHalvesTheCoreAlone) {
  NetworkSpec n = plain_network();
  // 4 x 16 keys x 32 per token and layer forward, three passes.
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 16, false) - model_flops(n, 1, 0, false), 3.0 * 10 * 4 * 16 * 32);
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 16, true) - model_flops(n, 1, 0, true), 3.0 * 10 * 2 * 16 * 32);
  n.latent = {.q_rank = 16, .kv_rank = 8, .nope_dim = 4, .rope_dim = 2, .value_dim = 4};
  EXPECT_DOUBLE_EQ(model_flops(n, 1, 16, false) - model_flops(n, 1, 0, false), 3.0 * 10 * 2 * 16 * 4 * (6 + 4));
}

/// One step of a measured run, its FLOPs counted apart from this program over the geometry that the source states.
struct CountedRun {
  const char* network;
  double tokens;
  std::int64_t sequence;
  double full, causal;
  const char* source;
};

constexpr CountedRun counted_runs[] = {
    {"gpt3-175b", 4194304, 2048, 4.51493e18, 4.45413e18, "mlcommons/training_results_v4.1, NVIDIA eos_n64 gpt3"},
    {"llama3-70b", 16777216, 8192, 8.07714e18, 7.5367e18, "NVIDIA/dgxc-benchmarking 24.11, llama3.1/README_70b.md"},
    {"llama3-405b", 2097152, 8192, 5.50591e18, 5.29312e18, "NVIDIA/dgxc-benchmarking 25.04, llama3.1/README.md"},
    {"llama2-7b", 1048576, 4096, 4.83235e16, 4.49458e16, "foundation-model-stack/fms-fsdp, README.md"},
    {"nemotron4-15b", 2097152, 4096, 1.9712e17, 1.86987e17, "NVIDIA/dgxc-benchmarking 24.11, nemotron/README_15b.md"},
    {"nemotron4-340b", 131072, 4096, 2.7588e17, 2.7018e17, "NVIDIA/dgxc-benchmarking 24.11, nemotron/README_340b.md"},
    {"megatron-39b", 3145728, 2048, 7.67899e17, 7.52699e17, "VIA-Research/vTrain, data/ground_truth_multi.csv"},
    {"mpt-30b", 1572864, 2048, 2.96e17, 2.89351e17, "mosaicml/llm-foundry, scripts/train/benchmarking/README.md"},
    {"bloom-176b", 4194304, 2048, 4.53852e18, 4.4868e18, "bigscience-workshop/bigscience, train/tr11-176B-ml"},
    {"qwen3-30b-a3b", 2097152, 4096, 5.85391e16, 4.8406e16,
        "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md"},
    {"qwen3-235b-a22b", 4194304, 4096, 7.01519e17, 6.22143e17,
        "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md"},
    {"deepseek-v3", 62914560, 4096, 1.83614e19, 1.63982e19, "NVIDIA-NeMo/Megatron-Bridge, pull request 4330"},
    {"kimi-k2", 16777216, 4096, 3.70472e18, 3.44717e18,
        "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md"},
    {"gpt-oss-120b", 10485760, 8192, 4.00006e17, 3.61998e17,
        "NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md"},
    {"llama4-maverick", 33554432, 8192, 4.06201e18, 3.65669e18, "NVIDIA/dgxc-benchmarking 25.05, llama4/README.md"},
    {"grok-1", 8388608, 8192, 4.53979e18, 4.37766e18, "NVIDIA/dgxc-benchmarking 24.11, grok1/README_314b.md"},
};

TEST(ModelFlops, OfMeasuredRunsAgreeWithASecondCount) {
  for (const CountedRun& run : counted_runs) {
    const auto network = find_row(built_in().networks, run.network, "network");
    ASSERT_TRUE(network) << run.network;
    EXPECT_NEAR(model_flops(**network, run.tokens, run.sequence, false) / run.full, 1, 1e-5)
        << run.network << ": " << run.source;
    EXPECT_NEAR(model_flops(**network, run.tokens, run.sequence, true) / run.causal, 1, 1e-5)
        << run.network << ": " << run.source;
  }
}

TEST(Windows, MeanKeysAreThoseOfEachQueryCounted) {
  for (const std::int64_t positions : {1, 7, 64, 100})
    for (const std::int64_t reach : {1, 3, 8, 64, 99, 100, 1000}) {
      double window = 0, chunk = 0;
      for (std::int64_t query = 0; query < positions; ++query)
        for (std::int64_t key = 0; key <= query; ++key) {
          window += query - reach < key ? 1 : 0;
          chunk += query / reach == key / reach ? 1 : 0;
        }
      const auto all = static_cast<double>(positions);
      EXPECT_NEAR(mean_keys(Domain::window, reach, positions), window / all, 1e-9) << positions << " " << reach;
      EXPECT_NEAR(mean_keys(Domain::chunk, reach, positions), chunk / all, 1e-9) << positions << " " << reach;
      EXPECT_EQ(mean_keys(Domain::causal, 0, positions), (all + 1) / 2);
    }
}

/// gpt-oss 120B: 64 heads of 64 see 128 positions in 18 of 36 layers. An audit found that counting them in full
/// overstates model FLOPs by about 4.9 % at 4k, 31 % at 32k and 64 % at 131k.
TEST(Windows, ModelFlopsOfGptOssAreThoseOfItsWindows) {
  const NetworkSpec& spec = **find_row(built_in().networks, "gpt-oss-120b", "network");
  NetworkSpec full = spec;
  full.window = {};
  for (const auto& [sequence, audited] : {std::pair{128, 0.0}, {4096, 0.049}, {32'768, 0.31}, {131'072, 0.64}}) {
    const double whole = model_flops(full, 1, sequence, true), windowed = model_flops(spec, 1, sequence, true);
    EXPECT_NEAR(whole / windowed - 1, audited, 0.07 * audited) << sequence;
    const double seen = 128 - 128 * 127 / (2.0 * sequence), unseen = sequence == 128 ? 0 : sequence / 2.0 - seen;
    EXPECT_NEAR(whole - windowed, 3 * 18 * 2 * 64 * (64 + 64) * unseen, 1e-6 * whole) << sequence;
  }
}

TEST(Windows, KindsOfLayersFollowThePattern) {
  NetworkSpec spec = **find_row(built_in().networks, "llama4-maverick", "network");
  const LayerKinds all = layer_kinds(spec, 32'768);  // experts in every second layer, full attention in every fourth
  ASSERT_EQ(all.kinds.size(), 3U);
  EXPECT_EQ(all.kinds[0], (LayerKind{Feed::mlp, true}));
  EXPECT_EQ(all.kinds[1], (LayerKind{Feed::experts, false}));
  EXPECT_EQ(all.kinds[2], (LayerKind{Feed::experts, true}));
  EXPECT_EQ(all.count(0), spec.layers / 2);
  EXPECT_EQ(all.count(1), spec.layers / 4);
  EXPECT_EQ(all.of_layer[2], 0);
  EXPECT_EQ(all.of_layer[3], 1);
  EXPECT_EQ(layer_kinds(spec, 8192).kinds.size(), 2U) << "a chunk as long as the sequence";
}

TEST(Windows, AFileSaysWhichLayersHaveThem) {
  const NetworkSpec spec = **find_row(built_in().networks, "gpt-oss-20b", "network");
  const auto again = read_network(write_network(spec), "n.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->window.pattern, "wf");
  for (const char* wrong : {"", "ffff", "sf", "wffffffffffffffffffffffffffffffffffff"}) {
    NetworkSpec other = spec;
    other.window.pattern = wrong;
    const auto read = read_network(write_network(other), "n.json");
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().where, "n.json:/window/pattern") << wrong;
    EXPECT_FALSE(read.error().hint.empty());
  }
}

}  // namespace
}  // namespace stepcast
