#include "studies/job/job_run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "studies/mixed/mixed_whatif.h"
#include "studies/whatif/plan_levers.h"

namespace stepcast::job {
namespace {

Expected<JobRun> run_on(const Request& request) {
  TRY(auto scenario, complete(request));
  TRY(auto prediction, run::predict(scenario));
  return run_of(std::move(scenario), std::move(prediction));
}

Expected<JobRun> run_on(const mixed::MixedRequest& asked) {
  TRY(auto kinds, forecast_mixed(asked));
  JobRun run{kinds.kinds.front().scenario, kinds.prediction, mixed::outcome_of(kinds), {}};
  run.mixed = std::move(kinds);
  return run;
}

/// The batch and the type are said as the run has them, so that it differs in what it should and in no default.
Expected<Request> with_more(const Request& request, const Scenario& scenario, std::int64_t gpus, std::int64_t batch) {
  Request larger = whatif::pinned(request, scenario);
  for (const auto& [id, value] : {std::pair{FieldId::gpus, scenario.plan.gpus * gpus},
           std::pair{FieldId::global_batch, scenario.plan.global_batch * batch}})
    TRY(larger.say(field(id), std::to_string(value), std::string(field(id).flag)));
  return larger;
}

Expected<JobRun> larger_run(const Request& request, const Scenario& scenario, std::int64_t gpus, std::int64_t batch) {
  TRY(auto larger, with_more(request, scenario, gpus, batch));
  const std::int64_t all = scenario.plan.gpus * gpus;
  larger.machine = scenario.machine;
  Level& outermost = larger.machine->row.levels.back();
  outermost.gpus = std::max(outermost.gpus, (all + outermost.gpus - 1) / outermost.gpus * outermost.gpus);
  return run_on(larger);
}

Expected<JobRun> larger_run(
    const mixed::MixedRequest& asked, const Scenario& scenario, std::int64_t gpus, std::int64_t batch) {
  mixed::MixedRequest larger = asked;
  TRY(larger.request, with_more(asked.request, scenario, gpus, batch));
  larger.request.profile.reset();  // each kind has its own
  for (mixed::MachineShare& share : larger.shares) share.gpus *= gpus;
  return run_on(larger);
}

}  // namespace

std::vector<JobNodes> JobRun::nodes() const {
  std::vector<JobNodes> nodes;
  const auto add = [&](const Machine& machine, std::int64_t gpus) {
    nodes.push_back({gpus, std::min(machine.levels.front().gpus, gpus), machine.gpu.power_w});
  };
  if (!mixed) add(scenario.machine.row, scenario.plan.gpus);
  else
    for (const mixed::MixedKind& kind : mixed->kinds) add(kind.share.machine.row, kind.share.gpus);
  return nodes;
}

JobRun run_of(Scenario scenario, Prediction prediction) {
  const Outcome outcome = whatif::outcome_of(scenario, prediction);
  return {std::move(scenario), std::move(prediction), outcome, {}};
}

Expected<JobRun> run_of(const JobQuestion& question) {
  return std::visit([](const auto& asked) { return run_on(asked); }, question);
}

Expected<JobRun> grown_run(const JobQuestion& question, const JobRun& now, std::int64_t gpus, std::int64_t batch) {
  TRY(auto run, std::visit([&](const auto& asked) { return larger_run(asked, now.scenario, gpus, batch); }, question));
  if (!run.outcome.fits) return fail("memory", "a step does not fit into memory", "another plan");
  return run;
}

std::string machines_text(const JobRun& run) {
  if (!run.mixed) return fmt::format("{} x {}", run.scenario.plan.gpus, run.scenario.machine.row.gpu.name);
  return to_text(run.mixed->shares());
}

}  // namespace stepcast::job
