#include "studies/job/ten_times.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/quantity_text.h"
#include "studies/print/digits.h"

namespace stepcast::job {
namespace {

constexpr std::int64_t times = 10;

void set_same_batch(const JobNow& now, TenTimes& ten) {
  const auto run = grown_run(now.question, now.run, times, 1);
  if (run) ten.same_batch = run->outcome.step_time;
  else ten.no_same_batch = run.error().what;
}

/// Where a machine ends before so many GPUs; two shares of it say so once.
void add_end_of(const Machine& machine, std::int64_t gpus, TenTimes& ten) {
  if (gpus <= machine.max_gpus()) return;
  std::string text = fmt::format("the machine: {} has {} GPUs; its outermost level is taken to hold more at its rate",
      machine.name, print::grouped_digits(static_cast<double>(machine.max_gpus())));
  if (!contains(ten.breaks, text)) ten.breaks.push_back(std::move(text));
}

void set_breaks(const JobNow& now, TenTimes& ten) {
  for (const HealthFigure& figure : ten.health)
    if (const HealthVerdict verdict = figure.verdict(); verdict != HealthVerdict::healthy)
      ten.breaks.push_back(fmt::format("{} is {}: {:.3g}, {} from {:g}", figure.name, to_text(verdict), figure.value,
          to_text(verdict), verdict == HealthVerdict::slow ? figure.slow : figure.broken));
  constexpr double longer = 1.05, least_gain = 0.5;
  if (const Seconds step = now.step.time(); ten.step && *ten.step > step * longer)
    ten.breaks.push_back(fmt::format("the step: with ten times the batch it takes {} instead of {}",
        format_seconds(*ten.step), format_seconds(step)));
  if (!now.run.mixed) add_end_of(now.run.scenario.machine.row, ten.gpus, ten);
  else
    for (const mixed::MixedKind& kind : now.run.mixed->kinds)
      add_end_of(kind.share.machine.row, kind.share.gpus * times, ten);
  if (!ten.step) return;
  if (!ten.same_batch)
    ten.breaks.push_back(fmt::format("the batch: as it is it does not go on so many GPUs ({})", ten.no_same_batch));
  else if (const double gain = now.run.outcome.step_time / *ten.same_batch; gain < least_gain * times)
    ten.breaks.push_back(fmt::format("the batch: as it is, steps are only {:.1f} times as fast", gain));
}

/// The job's base on so many GPUs with its step as it is.
JobBase grown(JobBase base) {
  base.gpus *= times;
  base.checkpoint.fullest_gpu = base.checkpoint.fullest_gpu / static_cast<double>(times);
  return base;
}

/// The base with the step forecast there, and in which share compute waits.
Expected<std::pair<JobBase, double>> forecast_base(const JobNow& now, const JobWishes& wishes) {
  TRY(const auto run, grown_run(now.question, now.run, times, times));
  TRY(const auto step, whole_step(run, wishes));
  return std::pair{job_base(run, step), waits_of(run.outcome)};
}

}  // namespace

Expected<TenTimes> ten_times(const JobNow& now, const JobWishes& wishes) {
  JobWishes more = wishes;
  more.interval.reset();
  if (more.spares) *more.spares *= times;
  TenTimes ten;
  const auto there = forecast_base(now, more);
  const JobBase base = there ? there->first : grown(now.base);
  TRY(const auto settings, job_settings(base, more));
  ten.gpus = base.gpus;
  ten.between_failures = settings.life.failures.mean_between(), ten.interval = settings.life.saves.interval;
  ten.goodput = goodput_of(settings, now.steps * base.step);
  ten.health = health_figures(settings, ten.goodput, there ? there->second : 0);
  if (there) {
    ten.step = base.step;
    set_same_batch(now, ten);
  } else {
    ten.no_step = there.error().what;
    std::erase_if(ten.health, [](const HealthFigure& figure) { return figure.id == "communication"; });
  }
  set_breaks(now, ten);
  return ten;
}

}  // namespace stepcast::job
