#include "sim/serving/own_widths.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepcast::sim {

using dataflow::BlockRun, dataflow::Chunk, dataflow::OwnWeights, dataflow::Program, dataflow::ProgramBlock;

std::vector<int> blocks_in_order(const Program& program) {
  std::vector<int> order;
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      if (std::ranges::find(order, run.block) == order.end()) order.push_back(run.block);
  return order;
}

double wide_share(const OwnWeights& weights, const OwnWidths& widths, std::int64_t layer) {
  if (weights.wide) return std::ranges::find(widths.narrow, weights.op) == widths.narrow.end() ? 1 : 0;
  if (std::ranges::any_of(
          widths.wide, [&](const OwnWidths::Weights& one) { return one.op == weights.op && one.has(layer); }))
    return 1;
  const auto some = std::ranges::find(widths.partly, weights.op, &OwnWidths::Shares::op);
  const bool told = some != widths.partly.end() && layer >= 0 && layer < static_cast<std::int64_t>(some->of.size());
  return told ? some->of[static_cast<std::size_t>(layer)] : 0;
}

std::set<std::string> turned_kernels(const ProgramBlock& block, const OwnWidths& widths, std::int64_t layer) {
  std::map<std::string, double> shares;
  for (const OwnWeights& weights : block.weights)
    shares[weights.kernel] += weights.elements * (2 * std::abs(wide_share(weights, widths, layer) - weights.wide) - 1);
  std::set<std::string> kernels;
  for (const auto& [kernel, share] : shares)
    if (share > 0) kernels.insert(kernel);
  return kernels;
}

}  // namespace stepcast::sim
