// GPU side only. A product's result against float64 on the host, entry by entry: their rows and columns are gathered on
// the GPU and copied over, so that a check of the largest product takes milliseconds.
#pragma once

#include <functional>

#include "kernels/cuda/gemm/gemm_operands.h"
#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/bench/gpu_bench.h"

namespace stepcast::kernels::gpu {

/// `run` computes the product once on this set, enqueued on the context's stream.
Expected<Check> check_gemm(
    GpuContext& context, const GemmProblem& problem, const GemmSet& set, const std::function<Expected<void>()>& run);

}  // namespace stepcast::kernels::gpu
