// GPU side only. The matrices of one product in device memory: sets of them in turn, filled with random numbers, and
// the factors that belong to narrow operands.
#pragma once

#include "kernels/cuda/buffer_sets.h"
#include "kernels/cuda/gemm/gemm_problem.h"
#include "kernels/cuda/gpu_context.h"

namespace stepcast::kernels::gpu {

/// One set: x and w as the layout stores them, y.
struct GemmSet {
  const void* x = nullptr;
  const void* w = nullptr;
  void* y = nullptr;
};

class GemmOperands {
 public:
  /// x, w, and what weight gradients add to, are normal numbers of deviation 1. A weight gradient grows by the same
  /// amount at each call: after a million calls its entries are near 1e6 sqrt(k), far from the end of fp32, so that
  /// nothing needs to be reset.
  Expected<void> allocate(GpuContext& context, const GemmProblem& problem, int copies);
  [[nodiscard]] GemmSet set(int copy) const;

 private:
  BufferSets x_, w_, y_;
};

/// Factors of both operands. All blocks have the same one, so that their order in memory, which differs between modes,
/// does not matter to the result. Shared by all sets: they are an eighth of what is read at most, and mostly a 32nd.
class GemmFactors {
 public:
  static constexpr double kX = 0.5, kW = 0.25;
  static Expected<GemmFactors> make(const GpuContext& context, const GemmProblem& problem);
  [[nodiscard]] const void* x() const { return x_.as<>(); }
  [[nodiscard]] const void* w() const { return w_.as<>(); }

 private:
  DeviceBuffer x_, w_;
};

/// kX kW where operands have factors, else 1.
double factor_of(const GemmProblem& problem);

}  // namespace stepcast::kernels::gpu
