// Every judged class forecast without what it must not know: the parameters are fitted again without the run's own
// group.
#include <algorithm>
#include <map>
#include <set>

#include "calibrate/fit/fit_steps.h"
#include "studies/validation/judged_class.h"

namespace stepcast::validation {
namespace {

struct HeldOutStep {
  double seconds = 0, low = 0, high = 0;
  const char* left_out = "all";
};
using HeldOutSteps = std::map<std::size_t, HeldOutStep>;  ///< by index into the runs

/// The interval of each forecast comes from the errors of the other groups.
void add_intervals(const FitPool& pool, const std::vector<MeasuredRun>& runs, HeldOutSteps& out) {
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const MeasuredRun& run = runs[pool.members[i]];
    std::vector<double> others;
    for (std::size_t j = 0; j < pool.members.size(); ++j) {
      const MeasuredRun& other = runs[pool.members[j]];
      if (other.witness && group_of(other, pool.leave) != group_of(run, pool.leave))
        others.push_back(other.seconds / pool.result.held_out[j]);
    }
    const double forecast = pool.result.held_out[i];
    const Spread spread = others.size() > 1 ? step_spread(others, pool.result.groups - 1, to_text(pool.leave))
                                            : run.scenario.profile.row.step_spread;
    out[pool.members[i]] = {forecast, forecast * spread.p10, forecast * spread.p90, to_text(pool.leave)};
  }
}

/// A pool of one group has nothing to learn from: neutral values, the profile's own interval.
void forecast_neutral(const FitPool& pool, const std::vector<MeasuredRun>& runs, HeldOutSteps& out) {
  const auto seconds = forecast_steps(runs, pool.members, nullptr);
  for (std::size_t i = 0; i < pool.members.size(); ++i) {
    const Spread& spread = runs[pool.members[i]].scenario.profile.row.step_spread;
    out[pool.members[i]] = {seconds[i], seconds[i] * spread.p10, seconds[i] * spread.p90};
  }
}

void hold_out(FitPool pool, const std::vector<MeasuredRun>& runs, std::optional<Leave> leave, HeldOutSteps& out) {
  FitWishes wishes;
  if (leave && several_groups(pool, runs, *leave)) wishes.leave = leave;
  // no other software: its own must not speak for it
  else if (leave == Leave::stack) return forecast_neutral(pool, runs, out);
  fit_pool(pool, runs, wishes);
  if (pool.result.held_out.empty()) return forecast_neutral(pool, runs, out);
  add_intervals(pool, runs, out);
}

/// Runs of other software stand for the one that is left out: one pool per precision width, hardware and kind.
std::vector<FitPool> pools_over_stacks(const std::vector<MeasuredRun>& runs, const std::vector<std::size_t>& of) {
  std::map<std::pair<std::string, bool>, FitPool> pools;
  for (const std::size_t i : of) {
    const Scenario& s = runs[i].scenario;
    const bool narrow = s.plan.precision == Precision::fp8 || s.plan.precision == Precision::mxfp8 ||
                        s.plan.precision == Precision::nvfp4;
    FitPool& pool = pools[{hardware_of(s.machine.row, runs[i].experts()), narrow}];
    pool.hardware = hardware_of(s.machine.row, runs[i].experts()), pool.precision = s.plan.precision;
    pool.members.push_back(i);
  }
  std::vector<FitPool> out;
  for (auto& [key, pool] : pools) out.push_back(std::move(pool));
  return out;
}

/// Long runs by what short ones of the same pool say.
void hold_out_long(const FitPool& whole, const std::vector<MeasuredRun>& runs, HeldOutSteps& out) {
  FitPool shorter = whole, longer = whole;
  const auto is_long = [&](std::size_t i) { return runs[i].scenario.plan.sequence >= long_sequence; };
  std::erase_if(shorter.members, is_long);
  std::erase_if(longer.members, [&](std::size_t i) { return !is_long(i); });
  if (longer.members.empty()) return;
  if (shorter.members.empty()) return forecast_neutral(longer, runs, out);
  fit_pool(shorter, runs, {});
  const StepFit fit = fit_row(shorter, runs);
  const Spread spread =
      shorter.result.groups > 0 ? fit.spread : runs[longer.members.front()].scenario.profile.row.step_spread;
  const auto seconds = forecast_steps(runs, longer.members, &fit);
  for (std::size_t i = 0; i < longer.members.size(); ++i)
    out[longer.members[i]] = {seconds[i], seconds[i] * spread.p10, seconds[i] * spread.p90, to_text(Leave::length)};
}

struct ReadyRuns {
  const std::vector<MeasuredRun>& runs;
  std::vector<std::size_t> case_of;  ///< index into Validation::cases
  std::vector<FitPool> pools;
};

ReadyRuns ready(const Validation& validation, const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::size_t> cases;
  for (std::size_t i = 0; i < validation.cases.size(); ++i) cases[validation.cases[i].id] = i;
  ReadyRuns out{runs, {}, pools_of(runs)};
  for (const MeasuredRun& run : runs) out.case_of.push_back(cases.at(run.id));
  return out;
}

/// Hold-outs that several classes share are made once.
class HoldOuts {
 public:
  HoldOuts(const ReadyRuns& ready, const Validation& validation) : ready_(ready), validation_(validation) {}

