// The classes that forecasts are judged by: which runs belong to each, and what is left out when its parameters are
// fitted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/records/step_fitting.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

/// Runs whose fields are all among the words, separated by blanks; "" = any. A gpu and a source fit by their beginning.
struct JudgedClass {
  std::string_view name, gpus, precisions, kinds, stacks, source;
  Leave leave = Leave::source;
  double goal = 0;  ///< mean |error| that we mean to stay below
  /// what a closed form with as many parameters reached on these runs, held out; 0 = not tried
  double closed_form = 0;
  std::string_view teachers = {};  ///< Leave::stack: software that speaks for the one left out; "" = any
};
std::span<const JudgedClass> judged_classes();
bool belongs_to(const ValidatedCase& row, const JudgedClass& judged);

/// A class's figures; without doubtful runs but for `with_doubts`.
struct JudgedRow {
  const JudgedClass* judged = nullptr;
  ErrorSummary fitted;       ///< parameters fitted on all runs
  ErrorSummary held_out;     ///< fitted without the run's own group; n = 0: no hold-out was made
  ErrorSummary with_doubts;  ///< held out, doubtful runs counted too
  double coverage = 0;       ///< share of held-out forecasts whose 80 % interval holds the measurement
  double spearman = 0;       ///< of forecast and measured FLOP/s per GPU, all runs of the class
  /// runs of one model, batch and GPU count that differ in how the work is split, at least four each
  std::size_t groups = 0;
  double regret = 0;         ///< mean over groups of what the forecast's first choice costs over the best
  double baseline_mape = 0;  ///< every run forecast at the class's median FLOP/s
  std::size_t doubtful = 0;
  /// what was left out at once, the most frequent first: "source, model"; "" = nothing
  std::string left_out;
};
/// Over the runs of a class; held-out figures where the runs have held-out forecasts.
JudgedRow judged_row(const JudgedClass& judged, const std::vector<const ValidatedCase*>& members);

/// The rows of the fits as they are, without hold-outs.
std::vector<JudgedRow> judged_rows(const Validation& validation);

/// The records of the validation's cases, ready to be fitted: all hold-outs share what they learn of these.
std::vector<MeasuredRun> runs_of_cases(const Validation& validation, const std::vector<Run>& records);

/// The same with every class's own hold-out: its parameters fitted again without the group of the run that is forecast.
/// Also fills ValidatedCase::held_out_s. `runs` are those of the cases. Uses all processors.
std::vector<JudgedRow> judged_rows_held_out(Validation& validation, const std::vector<MeasuredRun>& runs);

}  // namespace stepcast::validation
