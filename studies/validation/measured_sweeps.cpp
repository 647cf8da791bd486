#include "studies/validation/measured_sweeps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "calibrate/fit/pair_spread.h"
#include "model/step_tuning.h"
#include "studies/records/step_fitting.h"
#include "studies/sweep/search/ties.h"

namespace stepcast::validation {
namespace {

constexpr std::size_t fewest_splits = 3;

struct SweptRun {
  const MeasuredRun* run = nullptr;
  double forecast = 0;  ///< seconds, without its network
  std::vector<std::string> choices;
};

std::vector<std::string> recorded_choices(const Run& run) {
  const RunParallel& p = run.parallel;
  const auto text = [](const MaybeCount& count) { return count ? std::to_string(*count) : ""; };
  return {std::to_string(p.tp), std::to_string(p.pp), std::to_string(p.dp), std::to_string(p.cp), text(p.ep),
      text(p.chunks), text(run.micro_batch), text(p.zero_stage), p.schedule.value_or(""), run.recompute.value_or("")};
}

/// Whether two runs of a job differ in their split; other pools say nothing here.
bool has_pairs(const FitPool& pool, const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::set<std::string>> splits;
  for (const std::size_t i : pool.members) splits[runs[i].job].insert(runs[i].split);
  return std::any_of(splits.begin(), splits.end(), [](const auto& job) { return job.second.size() > 1; });
}

std::vector<double> forecasts_without_network(FitPool pool, const std::vector<MeasuredRun>& runs) {
  if (!several_groups(pool, runs, Leave::model)) return forecast_steps(runs, pool.members, nullptr);
  FitWishes wishes;
  wishes.leave = Leave::model;
  fit_pool(pool, runs, wishes);
  return pool.result.held_out;
}

/// The runs of a software on one hardware, each forecast without its network.
struct SweptPool {
  FitPool pool;
  std::vector<double> forecasts;  ///< seconds, by pool.members
};

std::vector<SweptPool> swept_pools(const std::vector<MeasuredRun>& runs) {
  std::vector<SweptPool> pools;
  for (const FitPool& pool : pools_of(runs))
    if (has_pairs(pool, runs)) pools.push_back({pool, forecasts_without_network(pool, runs)});
  return pools;
}

/// Residuals of all networks but one, which has taught none of their forecasts either.
std::vector<JobResidual> residuals_without(
    const std::string& network, const SweptPool& swept, const std::vector<MeasuredRun>& runs) {
  FitPool others = swept.pool;
  std::erase_if(others.members, [&](std::size_t i) { return runs[i].model == network; });
  if (others.members.empty()) return {};
  const bool taught = others.members.size() < swept.pool.members.size();
  const auto forecasts = taught ? forecasts_without_network(others, runs) : swept.forecasts;
  std::vector<JobResidual> residuals;
  for (std::size_t i = 0; i < others.members.size(); ++i) {
    const MeasuredRun& run = runs[others.members[i]];
    if (run.witness) residuals.push_back({run.job, run.split, std::log(run.seconds / forecasts[i])});
  }
  return residuals;
}

/// As a fit would know it that never saw this network.
double spread_without(const std::string& network, const SweptPool& own, const std::vector<SweptPool>& pools,
    const std::vector<MeasuredRun>& runs) {
  std::vector<JobResidual> all, same;
  for (const SweptPool& swept : pools) {
    if (swept.pool.experts != own.pool.experts) continue;
    const auto residuals = residuals_without(network, swept, runs);
    all.insert(all.end(), residuals.begin(), residuals.end());
    if (&swept == &own) same = residuals;
  }
  const PairSpread usual = pairs_seen(all);
  return fit_pair_spread(same, usual.pairs > 0 ? usual.spread : usual_pair_spread(own.pool.experts)).spread;
}

/// Repetitions of a split become one run of their mean time; the best forecast first.
std::vector<std::pair<SweptRun, double>> by_forecast(const std::vector<SweptRun>& runs) {
  std::map<std::string, std::vector<const SweptRun*>> splits;
  for (const SweptRun& one : runs) splits[one.run->split].push_back(&one);
  std::vector<std::pair<SweptRun, double>> rows;
  for (const auto& [split, repeated] : splits) {
    double seconds = 0;
    for (const SweptRun* one : repeated) seconds += one->run->seconds / static_cast<double>(repeated.size());
    rows.emplace_back(*repeated.front(), seconds);
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first.forecast < b.first.forecast; });
  return rows;
}

MeasuredSweep sweep_of(const std::vector<SweptRun>& runs, double spread) {
  const auto rows = by_forecast(runs);
  std::vector<double> forecasts, measured;
  std::vector<std::vector<std::string>> choices;
  for (const auto& [run, seconds] : rows)
    forecasts.push_back(run.forecast), measured.push_back(seconds), choices.push_back(run.choices);
  const Ties ties = ties_of(forecasts, choices, spread, true);
  const auto best = std::min_element(measured.begin(), measured.end());
  double of_two = measured.front();
  for (const std::size_t i : ties.measure) of_two = std::min(of_two, measured[i]);
  const MeasuredRun& any = *runs.front().run;
  MeasuredSweep sweep{any.model, any.source, rows.size(), ties.count, spread};
  sweep.regret = measured.front() / *best - 1;
  sweep.regret_of_two = of_two / *best - 1;
  sweep.best_tied = best - measured.begin() < static_cast<std::ptrdiff_t>(ties.count);
  return sweep;
}

}  // namespace

