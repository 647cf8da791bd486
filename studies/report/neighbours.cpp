// The sweep of a report: the run's job, split in every usual way.
#include "studies/report/folder.h"
#include "studies/whatif/plan_levers.h"
#include "studies/sweep/search/run.h"
#include "studies/sweep/write/explorer.h"
#include "studies/sweep/space/space_words.h"

namespace stepcast::report {
namespace {

/// The run's nouns, numbers and ways of its software; what is an axis is left to its usual values.
SpaceWords words_of(const Request& request, const Scenario& scenario) {
  SpaceWords words;
  words.request = pinned(request, scenario);
  unsay_axes(words.request);
  words.axis(AxisId::gpus) = AxisWords{{std::to_string(scenario.plan.gpus)}, "--gpus"};
  words.axis(AxisId::precision) = AxisWords{{to_text(scenario.plan.precision)}, "--precision"};
  // it is the run's own
  (void)words.request.say("global_batch", std::to_string(scenario.plan.global_batch), "--global-batch");
  words.pareto = AxisWords{{"step_time,memory.peak"}, "--pareto"};
  words.top = Request::Value{std::to_string(sweep::explorer_rows), "--top"};
  return words;
}

}  // namespace

Expected<SweepResult> neighbours(const Request& request, const Scenario& scenario, int threads) {
  if (request.mapping)
    return fail("sweep", "the run's split is a mapping file, which has no neighbours", "say it by flags");
  SpaceWords words = words_of(request, scenario);
  TRY(const auto usual, read_space(words));
  TRY(const auto space, read_space(with_own_values(std::move(words), usual, request)));
  SweepOptions options;
  options.threads = threads;
  TRY(auto swept, run_sweep(space, Shard{}, options));
  return std::move(swept.result);
}

}  // namespace stepcast::report
