// What the builder makes of a spec: a graph that runs, with the software's form of attention, experts and adapters.
#include <algorithm>

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/network/network.h"

namespace stepcast {
namespace {

const NetworkSpec& network_named(const char* id) { return **find_row(built_in().networks, id, "network"); }

int operators_tagged(const Network& net, const char* tag) {
  int n = 0;
  for (const Block& block : net.blocks)
    n += static_cast<int>(std::count_if(
        block.operators.begin(), block.operators.end(), [&](const Operator& op) { return has_tag(op, tag); }));
  return n;
}

TEST(Transformer, EveryCatalogueNetworkIsAGraphInOrder) {
  for (const NetworkSpec& spec : built_in().networks)
    for (const AttentionForm form : {AttentionForm::fused, AttentionForm::unfused}) {
      const auto checked = check_graph(build_network(spec, {2, 128, 2, 2}, form));
      EXPECT_TRUE(checked) << spec.id << ": " << to_text(checked.error());
    }
}

TEST(Transformer, GraphCheckFindsAReaderBeforeItsWriter) {
  Network net = build_network(network_named("llama3-8b"), {1, 64, 2, 2}, AttentionForm::fused);
  std::swap(net.blocks[1].operators[0], net.blocks[1].operators[1]);
  const auto checked = check_graph(net);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("before it is made"), std::string::npos);
}

TEST(Transformer, UnfusedAttentionHasSeparateProducts) {
  const NetworkSpec& spec = network_named("gpt3-175b");
  EXPECT_EQ(operators_tagged(build_network(spec, {1, 64, 2, 2}, AttentionForm::fused), "attn.core"), 1);
  // scores, softmax, dropout, context
  EXPECT_EQ(operators_tagged(build_network(spec, {1, 64, 2, 2}, AttentionForm::unfused), "attn.core"), 4);
}

TEST(Transformer, RowsPerExpertAreTokensTimesChoicesOverExperts) {
  const NetworkSpec& spec = network_named("mixtral-8x7b");
  const Network net = build_network(spec, {2, 128, 2, 2}, AttentionForm::fused);
  const Dim& rows = net.dims[net.find_dim("c")];
  EXPECT_EQ(rows.extent, 2 * 128 * 2 / 8);  // b s k / e
  EXPECT_TRUE(rows.expected);
}

TEST(Transformer, AdaptersFreezeTheNetworkAndAddTwoSmallProductsPerProjection) {
  const NetworkSpec& spec = network_named("llama3-8b");
  BatchShape batch{1, 64, 2, 2};
  batch.lora_rank = 16;
  const Network net = build_network(spec, batch, AttentionForm::fused);
  double trained = 0;
  for (const Tensor& tensor : net.tensors)
    if (tensor.role == TensorRole::weight && !tensor.frozen) trained += net.elements(net.find_tensor(tensor.name));
  // Per layer, rank x (in + out): q 4096+4096, k and v 4096+1024 each, out 4096+4096, gate and up 4096+14336, down
  // 14336+4096.
  EXPECT_EQ(trained, 16.0 * (8192 + 2 * 5120 + 8192 + 3 * 18432));
}

}  // namespace
}  // namespace stepcast
