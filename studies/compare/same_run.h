// Whether traces are of one run, and of the run that is forecast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

/// What of a trace's kernels, by time, has names that another trace has, too.
double shared_with(const RankTrace& trace, const RankTrace& other);

/// Error: not all of one tool, one GPU, one size of the job, kernels of other names, or a rank twice.
Expected<void> check_one_job(const std::vector<ReadTrace>& traces);

/// Error: a network with attention beside one without, or one of convolutions.
Expected<void> check_network(const TimeSplit& expected, const TimeSplit& measured, const std::string& file);

/// What a trace that stepcast wrote says of its run where that is not the expected one's; "": nothing, or no such
/// trace.
std::string other_own_run(const RankTrace& expected, const RankTrace& measured);

struct ExpectedRun {
  std::string gpu;  ///< of the catalogue; "": any
  std::int64_t gpus = 1;
  double flops = 0;  ///< of the products of a rank's step
  double peak = 0;   ///< FLOP/s of the GPU in the run's precision
  std::string hint;  ///< what to say of a trace of other work
};
/// Errors: a trace of other GPUs, without the collectives of the run, or of other work: products that would have to run
/// above the GPU's peak, that multiply more or less than recomputation explains, or that take four times as long;
/// attention in another number of layers.
Expected<void> check_run(
    const ExpectedRun& run, const RankTrace& trace, const TimeSplit& expected, const TimeSplit& measured);

}  // namespace stepcast::comparison
