// Uneven work: pipelines beside each other that end a step together, whose ranks differ in speed and whose
// micro-batches differ in cost. What a step takes is the expected maximum over all that wait, which the means do not
// show.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/base/error.h"
#include "sim/job/draws.h"
#include "sim/job/unit_costs.h"
#include "sim/schedule/engine/engine.h"

namespace stepcast::sim {

/// Durations by their 5th, 50th and 95th percentile, largest value and mean: straight between the percentiles, but from
/// the median to the 95th, where costs of sequences have their tail, a power of the way that gives the mean (1,
/// straight, where no power does).
struct DurationLaw {
  double p5 = 0, p50 = 0, p95 = 0, largest = 0, mean = 0;
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double exponent() const;
};

/// A rank of the pipeline of one copy, with the factor on its durations.
struct SlowRank {
  std::int64_t copy = 0, rank = 0;
  double factor = 1;
};

/// Factors on durations, each log-normal with a mean of 1 and this standard deviation of the logarithm.
struct Unevenness {
  double ranks = 0;                ///< of each rank of each copy, the same in every step
  double micro_batches = 0;        ///< of each micro-batch of each copy, the same on all stages, forward and backward
  std::optional<DurationLaw> law;  ///< of micro-batches, too, over its mean
  std::vector<double> costs;       ///< and one of these, over their mean: measured costs or lengths
  std::optional<Documents> documents;
  std::vector<double> attending_forward, attending_backward;  ///< share of each stage's time; empty: none
  Dealing dealing = Dealing::as_they_come;
  double actions = 0;              ///< of each action by itself
  std::int64_t slow = 0;           ///< so many GPUs, drawn anew for each sample, take
  double slow_factor = 1;          ///< so many times as long
  std::int64_t gpus_per_rank = 1;  ///< that a rank of a pipeline is: one slow one makes all wait
  std::vector<SlowRank> named;     ///< of several factors on one rank the largest counts
};

struct UnevenSteps {
  double mean = 0, p10 = 0, p90 = 0;  ///< seconds of the pipelines' makespan
  double error = 0;                   ///< standard error of the mean
  double even = 0;                    ///< without any of it
};

/// `copies` pipelines of this order and these times; `samples` of at least 2 steps. Errors: what the engine refuses.
Expected<UnevenSteps> uneven_steps(const Order& order, const StageTimes& times, std::int64_t copies,
    const Unevenness& uneven, std::int64_t samples, std::uint64_t seed);

/// Mean of the largest of so many draws of the standard normal law: the integral over x > 0 of 1 - Phi(x)^n -
/// Phi(-x)^n, by quadrature, right to 1e-6.
double normal_maximum(std::int64_t count);

/// Where a pipeline has one stage: micro-batches follow each other, their sum is near normal, and of `copies` copies
/// the slowest counts. `forward_backward` seconds of one even micro-batch. Empty where that does not hold: ranks
/// differ, micro-batches are dealt or packed by cost, or the sum's skewness is above 0.5, at which the largest of 64 is
/// off by some percent of what is uneven.
std::optional<double> one_stage_step(
    double forward_backward, std::int64_t micro_batches, std::int64_t copies, const Unevenness& uneven);

}  // namespace stepcast::sim
