#include "studies/validation/newcomers.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/cost.h"
#include "sim/step.h"
#include "studies/records/step_fitting.h"

namespace stepcast::validation {
namespace {

/// Rows of the pool's software, for all its hardware and precisions, are gone; `rest` of the pool, where there is one,
/// speaks again.
Profile profile_without(const MeasuredRun& run, const FitPool& rest, const std::vector<MeasuredRun>& runs) {
  Profile profile = run.scenario.profile.row;
  std::erase_if(profile.steps, [&](const StepFit& fit) { return fit.stack == rest.stack; });
  if (rest.result.groups > 0)
    for (StepFit& fit : fit_rows(rest, runs)) put_fit(profile, std::move(fit));
  return profile;
}

struct Answer {
  double measured = 0, seconds = 0, low = 0, high = 0;
};

Answer answer_of(const MeasuredRun& run, const Profile& profile) {
  const Scenario& s = run.scenario;
  const FoundFit found = find_step_fit(profile, s.stack.row, s.plan.precision, run.experts());
  const CostModel cost(s.machine.row, profile, s.stack.row, s.plan.precision, 0, found.fit ? &*found.fit : nullptr);
  const auto step = forecast(run.program, cost);
  if (!step) return {run.seconds, 0, 0, 0};
  return {run.seconds, step->step_time.value(), step->p10.value(), step->p90.value()};
}

using Answers = std::map<std::string, std::vector<Answer>>;  ///< by class

/// The members of `pool` by what is left out at once.
std::map<std::string, std::vector<std::size_t>> groups_of(
    const FitPool& pool, const std::vector<MeasuredRun>& runs, Leave leave) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : pool.members)
    if (runs[i].witness) groups[group_of(runs[i], leave)].push_back(i);
  return groups;
}

void answer_pool(const FitPool& pool, const std::vector<MeasuredRun>& runs, const std::vector<std::string>& classes,
    Leave leave, Answers& out) {
  for (const auto& [group, members] : groups_of(pool, runs, leave)) {
    FitPool rest = pool;
    std::erase_if(rest.members, [&](std::size_t i) { return group_of(runs[i], leave) == group; });
    if (!groups_of(rest, runs, Leave::run).empty()) fit_pool(rest, runs, {});
    for (const std::size_t i : members)
      out[classes[i]].push_back(answer_of(runs[i], profile_without(runs[i], rest, runs)));
  }
}

NewcomerRow row_of_answers(const std::string& name, Leave leave, const std::vector<Answer>& answers) {
  NewcomerRow row{name, to_text(leave), {}, 0};
  std::vector<double> errors;
  for (const Answer& one : answers) {
    errors.push_back(one.seconds / one.measured - 1);
    row.coverage += one.low <= one.measured && one.measured <= one.high ? 1 : 0;
  }
  row.error = summarise(errors);
  row.coverage /= static_cast<double>(answers.size());
  return row;
}

}  // namespace

std::vector<NewcomerRow> newcomer_rows(const Validation& validation, const std::vector<Run>& records) {
  std::map<std::string, const ValidatedCase*> cases;
  for (const ValidatedCase& one : validation.cases) cases[one.id] = &one;
  std::vector<MeasuredRun> runs;
  std::vector<std::string> classes;
  for (const Run& record : records) {
    const auto known = cases.find(record.id);
    if (known == cases.end()) continue;
    auto run = measured_run(record);
    if (!run) continue;
    classes.push_back(fmt::format("{}, {}", known->second->kind, run->scenario.machine.row.gpu.architecture));
    runs.push_back(std::move(*run));
  }
  const auto pools = pools_of(runs);
  std::vector<NewcomerRow> rows;
  for (const Leave leave : {Leave::source, Leave::stack}) {
    Answers answers;
    for (const FitPool& pool : pools) answer_pool(pool, runs, classes, leave, answers);
    for (const auto& [name, of_class] : answers) rows.push_back(row_of_answers(name, leave, of_class));
  }
  return rows;
}

}  // namespace stepcast::validation
