// Functions of single elements and their derivatives. Any smooth function with the operands' roles of the real one will
// do: rmsnorm's constants are left out, and what mixes residual streams sums over all coefficients.
#pragma once

#include <span>
#include <string_view>

namespace stepcast::dataflow::operators {

struct Pointwise {
  using Operands = std::span<const double>;

  std::string_view name;
  double (*value)(Operands x);
  double (*derivative)(Operands x, int i);  ///< null: none is ever asked for
};

/// Null: the operator is not pointwise.
const Pointwise* find_pointwise(std::string_view name);

}  // namespace stepcast::dataflow::operators
