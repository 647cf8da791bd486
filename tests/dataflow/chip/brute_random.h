// Small problems with random mappings, the same for the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow::brute {

enum class Problem { gemm, batched, conv, three_operands, output_only, upsampled };

inline constexpr int kProblems = 6;

struct RandomOptions {
  bool ragged = false;
  int levels_most = 4;
};

ChipProgram random_chip(Problem problem, const RandomOptions& options, std::mt19937_64& random);

/// The loops in one line, for messages of failed checks.
std::string described(const ChipProgram& chip);

}  // namespace stepcast::dataflow::brute
