#include "studies/job/whole_step.h"

#include <iterator>

#include <fmt/format.h>

#include "studies/print/digits.h"
#include "studies/whatif/uneven.h"

namespace stepcast::job {
namespace {

struct SharePoint {
  double share, factor;
};
constexpr SharePoint published[] = {
    {0, 1}, {1 - 0.425, 1.1}, {0.9, 1 / (1 - 0.213)}, {0.99, 1 / (1 - 0.45)}, {1, 1 / (1 - 0.45)}};

}  // namespace

double FleetUnevenness::at(double share) {
  const SharePoint* above = std::begin(published) + 1;
  while (above + 1 != std::end(published) && above->share < share) ++above;
  const SharePoint* below = above - 1;
  return below->factor + (above->factor - below->factor) * (share - below->share) / (above->share - below->share);
}

Expected<WholeStep> whole_step(const JobRun& run, const JobWishes& wishes) {
  const Scenario& scenario = run.scenario;
  WholeStep step;
  step.even = run.outcome.step_time;
  if (wishes.uneven) {
    if (run.mixed)
      return fail("--imbalance", "words of it are of one machine, and --machine names several", "--imbalance none");
    TRY(const auto uneven, uneven_forecast(scenario, run.prediction, *wishes.uneven));
    step.uneven = uneven.mean_s / uneven.even_s, step.tokens = uneven.tokens;
    step.notes = uneven.notes;
    step.notes.push_back(
        fmt::format("steps of uneven work take {:.3f} times as long as even ones of whole sequences", step.uneven));
  } else if (wishes.fleets_unevenness && scenario.plan.gpus >= FleetUnevenness::least_gpus) {
    step.uneven = FleetUnevenness::mean, step.by_fleets = true;
    step.notes.push_back(fmt::format(
        "uneven work: steps take {:.3f} times as long, as of 3,079 jobs on 128 GPUs and more, which lost 10.4 "
        "% of their time to it (arXiv 2505.05713); in 39.3 % of those that were slow the last stage explains "
        "most, which the step may have already: --imbalance none, or what is known of this job",
        step.uneven));
  } else {
    step.notes.emplace_back("work is even over ranks and micro-batches: --imbalance");
  }
  const Seconds apart = step.even * step.uneven;
  const auto seed = static_cast<std::uint64_t>(wishes.seed);
  TRY(step.around, run.mixed ? around_kinds(*run.mixed, wishes.around, apart, seed)
                             : around_parts(scenario, run.prediction, wishes.around, apart, seed));
  return step;
}

Expected<void> check_length(const JobWishes& wishes, double tokens_per_step) {
  if (wishes.tokens && *wishes.tokens < tokens_per_step)
    return fail("--tokens",
        fmt::format("{:.6g} tokens, and a step has {}", *wishes.tokens, print::grouped_digits(tokens_per_step)),
        "whole steps: 15T, 300B or 1.5e12; or a smaller --global-batch");
  return {};
}

Expected<void> check_epochs(const JobWishes& wishes, double steps) {
  if (!wishes.around.cache || steps < 1 || static_cast<double>(wishes.around.cache->epochs) <= steps) return {};
  return fail("--loader-epochs",
      fmt::format("{} epochs, and the job has {} steps", wishes.around.cache->epochs, print::grouped_digits(steps)),
      fmt::format("at most {:.0f}: an epoch is a step or more", steps));
}

}  // namespace stepcast::job
