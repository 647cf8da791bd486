#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

bool gated(const NetworkSpec& n) { return n.activation == Activation::swiglu || n.activation == Activation::geglu; }

// The weights by hand, matrix by matrix, apart from the formulas and the operators of the program.
std::int64_t attention_by_hand(const NetworkSpec& n) {
  const std::int64_t h = n.hidden, heads = n.heads, q = heads * n.head_dim, kv = n.kv_heads * n.head_dim;
  if (const LatentAttention& a = n.latent; a.kv_rank > 0) {
    std::int64_t weights = h * (a.kv_rank + a.rope_dim) + a.kv_rank;              // down, its norm
    weights += a.kv_rank * heads * a.nope_dim + a.kv_rank * heads * a.value_dim;  // keys, values
    weights += a.q_rank > 0 ? h * a.q_rank + a.q_rank + a.q_rank * q : h * q;     // queries
    return weights + heads * a.value_dim * h;                                     // out
  }
  std::int64_t weights = h * q + h * kv + h * kv + q * h;
  if (n.linear_bias || n.qkv_bias) weights += q + kv + kv;
  if (n.linear_bias || n.out_bias) weights += h;
  if (n.attention_gate) weights += h * q;
  if (n.attention_sinks) weights += n.heads;
  return weights + (!n.qk_norm ? 0 : n.qk_norm_width ? q + kv : n.head_dim + n.head_dim);
}

std::int64_t experts_by_hand(const NetworkSpec& n) {
  const Experts& e = n.experts;
  std::int64_t expert = (gated(n) ? 3 : 2) * n.hidden * e.ffn_hidden;
  if (e.expert_bias) expert += (gated(n) ? 2 : 1) * e.ffn_hidden + n.hidden;
  const std::int64_t shared = (gated(n) ? 3 : 2) * n.hidden * e.shared_ffn_hidden + (e.shared_gate ? n.hidden : 0);
  return e.count * (expert + n.hidden + (e.router_bias ? 1 : 0)) + shared;
}

std::int64_t parameters_by_hand(const NetworkSpec& n) {
  const std::int64_t norm = n.norm == Norm::layernorm ? 2 * n.hidden : n.hidden;
  const std::int64_t plain =
      (gated(n) ? 3 : 2) * n.hidden * n.ffn_hidden + (n.linear_bias || n.mlp_bias ? n.ffn_hidden + n.hidden : 0);
  std::int64_t total = n.vocab * n.hidden * (n.tied_embeddings ? 1 : 2) + n.max_positions * n.hidden + norm;
  if (n.embedding_norm) total += norm;
  const std::int64_t norms = n.norms_per_layer * (n.norm_place == NormPlace::both ? 2 : 1);
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    const std::int64_t behind = layer - n.experts.dense_layers;
    const bool routed = n.experts.count > 0 && behind >= 0 && (behind + 1) % n.experts.every == 0;
    total += attention_by_hand(n) + (routed ? experts_by_hand(n) : plain) + norms * norm;
    if (n.activation_parameters > 0) total += n.activation_parameters;
  }
  for (std::int64_t module = 0; module < n.mtp_layers; ++module)
    total += attention_by_hand(n) + (n.experts.count > 0 ? experts_by_hand(n) : plain) + 2 * norm + 3 * norm +
             2 * n.hidden * n.hidden;
  return total + (n.head_bias ? n.vocab : 0);
}

TEST(CatalogNetworks, HaveThePublishedParameterCount) {
  for (const NetworkSpec& n : built_in().networks) {
    // Layers that are more than attention and an MLP are counted by hand in mixer_test.cpp and
    // published_counts_test.cpp.
    const bool more = n.mixer || n.sparse.top_k > 0 || n.experts.latent > 0 || !n.shapes.empty() || n.masked_loss ||
                      n.compressed.q_rank > 0 || !n.encoders.empty() || n.features > 0;
    const std::int64_t counted = more ? parameter_count(n) : parameters_by_hand(n);
    const std::string& printed = n.published_parameters_billion;
    EXPECT_EQ(parameter_count(n), counted) << n.id;
    EXPECT_TRUE(n.published_parameters > 0 || !printed.empty() ||
                n.source.find("parameters with") != std::string::npos ||
                n.source.find("config.json") != std::string::npos)
        << n.id;
    if (n.published_parameters > 0) {
      EXPECT_EQ(counted, n.published_parameters) << n.id;
    }
    if (!printed.empty()) {
      const auto point = printed.find('.');
      const double decimals = point == std::string::npos ? 0 : static_cast<double>(printed.size() - point - 1);
      EXPECT_NEAR(static_cast<double>(counted) / 1e9, std::stod(printed), 0.5 * std::pow(10, -decimals)) << n.id;
    }
  }
}

