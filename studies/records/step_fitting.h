// Prepares measured runs so that they can be forecast again and again with other step parameters, and fits these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/fit_steps.h"
#include "dataflow/program.h"
#include "model/base/error.h"
#include "studies/run/scenario.h"
#include "studies/records/run_record.h"
#include "studies/records/step_memo.h"

namespace stepcast::records {

/// What a fit leaves out at once: the runs of one publication, model or software release, a single run, all runs of one
/// software (others of its kind speak for it), all of long context (short ones do), or all on one kind of GPU.
enum class Leave : std::uint8_t { source, model, release, run, stack, length, gpu };
const char* to_text(Leave leave);

/// From here on a context counts as long: attention takes a good part of the step.
inline constexpr std::int64_t long_sequence = 16384;

struct MeasuredRun {
  std::string id, source, release, model;  ///< source: the publication; release: the same with its month
  Scenario scenario;
  Program program;
  /// runs of one job differ in their split only: network, machine, batch, software are one
  std::string job, split;
  double seconds = 0;
  bool witness = true;  ///< false: the record is doubtful, of tuning, of an encoder or of images
  /// of `scenario` and `program` as they are, whatever the profile says of steps; copies share it
  std::shared_ptr<StepMemo> memo = std::make_shared<StepMemo>();
  [[nodiscard]] bool experts() const { return scenario.network.row.experts.count > 0; }
};

/// Errors: no time in the record, and those of scenario_of and lower.
Expected<MeasuredRun> measured_run(const Run& run);
/// Those that can be made, in the records' order. Uses all processors.
std::vector<MeasuredRun> measured_runs(const std::vector<Run>& records);

/// Which group a run is of.
std::string group_of(const MeasuredRun& run, Leave leave);

/// What the parts of a fit have in common: GPUs of one architecture; for routed experts, which wait for their hosts,
/// behind hosts of one kind.
std::string hardware_of(const Machine& machine, bool experts);

/// Runs of one software on one kind of hardware: dense networks in one precision (in all, where the
/// software's row says so), or those with routed experts in all: what they wait for (hosts, exchanges, passes over
/// rows) does not depend on it.
struct FitPool {
  std::string stack, hardware;
  Precision precision = Precision::bf16;  ///< of the first run, where they differ
  bool experts = false;
  Leave leave = Leave::source;
  std::vector<std::size_t> members;  ///< indices into the runs
  StepFitResult result;              ///< in the members' order
};
std::vector<FitPool> pools_of(const std::vector<MeasuredRun>& runs);

/// Whether the pool's witnesses are of more than one group.
bool several_groups(const FitPool& pool, const std::vector<MeasuredRun>& runs, Leave leave);

struct FitWishes {
  std::vector<StepParameter> parameters;  ///< empty: those that the stack names
  /// empty: source; where there is one, release with experts, model else; then run
  std::optional<Leave> leave;
  bool from_profile = false;  ///< what is believed beforehand is the profile's fit, not the neutral value
};

/// Uses all processors.
void fit_pool(FitPool& pool, const std::vector<MeasuredRun>& runs, const FitWishes& wishes);

/// Forecasts of `members` with `fit` in place of what their profiles hold (nullptr: neutral), on all processors,
/// seconds.
std::vector<double> forecast_steps(
    const std::vector<MeasuredRun>& runs, const std::vector<std::size_t>& members, const StepFit* fit);

/// The pool's result as a profile keeps it: one row per precision of its runs.
StepFit fit_row(const FitPool& pool, const std::vector<MeasuredRun>& runs);
std::vector<StepFit> fit_rows(const FitPool& pool, const std::vector<MeasuredRun>& runs);

/// The fit as it speaks to people of none of its publications: wider where no publication could be left out. Fits with
/// experts are widened when they are asked (find_step_fit).
StepFit for_strangers(StepFit fit);

/// Puts `fit` in place of the row of the same software, precision and kind of network.
void put_fit(Profile& profile, StepFit fit);

}  // namespace stepcast::records
