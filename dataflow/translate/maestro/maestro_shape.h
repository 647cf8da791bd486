// Which of MAESTRO's layers a resolved operator is, and what its loops are called there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

struct MaestroShape {
  std::string type;               ///< CONV, DSCONV or GEMM
  std::vector<std::string> loop;  ///< by chip dim: "K", or "Y_out" for a loop over results
  std::int64_t stride_y = 1, stride_x = 1;
  [[nodiscard]] int find(const std::string& name) const;  ///< chip dim, or -1
};

/// nullopt: neither a matrix product nor a convolution over two windows without dilation.
std::optional<MaestroShape> maestro_shape(const ChipProgram& chip);

}  // namespace stepcast::dataflow
