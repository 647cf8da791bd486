// SCALE-Sim's three dataflows as loops: which of m, n and k the rows and columns of the array hold, which tensor stays
// there, and the order of folds that gives SCALE-Sim's SRAM counts (reference closed forms: SCALE-Sim v3, 1d62b68).
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace stepcast::dataflow {

/// O[m,n] += I[m,k] * W[k,n], and SCALE-Sim's names of the tensors.
inline constexpr std::array<const char*, 3> scalesim_loops{"m", "n", "k"};

struct ScalesimDataflow {
  std::string_view name;
  int rows, cols;            ///< loops that rows and columns hold
  const char* stays;         ///< ifmap, filter or ofmap
  std::array<int, 3> order;  ///< folds and streamed loop at the SRAM, outer to inner
};
inline constexpr std::array scalesim_dataflows{ScalesimDataflow{"ws", 2, 1, "filter", {1, 2, 0}},
    ScalesimDataflow{"os", 0, 1, "ofmap", {0, 1, 2}}, ScalesimDataflow{"is", 2, 0, "ifmap", {0, 2, 1}}};

inline const ScalesimDataflow* scalesim_dataflow(std::string_view name) {
  for (const ScalesimDataflow& row : scalesim_dataflows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace stepcast::dataflow
