#include "studies/validation/newcomers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/cost.h"
#include "sim/step.h"
#include "studies/records/step_fitting.h"

namespace stepcast::validation {
namespace {

/// What is left of a pool when a publication, a software or a GPU is gone; fitted again where runs remain.
struct Rest {
  FitPool pool;
  std::set<Precision> precisions;  ///< of the whole pool
  bool fitted = false;
};

/// Every pool that has runs of `group`, without them.
std::vector<Rest> rests_without(
    const std::string& group, Leave leave, const std::vector<FitPool>& pools, const std::vector<MeasuredRun>& runs) {
  std::vector<Rest> rests;
  for (const FitPool& pool : pools) {
    Rest rest{pool, {}, false};
    std::erase_if(rest.pool.members, [&](std::size_t i) { return group_of(runs[i], leave) == group; });
    if (rest.pool.members.size() == pool.members.size()) continue;
    for (const std::size_t i : pool.members) rest.precisions.insert(runs[i].scenario.plan.precision);
    rest.fitted = std::ranges::any_of(rest.pool.members, [&](std::size_t i) { return runs[i].witness; });
    if (rest.fitted) fit_pool(rest.pool, runs, {});
    rests.push_back(std::move(rest));
  }
  return rests;
}

/// The run's profile as it would be: of a software that is left out every row is gone, from whatever GPU it was carried
/// here; of a publication what its fits were without it.
Profile profile_without(
    const MeasuredRun& run, Leave leave, const std::vector<Rest>& rests, const std::vector<MeasuredRun>& runs) {
  const Machine& machine = run.scenario.machine.row;
  Profile profile = run.scenario.profile.row;
  for (const Rest& rest : rests) {
    if (leave != Leave::stack && hardware_of(machine, rest.pool.experts) != rest.pool.hardware) continue;
    std::erase_if(profile.steps, [&](const StepFit& fit) {
      return fit.stack == rest.pool.stack &&
             (leave == Leave::stack || (fit.experts == rest.pool.experts && rest.precisions.contains(fit.precision)));
    });
    if (!rest.fitted || rest.pool.result.groups == 0) continue;
    for (StepFit& row : fit_rows(rest.pool, runs)) {
      StepFit fit = for_strangers(std::move(row));
      if (!fitted_on(fit, machine.gpu.id)) fit.spread = widened(fit.spread, other_gpu);
      put_fit(profile, std::move(fit));
    }
  }
  return profile;
}

NewcomerRun answer_of(const MeasuredRun& run, const Profile& profile) {
  const Scenario& s = run.scenario;
  const FoundFit found = find_step_fit(profile, s.stack.row, s.plan.precision, run.experts());
  const CostModel cost(
      s.machine.row, profile, s.stack.row, s.plan.precision, run.program.ranks, found.fit ? &*found.fit : nullptr);
  const auto step = forecast(run.program, cost);
  if (!step) return {run.id, run.seconds, 0, 0, 0};
  return {run.id, run.seconds, step->step_time.value(), step->p10.value(), step->p90.value()};
}

NewcomerRow row_of_answers(const std::string& name, std::string_view left_out, std::vector<NewcomerRun> answers) {
  NewcomerRow row{name, std::string(left_out), {}, 0, {}};
  std::vector<double> errors;
  for (const NewcomerRun& one : answers) {
    errors.push_back(one.seconds / one.measured_s - 1);
    row.coverage += one.low_s <= one.measured_s && one.measured_s <= one.high_s ? 1 : 0;
  }
  row.error = summarise(errors);
  row.coverage /= static_cast<double>(answers.size());
  row.runs = std::move(answers);
  return row;
}

using Answers = std::map<std::string, std::vector<NewcomerRun>>;  ///< by class

void add_rows(Answers answers, std::string_view left_out, std::vector<NewcomerRow>& rows) {
  std::vector<NewcomerRun> all;
  for (auto& [name, of_class] : answers) {
    all.insert(all.end(), of_class.begin(), of_class.end());
    rows.push_back(row_of_answers(name, left_out, std::move(of_class)));
  }
  rows.push_back(row_of_answers("all", left_out, std::move(all)));
  rows.back().runs.clear();
}

/// By id. A record that says too little to be forecast is missing.
std::map<std::string, MeasuredRun> runs_told_by_papers(const std::vector<Run>& records) {
  std::vector<Run> told;
  for (const Run& run : records) told.push_back(told_by_a_paper(run));
  std::map<std::string, MeasuredRun> runs;
  for (MeasuredRun& run : measured_runs(told)) {
    std::string id = run.id;
    runs.emplace(std::move(id), std::move(run));
  }
  return runs;
}

}  // namespace

Run told_by_a_paper(Run run) {
  run.software.reset(), run.recompute.reset();
  run.overlap = {};
  RunParallel& split = run.parallel;
  split.sequence_parallel.reset(), split.chunks.reset(), split.schedule.reset();
  if (split.zero_stage.value_or(0) != 3) split.zero_stage.reset();
  return run;
}

std::vector<NewcomerRow> newcomer_rows(
    const Validation& validation, const std::vector<MeasuredRun>& runs, const std::vector<Run>& records) {
  std::map<std::string, const ValidatedCase*> cases;
  for (const ValidatedCase& one : validation.cases) cases[one.id] = &one;
  std::vector<std::string> classes;
  for (const MeasuredRun& run : runs)
    classes.push_back(fmt::format("{}, {}", cases.at(run.id)->kind, run.scenario.machine.row.gpu.architecture));
  const auto pools = pools_of(runs);
  const auto told = runs_told_by_papers(records);
  std::vector<NewcomerRow> rows;
  Answers untold;
  for (const Leave leave : {Leave::source, Leave::stack, Leave::gpu}) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i].witness) groups[group_of(runs[i], leave)].push_back(i);
    Answers answers;
    for (const auto& [group, members] : groups) {
      const auto rests = rests_without(group, leave, pools, runs);
      for (const std::size_t i : members) {
        answers[classes[i]].push_back(answer_of(runs[i], profile_without(runs[i], leave, rests, runs)));
        const auto run = told.find(runs[i].id);
        if (leave == Leave::stack && run != told.end())
          untold[classes[i]].push_back(answer_of(run->second, profile_without(run->second, leave, rests, runs)));
      }
    }
    add_rows(std::move(answers), to_text(leave), rows);
  }
  add_rows(std::move(untold), "untold", rows);
  return rows;
}

}  // namespace stepcast::validation