  const HeldOutSteps& of(std::optional<Leave> leave) {
    HeldOutSteps& steps = by_leave_[leave ? static_cast<int>(*leave) : -1];
    if (!steps.empty()) return steps;
    for (const FitPool& pool : ready_.pools) {
      if (leave == Leave::length) hold_out_long(pool, ready_.runs, steps);
      else if (!has_witness(pool)) as_everybody(pool, steps);
      else hold_out(pool, ready_.runs, leave, steps);
    }
    return steps;
  }

  HeldOutSteps over_stacks(const JudgedClass& judged) {
    JudgedClass any = judged;
    any.stacks = judged.teachers, any.source = {};
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < ready_.runs.size(); ++i)
      if (belongs_to(validation_.cases[ready_.case_of[i]], any)) members.push_back(i);
    HeldOutSteps steps;
    for (const FitPool& pool : pools_over_stacks(ready_.runs, members))
      hold_out(pool, ready_.runs, Leave::stack, steps);
    return steps;
  }

 private:
  [[nodiscard]] bool has_witness(const FitPool& pool) const {
    return std::ranges::any_of(pool.members, [&](std::size_t i) { return ready_.runs[i].witness; });
  }
  /// No fit has seen these runs, so nothing of them is to be left out.
  void as_everybody(const FitPool& pool, HeldOutSteps& out) const {
    for (const std::size_t i : pool.members) {
      const ValidatedCase& one = validation_.cases[ready_.case_of[i]];
      out[i] = {one.predicted_s, one.low_s, one.high_s};
    }
  }

  const ReadyRuns& ready_;
  const Validation& validation_;
  std::map<int, HeldOutSteps> by_leave_;
};

void put(const HeldOutSteps& steps, const ReadyRuns& ready, std::vector<ValidatedCase>& cases) {
  for (const auto& [run, step] : steps) {
    ValidatedCase& one = cases[ready.case_of[run]];
    one.held_out_s = step.seconds, one.held_out_low_s = step.low, one.held_out_high_s = step.high;
    one.left_out = step.left_out;
  }
}

}  // namespace

std::vector<MeasuredRun> runs_of_cases(const Validation& validation, const std::vector<Run>& records) {
  std::map<std::string, bool> doubtful;
  for (const ValidatedCase& one : validation.cases) doubtful[one.id] = !one.doubt.empty();
  std::vector<MeasuredRun> runs = measured_runs(records);
  std::erase_if(runs, [&](const MeasuredRun& run) { return !doubtful.contains(run.id); });
  for (MeasuredRun& run : runs) run.witness = run.witness && !doubtful[run.id];
  return runs;
}

std::vector<JudgedRow> judged_rows_held_out(Validation& validation, const std::vector<MeasuredRun>& runs) {
  const ReadyRuns all = ready(validation, runs);
  HoldOuts hold_outs(all, validation);
  std::vector<JudgedRow> rows;
  for (const JudgedClass& judged : judged_classes()) {
    std::vector<ValidatedCase> cases = validation.cases;
    // Where a software has a single publication, its models are left out in turn: the usual way.
    const std::optional<Leave> leave = judged.leave == Leave::source ? std::nullopt : std::optional(judged.leave);
    put(judged.leave == Leave::stack ? hold_outs.over_stacks(judged) : hold_outs.of(leave), all, cases);
    std::vector<const ValidatedCase*> members;
    for (const ValidatedCase& one : cases)
      if (belongs_to(one, judged) && one.held_out_s > 0) members.push_back(&one);
    rows.push_back(judged_row(judged, members));
  }
  put(hold_outs.of(std::nullopt), all, validation.cases);
  return rows;
}

}  // namespace stepcast::validation
