// Finds the step time that a log settles at.
//
// Rule: lines of another global batch than the last line's are left out (a batch that ramps up). The first line is left
// out where there is another (compilation, allocation, first collectives). Then, of the lines that remain:
//   warm-up     leading lines more than 1.1 times the median of the later half, until the first that is not, at most
//               half of all lines;
//   interrupted lines anywhere more than 1.3 times that median (evaluation, checkpoints, a stalled loader).
// Median, 10th and 90th percentile are of the rest, each line counting once. Megatron pauses its timer for evaluation
// and checkpoints, torchtitan and NeMo's progress bar do not.
#pragma once

#include <string>

#include "calibrate/import/logs/training_log.h"

namespace stepcast::calibrate {

struct SteadyStep {
  Seconds median, p10, p90;
  int used = 0, left_out = 0;
  std::string note;  ///< in words: "median of 18 lines; left out: the first, 2 interrupted"
};

/// Fails where a step has no time (see time_steps) or none is left.
Expected<SteadyStep> steady_step(const TrainingLog& log);

/// Times of lines that only have rates: tokens per second and GPU, or samples per second. `tokens_per_gpu`: tokens of
/// one step over all GPUs' number; `samples`: sequences of one step. Fails where the number that a line needs is 0.
Expected<void> time_steps(TrainingLog& log, double tokens_per_gpu, double samples);

}  // namespace stepcast::calibrate
