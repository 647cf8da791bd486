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
  double expected_mhz = 0;  ///< the clock that was recorded there
};

std::vector<RankPace> paces_of(const std::vector<PairedRank>& pairs) {
  std::vector<RankPace> paces;
  for (const PairedRank& pair : pairs) {
    paces.push_back(pace_of(rank_text(pair.measured->trace), pair.expected_split, pair.measured_split));
    paces.back().clock_mhz = clock_of(pair.measured->trace, pair.measured->steps);
  }
  return paces;
}

/// The slow rank; else of the slowest stage, where it is there, the longest step.
std::size_t choose(const std::vector<PairedRank>& pairs, const std::vector<RankPace>& paces, const RankTrace* slowest) {
  if (const auto faulty = faulty_rank_of(paces)) return faulty->at;
  std::size_t best = 0;
  const auto rank = [&](const PairedRank& pair) {
    return std::pair(pair.expected == slowest, pair.measured_split.seconds);
  };
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (rank(pairs[i]) > rank(pairs[best])) best = i;
  return best;
}

/// `slowest`: of the forecast's stages; nullptr: of none.
void show(
    Beside& beside, const std::vector<PairedRank>& pairs, const RankTrace* slowest, const ExpectedPrices& prices) {
  beside.ranks = paces_of(pairs);
  const std::size_t shown = choose(pairs, beside.ranks, slowest);
  const PairedRank& pair = pairs[shown];
  beside.measured = beside.ranks[shown].rank;
  beside.measured_at = shown, beside.expected_at = pair.expected_at;
  beside.gap = gap_between(pair.expected_split, pair.measured_split, prices);
  beside.causes = causes_of(beside.gap, pair.expected_split, pair.measured_split, pair.measured->trace.names,
      pair.expected->names, beside.ranks, shown, pair.expected_mhz);
  const FoundSteps& steps = pair.measured->steps;
  beside.notes.push_back(fmt::format("{} step{} by {}, number {} taken", steps.steps.size(),
      steps.steps.size() == 1 ? "" : "s", steps.how, steps.steps[static_cast<std::size_t>(steps.taken)].number));
  for (const std::string& note :
      {beside.gap.aligned, clock_text(pair.measured->trace, steps), clock_drift_text(pair.measured->trace, steps)})
    if (!note.empty()) beside.notes.push_back(note);
  const auto replaced = std::ranges::count_if(
      pairs, [](const PairedRank& other) { return !other.measured->trace.replaced_clocks.empty(); });
  if (replaced > 1)
    beside.notes.push_back(fmt::format("clocks that {} traces recorded are replaced by the table's", replaced));
  // Where all that runs is as much longer or shorter, it is rather more or less of it.
  constexpr double another_size = 1.5;
  const RankPace& own = beside.ranks[shown];
  if (own.pace >= another_size || std::max(own.products, own.memory) * another_size <= 1)
    beside.notes.push_back(fmt::format("products, attention and memory-bound kernels all take about {:.1f} times as "
                                       "long: another batch or sequence?",
        own.pace));
  const TraceFacts facts = facts_of(pair.measured->trace, steps, steps.taken);
  if (facts.unplaced_share() > 0)
    beside.notes.push_back(
        fmt::format("{:.2f} % of the kernels' time has names that no row knows", 100 * facts.unplaced_share()));
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
      double flops = 0;
      for (const SplitProduct& product : pairs.back().expected_split.products)
        flops += forecast.prices.flops_of(product);
      TRY(check_run({forecast.gpu, forecast.gpus, flops, forecast.peak,
                        "the network, sequence and micro-batch of the run that was traced, "
                        "and a step of training"},
          one.trace, pairs.back().expected_split, pairs.back().measured_split));
    }
  }
  Beside beside;
  beside.expected = "the forecast", beside.p10_s = forecast.p10_s, beside.p90_s = forecast.p90_s;
  const auto slowest = static_cast<std::size_t>(forecast.slowest_stage) % forecast.stages.size();
  show(beside, pairs, &stages[slowest], forecast.prices);
  if (const std::string note = other_own_run(stages.front(), measured.front().trace); !note.empty())
    beside.notes.push_back(note);
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
    double flops = 0;
    for (const SplitProduct& product : forecast.split.products) flops += product.flops;
    TRY(check_run(
        {forecast.gpu, forecast.gpus, flops, forecast.peak, "the network, --prompt, --batch and --tp of the iteration"},
        one.trace, forecast.split, pairs.back().measured_split));
  }
  Beside beside;
  beside.what = "Iteration", beside.expected = "the forecast";
  beside.p10_s = forecast.p10_s, beside.p90_s = forecast.p90_s;
  show(beside, pairs, nullptr, forecast.prices);
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
    pairs.push_back({&measured[i], split_of(expected[i]), split_of(measured[i]), &expected[i].trace, i,
        clock_of(expected[i].trace, expected[i].steps)});
  Beside beside;
  beside.expected = expected.front().trace.file;
  show(beside, pairs, nullptr, {});
  constexpr double alike = 0.5;
  const double shared = shared_with(measured[beside.measured_at].trace, expected[beside.expected_at].trace);
  if (shared < alike)
    beside.notes.push_back(
        fmt::format("{:.0f} % of the kernels' time has names that both traces have: another network, "
                    "GPU or library",
            100 * shared));
  return beside;
}

}  // namespace stepcast::comparison
