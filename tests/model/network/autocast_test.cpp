// What torch.autocast makes of a network: which numbers are wide, and where casts stand.
#include "model/network/autocast.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

Network network_of(const char* id, bool casts) {
  BatchShape batch{1, 128, 2, 4};
  batch.autocast = casts;
  return build_network(**find_row(built_in().networks, id, "network"), batch, AttentionForm::fused);
}

double width(const Network& net, const char* tensor) { return net.tensors[net.find_tensor(tensor)].bytes_per_element; }

TEST(Autocast, ProductsReadAndGiveNarrowNumbers) {
  const Network net = network_of("llama3-8b", true);
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators) {
      if (op.kind != OperatorKind::einsum && op.kind != OperatorKind::attention) continue;
      for (const Access& input : op.inputs) EXPECT_EQ(net.tensors[input.tensor].bytes_per_element, 2) << op.name;
      EXPECT_EQ(net.tensors[op.output.tensor].bytes_per_element, 2) << op.name;
    }
  EXPECT_TRUE(check_graph(net));
}

TEST(Autocast, TheStreamAndTheNormsAreWide) {
  const Network net = network_of("llama3-8b", true);
  for (const Block& block : net.blocks) {
    if (block.place == Block::Place::last) continue;
    EXPECT_EQ(net.tensors[block.output].bytes_per_element, 4) << block.name;
    for (const Operator& op : block.operators)
      if (op.function == "rmsnorm") {
        EXPECT_EQ(net.tensors[op.output.tensor].bytes_per_element, 4) << op.name;
      }
  }
}

/// Seven products of a layer read a cast of their weight each, and five of them one of what a norm gave: Q, K, V, gate
/// and up. The head has both.
TEST(Autocast, EveryProductHasCastsOfItsOwn) {
  const Network net = network_of("llama3-8b", true);
  std::map<std::string, int> weights, values;
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      if (op.function == "cast" && net.tensors[op.output.tensor].bytes_per_element == 2)
        ++(net.tensors[op.inputs[0].tensor].role == TensorRole::weight ? weights : values)[block.name];
  EXPECT_EQ(weights, (std::map<std::string, int>{{"layer", 7}, {"head", 1}}));
  EXPECT_EQ(values, (std::map<std::string, int>{{"layer", 5}, {"head", 1}}));
}

/// Kernels of operators in a row but casts, each run once.
std::vector<std::string> kernels_of(const Network& net) {
  std::vector<std::string> kernels;
  for (const Block& block : net.blocks)
    for (const Operator& op : block.operators)
      if (op.function != "cast" && !op.kernel.empty() && (kernels.empty() || kernels.back() != op.kernel))
        kernels.push_back(op.kernel);
  return kernels;
}

TEST(Autocast, OperatorsOfOneKernelStayNeighbours) {
  for (const char* id : {"llama3-8b", "gpt3-175b", "mixtral-8x7b", "qwen3-8b", "deepseek-v3"})
    EXPECT_EQ(kernels_of(network_of(id, true)), kernels_of(network_of(id, false))) << id;
}

TEST(Autocast, AllCatalogueNetworksAreGraphs) {
  for (const NetworkSpec& spec : built_in().networks) {
    BatchShape batch{2, 128, 2, 4};
    batch.autocast = true;
    const auto checked = check_graph(build_network(spec, batch, AttentionForm::fused));
    EXPECT_TRUE(checked) << spec.id << ": " << to_text(checked.error());
  }
}

}  // namespace
}  // namespace stepcast
