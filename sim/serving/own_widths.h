// Weights of a network that are not as narrow as the others: a checkpoint leaves some layers or some products wide, and
// may have a head that is narrow.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dataflow/program.h"

namespace stepcast::sim {

struct OwnWidths {
  struct Weights {
    std::string op;        ///< of OwnWeights
    std::vector<char> of;  ///< by layer, in forward order; empty: all
    [[nodiscard]] bool has(std::int64_t layer) const {
      return of.empty() || (layer >= 0 && layer < static_cast<std::int64_t>(of.size()) && of[layer] != 0);
    }
  };
  struct Shares {
    std::string op;          ///< of OwnWeights
    std::vector<double> of;  ///< by layer, in forward order
  };
  std::vector<Weights> wide;
  std::vector<Shares> partly;       ///< of experts, of which some are wide
  std::vector<std::string> narrow;  ///< operators of what would be wide by itself

  [[nodiscard]] bool any() const { return !wide.empty() || !partly.empty() || !narrow.empty(); }
};

/// How much of the weights is wide, from 0 to 1. `layer`: of the network; -1: of what stands outside of layers.
double wide_share(const dataflow::OwnWeights& weights, const OwnWidths& widths, std::int64_t layer);
/// Kernels that are not as wide as they would be by themselves, as most of their weights are.
std::set<std::string> turned_kernels(const dataflow::ProgramBlock& block, const OwnWidths& widths, std::int64_t layer);

/// Blocks of a Program in the order of their first run.
std::vector<int> blocks_in_order(const dataflow::Program& program);

}  // namespace stepcast::sim
