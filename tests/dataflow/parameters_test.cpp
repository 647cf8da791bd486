// The closed formulas of parameter_count against the weights that the operators read, for every built-in network.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/catalog.h"
#include "model/network/network.h"

namespace stepcast::dataflow {
namespace {

/// Each weight once, times the repeat of its block; weights of several blocks (tied tables, a prediction module's head)
/// once.
std::int64_t built_parameters(const NetworkSpec& spec) {
  // A learned position table has its own number of rows: built for a sequence of that length, P is the table.
  const std::int64_t positions = spec.positions == Positions::learned ? spec.max_positions : spec.sequence;
  const Network net = build_network(spec, {.sequences = 1, .positions = positions}, AttentionForm::fused);
  std::map<int, int> blocks;  // that read the weight
  for (const Block& block : net.blocks) {
    std::set<int> own;
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs) own.insert(input.tensor);
    for (int tensor : own) ++blocks[tensor];
  }
  std::set<int> counted;
  std::int64_t total = 0;
  for (const Block& block : net.blocks) {
    std::set<int> own;
    for (const Operator& op : block.operators)
      for (const Access& input : op.inputs)
        if (net.tensors[input.tensor].role == TensorRole::weight) own.insert(input.tensor);
    for (int tensor : own)
      if (counted.insert(tensor).second)
        total += static_cast<std::int64_t>(net.elements(tensor)) *
                 (blocks[tensor] > 1 || net.tensors[tensor].shared ? 1 : block.repeat);
  }
  return total;
}

TEST(Parameters, OperatorsHoldWhatTheFormulasCount) {
  for (NetworkSpec spec : built_in().networks) {
    for (NetworkSpec& encoder : spec.encoders)
      if (!encoder.projectors.empty()) encoder.images = 1, encoder.sequence = 4096;
    EXPECT_EQ(built_parameters(spec), parameter_count(spec)) << spec.id;
  }
}

/// Every field that adds weights, alone and together, on a layer of round numbers.
TEST(Parameters, EachFieldAddsItsWeights) {
  NetworkSpec base;
  base.id = "small";
  base.layers = 4;
  base.hidden = 64;
  base.ffn_hidden = 256;
  base.heads = 8;
  base.kv_heads = 2;
  base.head_dim = 8;
  base.vocab = 1000;
  base.sequence = 128;
  // 2*1000*64 + 64 + 4 layers of (64*(64 + 32) + 64*64 + 3*64*256 + 2*64).
  EXPECT_EQ(built_parameters(base), 128'064 + 4 * (6'144 + 4'096 + 49'152 + 128));
  std::vector<NetworkSpec> specs(13, base);
  specs[0].linear_bias = true;
  specs[1].qkv_bias = true;
  specs[2].out_bias = true;
  specs[3].qk_norm = true;
  specs[4].norm = Norm::layernorm;
  specs[5].activation = Activation::gelu;
  specs[6].parallel_block = true;
  specs[6].norms_per_layer = 1;
  specs[7].embedding_norm = specs[7].tied_embeddings = true;
  specs[8].experts = {
      .count = 8, .top_k = 2, .ffn_hidden = 32, .shared_ffn_hidden = 64, .shared_gate = true, .router_bias = true};
  specs[9].experts = {.count = 8, .top_k = 2, .ffn_hidden = 32, .expert_bias = true, .dense_layers = 2, .every = 2};
  specs[10].latent = {.q_rank = 24, .kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .value_dim = 8};
  specs[10].kv_heads = 8;
  specs[11] = specs[10];
  specs[11].latent.q_rank = 0;
  specs[11].experts = specs[8].experts;
  specs[11].mtp_layers = 1;
  specs[12] = specs[6];  // experts beside attention, and an MLP in the first layer
  specs[12].experts = {.count = 8, .top_k = 2, .ffn_hidden = 32, .shared_ffn_hidden = 64, .dense_layers = 1};
  for (std::size_t i = 0; i < specs.size(); ++i)
    EXPECT_EQ(built_parameters(specs[i]), parameter_count(specs[i])) << "spec " << i;
}

}  // namespace
}  // namespace stepcast::dataflow
