// Whether traces are of one run, and of the run that is forecast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/compare/facts_report.h"
#include "studies/compare/time_split.h"

namespace stepcast::comparison {

/// Durations of a kind's kernels: such sums tell networks apart. Seconds.
double work_of(const TimeSplit& split, WorkKind kind);

/// Error: not all of one tool, one GPU, one size of the job, or a rank twice.
Expected<void> check_one_job(const std::vector<ReadTrace>& traces);

/// Error: a network with attention beside one without, or one of convolutions.
Expected<void> check_network(const TimeSplit& expected, const TimeSplit& measured, const std::string& file);

struct ExpectedRun {
  std::string gpu;  ///< of the catalogue; "": any
  std::int64_t gpus = 1;
  std::string hint;  ///< what to say of a trace of other work
};
/// Errors: a trace of other GPUs, without the collectives of the run, or of other work.
Expected<void> check_run(
    const ExpectedRun& run, const RankTrace& trace, const TimeSplit& expected, const TimeSplit& measured);

}  // namespace stepcast::comparison
