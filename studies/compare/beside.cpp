#include "studies/compare/beside.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/compare/same_run.h"

namespace stepcast::comparison {
namespace {

TimeSplit split_of(const ReadTrace& read) {
  const FoundStep& step = read.steps.steps[static_cast<std::size_t>(read.steps.taken)];
  return split_time(read.trace, step.begin, step.next);
}

TimeSplit split_of(const RankTrace& stage) { return split_time(stage, stage.begin, stage.end); }

Expected<std::size_t> stage_of(const ForecastTraces& forecast, const RankTrace& trace) {
  const std::size_t stages = forecast.stages.size();
  if (stages == 1) return 0;
  if (trace.rank < 0)
    return fail(trace.file, fmt::format("says no rank, and the forecast has {} stages", stages),
        "a trace whose distributedInfo has its rank");
  if (trace.is_forecast()) return static_cast<std::size_t>(trace.rank) % stages;
  return static_cast<std::size_t>(trace.rank / forecast.stage_stride) % stages;
}

struct PairedRank {
  const ReadTrace* measured;
  TimeSplit expected_split, measured_split;
  const RankTrace* expected;
  std::size_t expected_at = 0;
};

/// A slow GPU is slow in all that it computes: the least of what its kinds of work take longer. Kinds of less than a
/// twentieth of the time say nothing.
double pace_of(const PairedRank& pair) {
  constexpr double least_share = 0.05;
  double pace = INFINITY;
  for (int kind = 0; kind < static_cast<int>(WorkKind::optimizer); ++kind) {
    const double expects = work_of(pair.expected_split, static_cast<WorkKind>(kind));
    if (expects < least_share * pair.expected_split.compute_flight) continue;
    pace = std::min(pace, work_of(pair.measured_split, static_cast<WorkKind>(kind)) / expects);
  }
  return std::isfinite(pace) ? pace : 1;
}

void show(Beside& beside, const std::vector<PairedRank>& pairs, std::size_t shown, const ExpectedPrices& prices) {
  for (const PairedRank& pair : pairs) beside.ranks.push_back({rank_text(pair.measured->trace), pace_of(pair)});
  const PairedRank& pair = pairs[shown];
  beside.measured = beside.ranks[shown].rank;
  beside.measured_at = shown, beside.expected_at = pair.expected_at;
  beside.gap = gap_between(pair.expected_split, pair.measured_split, prices);
  beside.causes = causes_of(beside.gap, pair.expected_split, pair.measured_split, pair.measured->trace.names,
      pair.expected->names, beside.ranks, shown);
  const FoundSteps& steps = pair.measured->steps;
  beside.notes.push_back(fmt::format("{} step{} by {}, number {} taken", steps.steps.size(),
      steps.steps.size() == 1 ? "" : "s", steps.how, steps.steps[static_cast<std::size_t>(steps.taken)].number));
  if (!beside.gap.aligned.empty()) beside.notes.push_back(beside.gap.aligned);
  const TraceFacts facts = facts_of(pair.measured->trace, steps, steps.taken);
  if (facts.unplaced_share() > 0)
    beside.notes.push_back(
        fmt::format("{:.2f} % of the kernels' time has names that no row knows", 100 * facts.unplaced_share()));
}

/// The slow rank; else of the slowest stage, where it is there, the longest step.
std::size_t choose(const std::vector<PairedRank>& pairs, const RankTrace* slowest) {
  std::vector<RankPace> paces;
  for (const PairedRank& pair : pairs) paces.push_back({"", pace_of(pair)});
  if (const auto slow = slow_rank_of(paces)) return *slow;
  std::size_t best = 0;
  const auto rank = [&](const PairedRank& pair) {
    return std::pair(pair.expected == slowest, pair.measured_split.seconds);
  };
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (rank(pairs[i]) > rank(pairs[best])) best = i;
  return best;
}

}  // namespace

Expected<Beside> beside_forecast(const ForecastTraces& forecast, const std::vector<ReadTrace>& measured) {
  TRY(check_one_job(measured));
  if (static_cast<std::int64_t>(measured.size()) > forecast.gpus)
    return fail(measured.back().trace.file,
        fmt::format("is the trace of rank {}, and the run has {} GPU{}", measured.size(), forecast.gpus,
            forecast.gpus == 1 ? "" : "s"),
        "--gpus of the run; compare A B holds two traces beside each other");
  std::vector<RankTrace> stages;
  for (std::size_t stage = 0; stage < forecast.stages.size(); ++stage)
    stages.push_back(measured.front().trace.is_forecast() ? forecast.stages[stage] : with_kinds(forecast, stage));
  std::vector<PairedRank> pairs;
  for (const ReadTrace& one : measured) {
    TRY(const auto stage, stage_of(forecast, one.trace));
    const RankTrace& expected = stages[stage];
    pairs.push_back({&one, split_of(expected), split_of(one), &expected, stage});
    TRY(check_network(pairs.back().expected_split, pairs.back().measured_split, one.trace.file));
    if (!one.trace.is_forecast()) {
      TRY(check_run({forecast.gpu, forecast.gpus,
                        "the network, sequence and micro-batch of the run that was traced, "
                        "and a step of training"},
          one.trace, pairs.back().expected_split, pairs.back().measured_split));
    }
  }
  Beside beside;
  beside.expected = "the forecast", beside.p10_s = forecast.p10_s, beside.p90_s = forecast.p90_s;
  const auto slowest = static_cast<std::size_t>(forecast.slowest_stage) % forecast.stages.size();
  show(beside, pairs, choose(pairs, &stages[slowest]), forecast.prices);
  return beside;
}

Expected<Beside> beside_iteration(const IterationForecast& forecast, std::vector<ReadTrace>& measured) {
  TRY(check_one_job(measured));
  std::vector<PairedRank> pairs;
  std::string note;
  for (ReadTrace& one : measured) {
    TRY(note, take_iteration(forecast, one));
    pairs.push_back({&one, forecast.split, split_of(one), &forecast.trace});
    TRY(check_network(forecast.split, pairs.back().measured_split, one.trace.file));
    TRY(check_run({forecast.gpu, forecast.gpus, "the network, --prompt, --batch and --tp of the iteration"}, one.trace,
        forecast.split, pairs.back().measured_split));
  }
  Beside beside;
  beside.what = "Iteration", beside.expected = "the forecast";
  beside.p10_s = forecast.p10_s, beside.p90_s = forecast.p90_s;
  show(beside, pairs, choose(pairs, nullptr), forecast.prices);
  if (!note.empty()) beside.notes.push_back(note);
  beside.notes.insert(beside.notes.end(), forecast.notes.begin(), forecast.notes.end());
  return beside;
}

Expected<Beside> beside_trace(const std::vector<ReadTrace>& expected, const std::vector<ReadTrace>& measured) {
  if (expected.size() != measured.size())
    return fail(measured.front().trace.file,
        fmt::format("has {} GPUs, and {} has {}", measured.size(), expected.front().trace.file, expected.size()),
        "two traces of as many GPUs");
  std::vector<PairedRank> pairs;
  for (std::size_t i = 0; i < measured.size(); ++i)
    pairs.push_back({&measured[i], split_of(expected[i]), split_of(measured[i]), &expected[i].trace, i});
  Beside beside;
  beside.expected = expected.front().trace.file;
  show(beside, pairs, choose(pairs, nullptr), {});
  return beside;
}

}  // namespace stepcast::comparison
