#include "studies/compare/beside.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "model/base/quantity_text.h"

namespace stepcast::comparison {
namespace {

TimeSplit split_of(const ReadTrace& read) {
  const FoundStep& step = read.steps.steps[static_cast<std::size_t>(read.steps.taken)];
  return split_time(read.trace, step.begin, step.next);
}

TimeSplit split_of(const RankTrace& stage) { return split_time(stage, stage.begin, stage.end); }

/// All of one tool, one GPU, one size of the job, and each rank once.
Expected<void> check_one_job(const std::vector<ReadTrace>& traces) {
  const RankTrace& first = traces.front().trace;
  for (const ReadTrace& one : traces) {
    const RankTrace& trace = one.trace;
    if (trace.world != first.world || trace.gpu != first.gpu || trace.tool != first.tool)
      return fail(trace.file,
          fmt::format("is of another job than {}: {} ranks on {} by {}, not {} on {} by {}", first.file, trace.world,
              trace.gpu.empty() ? "GPUs without a name" : trace.gpu, trace.tool, first.world,
              first.gpu.empty() ? "GPUs without a name" : first.gpu, first.tool),
          "traces of the ranks of one run");
    for (const ReadTrace& other : traces)
      if (&other < &one && trace.rank >= 0 && other.trace.rank == trace.rank)
        return fail(trace.file, fmt::format("is of rank {}, as {} is", trace.rank, other.trace.file),
            "one trace for each rank");
  }
  return {};
}

Expected<std::size_t> stage_of(const ForecastTraces& forecast, const RankTrace& trace) {
  const std::size_t stages = forecast.stages.size();
  if (stages == 1) return 0;
  if (trace.rank < 0)
    return fail(trace.file, fmt::format("says no rank, and the forecast has {} stages", stages),
        "a trace whose distributedInfo has its rank");
  if (trace.is_forecast()) return static_cast<std::size_t>(trace.rank) % stages;
  return static_cast<std::size_t>(trace.rank / forecast.stage_stride) % stages;
}

/// Sums of kernels that tell networks apart.
double work_of(const TimeSplit& split, WorkKind kind) {
  double seconds = 0;
  for (const SplitRow& row : split.rows)
    if (row.family == SplitFamily::compute && row.kind == kind) seconds += row.flight;
  return seconds;
}

/// A network with attention beside one without, or one of convolutions, is another network.
Expected<void> check_network(const TimeSplit& expected, const TimeSplit& measured, const std::string& file) {
  for (const WorkKind kind : {WorkKind::attention, WorkKind::conv, WorkKind::scan}) {
    const double is = work_of(measured, kind), expects = work_of(expected, kind);
    const double share = std::max(is / measured.compute_flight, expects / expected.compute_flight);
    if ((is > 0) != (expects > 0) && share > 0.02)
      return fail(file,
          fmt::format("is of another network than the forecast: {} of {}, the forecast has {}",
              format_seconds(Seconds(is)), to_text(kind), expects > 0 ? format_seconds(Seconds(expects)) : "none"),
          "the network that was trained; without one, stepcast compare TRACE shows what the trace holds");
  }
  return {};
}

/// Times that differ by more than this are of another batch, phase or network, whatever the kernels are like.
constexpr double most_times = 4;

/// A trace of other GPUs, of more ranks than the run has, without the collectives of the run, or of other work.
Expected<void> check_run(
    const ForecastTraces& forecast, const RankTrace& trace, const TimeSplit& expected, const TimeSplit& measured) {
  if (!trace.gpu.empty() && !forecast.gpu.empty()) {
    TRY(calibrate::check_device(trace.gpu, forecast.gpu, trace.file));
  }
  const auto count = [](const TimeSplit& split) {
    std::size_t calls = 0;
    for (const SplitRow& row : split.rows)
      if (row.family == SplitFamily::exposed) calls += row.calls;
    return calls;
  };
  if (count(expected) > 0 && count(measured) == 0)
    return fail(trace.file,
        fmt::format("has no collective, and the forecast has {} on {} GPUs", count(expected), forecast.gpus),
        "the --gpus and the split of the run that was traced");
  const double expects = work_of(expected, WorkKind::gemm), is = work_of(measured, WorkKind::gemm);
  if (expects > 0 && is > 0 && (is > most_times * expects || expects > most_times * is))
    return fail(trace.file,
        fmt::format("has {} of matrix products, and the forecast {}: it is of another run", format_seconds(Seconds(is)),
            format_seconds(Seconds(expects))),
        "the network, sequence and micro-batch of the run that was traced, and a step of training");
  return {};
}

struct PairedRank {
  const ReadTrace* measured;
  TimeSplit expected_split, measured_split;
  const RankTrace* expected;
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

void show(Beside& beside, const std::vector<PairedRank>& pairs, std::size_t shown,
    const std::map<std::string, Spread>& spreads) {
  for (const PairedRank& pair : pairs) beside.ranks.push_back({rank_text(pair.measured->trace), pace_of(pair)});
  const PairedRank& pair = pairs[shown];
  beside.measured = beside.ranks[shown].rank;
  beside.gap = gap_between(pair.expected_split, pair.measured_split, spreads);
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
    pairs.push_back({&one, split_of(expected), split_of(one), &expected});
    TRY(check_network(pairs.back().expected_split, pairs.back().measured_split, one.trace.file));
    if (!one.trace.is_forecast()) {
      TRY(check_run(forecast, one.trace, pairs.back().expected_split, pairs.back().measured_split));
    }
  }
  Beside beside;
  beside.expected = "the forecast", beside.p10_s = forecast.p10_s, beside.p90_s = forecast.p90_s;
  const auto slowest = static_cast<std::size_t>(forecast.slowest_stage) % forecast.stages.size();
  show(beside, pairs, choose(pairs, &stages[slowest]), forecast.spreads);
  return beside;
}

Expected<Beside> beside_trace(const std::vector<ReadTrace>& expected, const std::vector<ReadTrace>& measured) {
  if (expected.size() != measured.size())
    return fail(measured.front().trace.file,
        fmt::format("has {} GPUs, and {} has {}", measured.size(), expected.front().trace.file, expected.size()),
        "two traces of as many GPUs");
  std::vector<PairedRank> pairs;
  for (std::size_t i = 0; i < measured.size(); ++i)
    pairs.push_back({&measured[i], split_of(expected[i]), split_of(measured[i]), &expected[i].trace});
  Beside beside;
  beside.expected = expected.front().trace.file;
  show(beside, pairs, choose(pairs, nullptr), {});
  return beside;
}

}  // namespace stepcast::comparison
