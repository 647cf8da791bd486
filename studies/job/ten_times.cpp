#include "studies/job/ten_times.h"

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/whatif/plan_levers.h"

namespace stepcast::job {
namespace {

constexpr std::int64_t times = 10;

struct LargerRun {
  Scenario scenario;
  Prediction prediction;
  Outcome outcome;
};
Expected<LargerRun> larger_run(const Request& request, const Scenario& scenario, std::int64_t batch) {
  Request larger = whatif::pinned(request, scenario);
  for (const auto& [id, value] : {std::pair{FieldId::gpus, scenario.plan.gpus * times},
           std::pair{FieldId::global_batch, scenario.plan.global_batch * batch}}) {
    TRY(larger.say(field(id), std::to_string(value), std::string(field(id).flag)));
  }
  LargerRun run;
  TRY(run.scenario, complete(larger));
  TRY(run.prediction, run::predict(run.scenario));
  run.outcome = outcome_of(run.scenario, run.prediction);
  if (!run.outcome.fits) return fail("memory", "a step does not fit into memory", "another plan");
  return run;
}

void set_same_batch(const Request& request, const Scenario& scenario, TenTimes& ten) {
  const auto run = larger_run(request, scenario, 1);
  if (run) ten.same_batch = run->outcome.step_time;
  else ten.no_same_batch = run.error().what;
}

void set_breaks(const Outcome& now, const WholeStep& step, TenTimes& ten) {
  for (const HealthFigure& figure : ten.health)
    if (const HealthVerdict verdict = figure.verdict(); verdict != HealthVerdict::healthy)
      ten.breaks.push_back(fmt::format("{} is {}: {:.3g}, {} from {:g}", figure.name, to_text(verdict), figure.value,
          to_text(verdict), verdict == HealthVerdict::slow ? figure.slow : figure.broken));
  constexpr double longer = 1.05, least_gain = 0.5;
  if (ten.step > step.time() * longer)
    ten.breaks.push_back(fmt::format("the step: with ten times the batch it takes {} instead of {}",
        format_seconds(ten.step), format_seconds(step.time())));
  if (!ten.same_batch)
    ten.breaks.push_back(fmt::format("the batch: as it is it does not go on so many GPUs ({})", ten.no_same_batch));
  else if (const double gain = now.step_time / *ten.same_batch / times; gain < least_gain)
    ten.breaks.push_back(
        fmt::format("the batch: as it is, steps are only {:.1f} times as fast", gain * static_cast<double>(times)));
}

}  // namespace

Expected<TenTimes> ten_times(const Request& request, const Scenario& scenario, const Outcome& now,
    const WholeStep& step, const JobWishes& wishes) {
  TRY(const auto run, larger_run(request, scenario, times));
  JobWishes more = wishes;
  more.interval.reset();
  if (more.spares) *more.spares *= times;
  TRY(const auto larger, whole_step(run.scenario, run.prediction, more));
  TRY(const auto settings, job_settings(job_base(run.scenario, run.prediction, larger.time()), more));
  TenTimes ten;
  ten.gpus = run.scenario.plan.gpus, ten.step = larger.time();
  ten.between_failures = settings.life.failures.mean_between(), ten.interval = settings.life.saves.interval;
  ten.goodput = goodput_of(settings);
  ten.health = health_figures(settings, ten.goodput, waits_of(run.outcome));
  set_same_batch(request, scenario, ten);
  set_breaks(now, step, ten);
  return ten;
}

}  // namespace stepcast::job
