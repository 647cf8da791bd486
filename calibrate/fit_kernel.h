// Kernel laws from timed kernels: the parameters come from all samples, the spread from samples held out in turn.
#pragma once

#include <vector>

#include "calibrate/holdout.h"
#include "calibrate/measurement.h"
#include "model/error.h"
#include "model/profile.h"

namespace stepcast {

template <typename Law>
struct Fitted {
  Law law;                         ///< with source `fitted` and the held-out spread
  HoldoutError error;
};

/// Large enough for a training step (m >= 512, n >= 1024, k >= 1024): smaller products follow tile and wave rules that a
/// roofline does not have, and would pull the large ones off.
bool in_training_regime(const GemmMeasurement& gemm);

/// Fits t0, compute rate, memory rate and softness on the samples of the training regime. Memory stays within 0.75 to 1
/// of `gpu`'s bandwidth: the samples hardly see it, and a free fit calls small products memory-bound that are not.
/// Where samples cast x, t = law + cast bytes / (e * memory bandwidth): the law is that of the product alone, and its t0
/// is `product_t0`, because two launches in a row cannot be told apart by their sum.
/// Fails with fewer than 16 samples in the regime.
Expected<Fitted<RooflineLaw>> fit_gemm(const std::vector<GemmMeasurement>& gemms, Precision precision, const Gpu& gpu,
                                       Seconds product_t0 = Seconds(4e-6));

/// Fits t0, compute rate and ramp on forward samples of 512 positions and more whose kernels fill the GPU, then
/// backward_efficiency on the forward-and-backward ones (kept at its default where there are none).
Expected<Fitted<AttentionLaw>> fit_attention(const std::vector<AttentionMeasurement>& attentions);

Expected<Fitted<MemoryLaw>> fit_memory(const std::vector<MemoryMeasurement>& kernels);

/// How much slower products run for seconds on end than the law of short bursts says: the median over products of the
/// training regime that last at least `long_enough`, since short ones never reach the power limit. At least 1.
double sustained_slowdown(const RooflineLaw& burst, const std::vector<GemmMeasurement>& sustained,
                          Seconds long_enough = Seconds(300e-6));

}  // namespace stepcast
