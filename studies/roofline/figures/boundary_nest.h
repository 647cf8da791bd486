// A matrix product of a step as its kernel runs it, in the notation: what crosses each boundary inside the GPU, and
// what stays.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/program.h"
#include "model/machine/machine.h"

namespace stepcast::roofline {

/// What people call the two operands and the result: {"inputs", "weights", "outputs"}; of an input gradient {"output
/// gradients", "weights", "input gradients"}, of a weight gradient {"inputs", "output gradients", "weight gradients"}.
std::array<const char*, 3> product_roles(const KernelWork& work);

struct NestCrossing {
  std::string outer, inner;  ///< "HBM" and "L2"
  double bytes = 0;          ///< one call
  std::string stationary;    ///< "outputs", "weights and outputs", "none"
  std::string text;          ///< "output-stationary at rf, weight copied over sm"
};

struct ProductNest {
  std::string line;                     ///< the loops as `stepcast dataflow` prints them
  std::vector<NestCrossing> crossings;  ///< innermost first: registers, shared memory, L2, HBM
};

/// gemm_program with the tile that one tensor-core instruction (or warp) takes put in between shared memory and
/// registers; `operand_bytes` per element as multiplied. Empty where the GPU's file lacks multiprocessors or L2, or a
/// dimension is below 1.
std::optional<ProductNest> product_nest(const KernelWork& work, double operand_bytes, const Gpu& gpu);

}  // namespace stepcast::roofline
