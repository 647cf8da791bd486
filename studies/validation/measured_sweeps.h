// Measures what a sweep's answer is worth on jobs that people measured with several splits. Each is forecast without
// having seen its network.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "studies/records/step_fitting.h"

namespace stepcast::validation {

/// One job (MeasuredRun::job) of at least three splits. Step parameters and pair spread are of other networks: where
/// the software was measured with no other one, neutral values and the pairs of all other software.
struct MeasuredSweep {
  std::string network, source;
  std::size_t runs = 0, tied = 0;  ///< measured; within the error of the forecast's best
  double pair_spread = 0;
  double regret = 0;  ///< measured time of the forecast's best over the best measured one, minus 1
  /// the same when the two of measure_first are measured and the better one is taken
  double regret_of_two = 0;
  bool best_tied = false;  ///< the best measured one is in the tie set
};

enum class Doubtful : bool { left_out, counted };  ///< records that doubts/*.json names; they teach nothing either way

/// `runs` are those of `records`. Uses all processors.
std::vector<MeasuredSweep> measured_sweeps(
    const std::vector<Run>& records, const std::vector<MeasuredRun>& runs, Doubtful doubtful = Doubtful::left_out);

/// Means over jobs whose source begins with one of `sources` (empty: over all). No job: zeros.
struct SweepFigures {
  std::size_t jobs = 0;
  double regret = 0, regret_of_two = 0, coverage = 0, tied_share = 0;
};
SweepFigures mean_figures(const std::vector<MeasuredSweep>& sweeps, const std::vector<std::string>& sources = {});

/// How sure a sweep's answer is, with the records that doubts name left out and counted.
struct JudgedSweeps {
  SweepFigures sound, all;
};
JudgedSweeps judged_sweeps(const std::vector<Run>& records, const std::vector<MeasuredRun>& runs);
/// Two lines for people; nothing where no job was measured with several splits.
std::string measured_sweeps_text(const JudgedSweeps& judged);

}  // namespace stepcast::validation