TEST(CatalogNetworks, OperatorsHoldTheSameWeights) {
  for (NetworkSpec n : built_in().networks) {
    for (NetworkSpec& encoder : n.encoders)
      if (!encoder.projectors.empty()) encoder.images = 1, encoder.sequence = 4096;
    const Network network = build_network(n, {.sequences = 1, .positions = 1}, AttentionForm::fused);
    std::vector<std::int64_t> uses(network.tensors.size(), 0);
    for (const Block& block : network.blocks)
      for (const Operator& op : block.operators)
        for (const Access& input : op.inputs) uses[input.tensor] = std::max(uses[input.tensor], block.repeat);
    // Prediction modules read the one table of embeddings, and the one of the head.
    for (std::size_t t = 0; t < uses.size(); ++t)
      if (network.tensors[t].name == "E" || network.tensors[t].name == "H" || network.tensors[t].shared) uses[t] = 1;
    double total = 0;
    for (std::size_t t = 0; t < network.tensors.size(); ++t)
      if (network.tensors[t].role == TensorRole::weight) {
        const bool table = network.tensors[t].name == "P" && network.dims[network.tensors[t].dims.front()].name == "s";
        const double rows = table ? static_cast<double>(n.max_positions) : 1;
        total += static_cast<double>(uses[t]) * network.elements(static_cast<int>(t)) * rows;
      }
    EXPECT_EQ(total, static_cast<double>(parameter_count(n))) << n.id;
  }
}

TEST(CatalogNetworks, CoverTheFamiliesInUse) {
  std::set<std::string> ids;
  for (const NetworkSpec& n : built_in().networks) ids.insert(n.id);
  EXPECT_GE(ids.size(), 30u);
  for (const char* id : {"gpt2-1.5b", "gpt3-175b", "megatron-530b", "bloom-176b", "opt-30b", "mpt-30b", "gpt-neox-20b",
           "llama2-70b", "llama3-405b", "llama3.2-1b", "llama4-scout", "llama4-maverick", "mistral-7b", "mixtral-8x7b",
           "qwen2.5-72b", "qwen3-32b", "qwen3-235b-a22b", "deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "kimi-k2",
           "gpt-oss-120b", "grok-1", "nemotron4-15b", "nemotron4-340b", "gemma-7b", "phi-3-mini"})
    EXPECT_TRUE(ids.contains(id)) << id;
}

TEST(CatalogNetworks, AnswerToTheirHuggingFaceNames) {
  for (const auto& [name, id] :
      {std::pair{"deepseek-ai/DeepSeek-V3", "deepseek-v3"}, {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"},
          {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b"}, {"openai/gpt-oss-20b", "gpt-oss-20b"},
          {"meta-llama/Llama-3.2-1B", "llama3.2-1b"}, {"llama-3.2-1b", "llama3.2-1b"},
          {"HuggingFaceTB/SmolLM2-360M", "smollm2-360m"}, {"bigcode/starcoder2-7b", "starcoder2-7b"},
          {"Qwen/Qwen2.5-Coder-7B-Instruct", "qwen2.5-7b"}, {"google/gemma-3-12b-it", "gemma3-12b"},
          {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama3-8b"}, {"microsoft/phi-4", "phi-4"},
          {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"}}) {
    const auto row = find_row(built_in().networks, name, "network");
    ASSERT_TRUE(row) << name;
    EXPECT_EQ((*row)->id, id);
  }
}

}  // namespace
}  // namespace stepcast
