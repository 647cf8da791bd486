// Fits the laws of single kernels on measurements of one GPU. A robust fit in log space with weak priors gives the base
// law; held-out forecasts give the correction and the interval (numeric/refine.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "calibrate/fit/numeric/refine.h"
#include "model/base/error.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

/// A measurement's query and time, of one kind.
template <typename Query> struct Sample {
  Query query;
  Seconds time;
};

/// A fitted law and what its held-out forecasts said, sample by sample.
template <typename Law> struct FittedLaw {
  Law law;
  double base_mape = 0;           ///< held out, without correction
  double bias = 1;                ///< median of measured / predicted, held out
  std::vector<double> predicted;  ///< held-out forecast of each sample, seconds
};

/// Products of one precision. With few samples a prior at 0.8 of the datasheet peak, 0.85 of its bandwidth and 3 us
/// keeps the parameters in range; memory stays between 0.75 and 1 of the datasheet, because products of training size
/// hardly see it and a free fit calls small ones memory-bound that are not. Where there are 16 samples of training size
/// (m >= 512, n, k >= 1024), the base law is theirs, and smaller products are the correction's. Fails below 4 samples.
/// With `keep`, that law's parameters stay as they are (a cast that it lacks is fitted); correction and interval are
/// new.
Expected<FittedLaw<RooflineLaw>> fit_gemm(std::span<const Sample<GemmQuery>> samples, const Gpu& gpu,
    const RefineOptions& options = {}, const RooflineLaw* keep = nullptr);
bool of_training_size(const GemmQuery& gemm);

/// Whole sequences: forward, and where there are such samples backward; or decode, if the samples are. One or the
/// other.
Expected<FittedLaw<AttentionLaw>> fit_attention(std::span<const Sample<AttentionQuery>> samples, const Gpu& gpu,
    const RefineOptions& options = {}, const AttentionLaw* keep = nullptr);

/// Layers of routed experts.
Expected<FittedLaw<RooflineLaw>> fit_moe(
    std::span<const Sample<MoeQuery>> samples, const Gpu& gpu, const RefineOptions& options = {});

/// One memory-bound operator, or several as if they were one where `op` of the law is to stay "". `usual`: the law of
/// all operators, which each of them is near where it has few samples of its own.
Expected<FittedLaw<MemoryLaw>> fit_memory(std::span<const Sample<MemoryQuery>> samples, const Gpu& gpu,
    const RefineOptions& options = {}, const MemoryLaw* usual = nullptr);

/// How much slower products run for seconds on end than the law of short bursts says: the median over products of
/// training size that last at least `long_enough`, since short ones never reach the power limit. At least 1.
double sustained_slowdown(const RooflineLaw& burst, const GpuUnits& units, std::span<const Sample<GemmQuery>> sustained,
    Seconds long_enough = Seconds(300e-6));

GpuUnits units_of(const Gpu& gpu);

}  // namespace stepcast::calibrate
