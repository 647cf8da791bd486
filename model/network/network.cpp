#include "model/network/network.h"

#include <cstring>

#include <fmt/format.h>

namespace stepcast {

int Network::find_dim(std::string_view name) const {
  // Most names differ in their length or their first letter.
  const char first = name.empty() ? '\0' : name.front();
  for (const Dim& dim : dims) {
    const char* own = dim.name.c_str();
    if (*own == first && dim.name.size() == name.size() && std::memcmp(own, name.data(), name.size()) == 0)
      return static_cast<int>(&dim - dims.data());
  }
  return -1;
}

int Network::find_tensor(std::string_view name) const {
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name) return static_cast<int>(i);
  return -1;
}

double Network::elements(int tensor) const {
  double n = 1;
  for (int d : tensors[tensor].dims) n *= static_cast<double>(dims[d].extent);
  return n;
}

namespace {

Expected<void> check_block(const Network& net, const Block& block) {
  const auto where = [&](const Operator& op) {
    return fmt::format("{}: block {}, operator {}", net.id, block.name, op.name);
  };
  std::vector<std::vector<int>> producers(net.tensors.size());
  for (std::size_t o = 0; o < block.operators.size(); ++o)
    producers[block.operators[o].output.tensor].push_back(static_cast<int>(o));
  for (std::size_t o = 0; o < block.operators.size(); ++o) {
    const Operator& op = block.operators[o];
    for (const Access& input : op.inputs) {
      const Tensor& tensor = net.tensors[input.tensor];
      if (input.loops.size() != tensor.dims.size())
        return fail(where(op),
            fmt::format(
                "reads {} with {} loops, but it has {} dims", tensor.name, input.loops.size(), tensor.dims.size()),
            "name one loop per tensor dim");
      for (std::size_t i = 0; i < input.loops.size(); ++i)
        if (net.dims[input.loops[i]].extent != net.dims[tensor.dims[i]].extent)
          return fail(where(op),
              fmt::format("walks dim {} of {} ({}) with loop {} ({})", net.dims[tensor.dims[i]].name, tensor.name,
                  net.dims[tensor.dims[i]].extent, net.dims[input.loops[i]].name, net.dims[input.loops[i]].extent),
              "a loop has the extent of the dim it walks");
    }
  }
  // The list itself must be a topological order: readers stand after all writers, so that there is no cycle.
  for (std::size_t o = 0; o < block.operators.size(); ++o)
    for (const Access& input : block.operators[o].inputs)
      for (int producer : producers[input.tensor])
        if (static_cast<std::size_t>(producer) >= o)
          return fail(where(block.operators[o]),
              fmt::format("reads {} before it is made", net.tensors[input.tensor].name),
              "write operators in the order of the data");
  return {};
}

}  // namespace

Expected<void> check_graph(const Network& network) {
  for (const Block& block : network.blocks) TRY(check_block(network, block));
  return {};
}

}  // namespace stepcast