std::vector<MeasuredSweep> measured_sweeps(
    const std::vector<Run>& records, const std::vector<MeasuredRun>& runs, Doubtful doubtful) {
  std::map<std::string, std::vector<std::string>> choices;
  for (const Run& record : records) choices[record.id] = recorded_choices(record);
  const auto pools = swept_pools(runs);
  std::vector<MeasuredSweep> sweeps;
  for (const SweptPool& swept : pools) {
    std::map<std::string, std::vector<SweptRun>> jobs;
    for (std::size_t i = 0; i < swept.pool.members.size(); ++i) {
      const MeasuredRun& run = runs[swept.pool.members[i]];
      if (!run.witness && doubtful == Doubtful::left_out) continue;
      jobs[run.job].push_back({&run, swept.forecasts[i], choices[run.id]});
    }
    for (const auto& [job, splits] : jobs) {
      if (by_forecast(splits).size() < fewest_splits) continue;
      sweeps.push_back(sweep_of(splits, spread_without(splits.front().run->model, swept, pools, runs)));
    }
  }
  return sweeps;
}

SweepFigures mean_figures(const std::vector<MeasuredSweep>& sweeps, const std::vector<std::string>& sources) {
  SweepFigures sum;
  for (const MeasuredSweep& one : sweeps) {
    const auto begins = [&](const std::string& source) { return one.source.starts_with(source); };
    if (!sources.empty() && std::none_of(sources.begin(), sources.end(), begins)) continue;
    ++sum.jobs;
    sum.regret += one.regret, sum.regret_of_two += one.regret_of_two, sum.coverage += one.best_tied ? 1 : 0;
    sum.tied_share += static_cast<double>(one.tied) / static_cast<double>(one.runs);
  }
  if (sum.jobs == 0) return sum;
  for (double* figure : {&sum.regret, &sum.regret_of_two, &sum.coverage, &sum.tied_share})
    *figure /= static_cast<double>(sum.jobs);
  return sum;
}

JudgedSweeps judged_sweeps(const std::vector<Run>& records, const std::vector<MeasuredRun>& runs) {
  return {
      mean_figures(measured_sweeps(records, runs)), mean_figures(measured_sweeps(records, runs, Doubtful::counted))};
}

std::string measured_sweeps_text(const JudgedSweeps& judged) {
  std::string text;
  for (const auto& [figures, what] : {std::pair{&judged.sound, ""}, {&judged.all, ", doubtful records counted"}}) {
    if (figures->jobs == 0) continue;
    text += fmt::format("{} jobs measured with three splits or more, network left out{}: regret of the first pick "
                        "{:.2f} %, of the better of the two\n"
                        "  to measure {:.2f} %; the best measured split is tied with the first in {:.0f} %, {:.0f} % "
                        "of the splits are tied\n",
        figures->jobs, what, 100 * figures->regret, 100 * figures->regret_of_two, 100 * figures->coverage,
        100 * figures->tied_share);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace stepcast::validation
