#include "studies/scale/horizon.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/run/forecast.h"
#include "studies/run/figures/phases.h"

namespace stepcast::scale {
namespace {

/// Below it, a GPU-hour in five is lost.
constexpr double poor_efficiency = 0.8;
constexpr double wider_interval = 1.1;
constexpr std::size_t most_tries = 64;  // each is a forecast

/// Whether the batch alone allows this count: a cheap test before a forecast.
bool batch_divides(const ScaleBase& base, Scaling scaling, std::int64_t gpus) {
  const auto batch = batch_at(base.run.global_batch, base.run.gpus, scaling, gpus);
  return batch && *batch % (base.scenario.plan.micro_batch * (gpus / base.ways)) == 0;
}

/// Counts that hold whole copies of the model, nearest to `wanted` first, ratio-wise.
std::vector<std::int64_t> counts_near(const ScaleBase& base, Scaling scaling, std::int64_t wanted) {
  const std::int64_t most = std::min(2 * wanted, base.scenario.machine.row.max_gpus());
  std::vector<std::int64_t> counts;
  for (std::int64_t gpus = std::max(base.run.gpus, wanted / 2) / base.ways * base.ways; gpus <= most; gpus += base.ways)
    if (gpus > base.run.gpus && batch_divides(base, scaling, gpus)) counts.push_back(gpus);
  const auto distance = [&](std::int64_t gpus) {
    return std::abs(std::log(static_cast<double>(gpus) / static_cast<double>(wanted)));
  };
  std::stable_sort(
      counts.begin(), counts.end(), [&](std::int64_t a, std::int64_t b) { return distance(a) < distance(b); });
  if (counts.size() > most_tries) counts.resize(most_tries);
  return counts;
}

std::optional<ScaledRun> nearest_run(const ScaleBase& base, Scaling scaling, std::int64_t wanted) {
  for (const std::int64_t gpus : counts_near(base, scaling, wanted))
    if (auto run = run_at(base, scaling, gpus)) return *run;
  return std::nullopt;
}

/// Of each phase ideal scaling leaves all (weak) or its part (strong).
PhaseMove grown_phase(const ScaleBase& base, Scaling scaling, const ScaledRun& run) {
  const double growth = static_cast<double>(run.gpus) / static_cast<double>(base.run.gpus);
  const auto then = phase_rows(base.run.outcome.phases), now = phase_rows(run.outcome.phases);
  PhaseMove most{"", "", Seconds(0)};
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Seconds lost = now[i].time - then[i].time / (scaling == Scaling::strong ? growth : 1);
    if (lost > most.change) most = {now[i].name, now[i].key, lost};
  }
  return most;
}

double relative_width(const Outcome& outcome) { return (outcome.p90 - outcome.p10) / outcome.step_time; }

/// Gravest first: what cannot run, what does not fit, what idles, what no longer pays.
std::vector<std::string> breaks_of(const ScaleBase& base, Scaling scaling, const Horizon& horizon) {
  std::vector<std::string> breaks;
  if (!horizon.not_as_asked.empty()) breaks.push_back(horizon.not_as_asked);
  if (!horizon.run) return breaks;
  const ScaledRun& run = *horizon.run;
  const Outcome &now = run.outcome, &then = base.run.outcome;
  if (!now.fits && then.fits)
    breaks.push_back(fmt::format("memory: {} of {}", format_bytes(now.memory), format_bytes(now.capacity)));
  if (run.micro_batches < base.stages && base.run.micro_batches >= base.stages)
    breaks.push_back(fmt::format("{} micro-batches are fewer than {} stages: bubble {}", run.micro_batches, base.stages,
        format_percent(now.bubble_fraction)));
  if (run.efficiency < poor_efficiency)
    breaks.push_back(fmt::format("efficiency {}: {} {} longer than {} scaling leaves of it",
        format_percent(run.efficiency), horizon.grown.name, format_seconds(horizon.grown.change),
        scaling == Scaling::strong ? "ideal strong" : "ideal weak"));
  if (relative_width(now) > wider_interval * relative_width(then))
    breaks.push_back(fmt::format("the interval widens from {} to {} of the step", format_percent(relative_width(then)),
        format_percent(relative_width(now))));
  return breaks;
}

std::string beyond_machine(const ScaleBase& base, std::int64_t wanted) {
  const Machine& machine = base.scenario.machine.row;
  if (wanted <= machine.max_gpus()) return "";
  return fmt::format("{} GPUs are more than the {} of {}", wanted, machine.max_gpus(), machine.name);
}

}  // namespace

Expected<std::int64_t> batch_at(std::int64_t batch, std::int64_t first, Scaling scaling, std::int64_t gpus) {
  if (scaling == Scaling::strong) return batch;
  if (batch * gpus % first != 0)
    return fail("--gpus", fmt::format("{} x {}/{} is not a whole global batch", batch, gpus, first),
        "a multiple of the first count");
  return batch * gpus / first;
}

Expected<ScaledRun> run_at(const ScaleBase& base, Scaling scaling, std::int64_t gpus) {
  TRY(const auto batch, batch_at(base.run.global_batch, base.run.gpus, scaling, gpus));
  Request request = base.request;
  for (const auto& [key, value] : {std::pair{"gpus", gpus}, {"global_batch", batch}})
    TRY(request.say(key, std::to_string(value), flag_of(find_field(key)->id)));
  TRY(const auto scenario, complete(request));
  TRY(const auto prediction, run::predict(scenario));
  ScaledRun run{gpus, batch, scenario.micro_batches, outcome_of(scenario, prediction), 1, 1};
  const Outcome& first = base.run.outcome;
  run.speed_up = (run.outcome.tokens / run.outcome.step_time.value()) / (first.tokens / first.step_time.value());
  run.efficiency = run.speed_up * static_cast<double>(base.run.gpus) / static_cast<double>(gpus);
  return run;
}

Horizon look_ahead(const ScaleBase& base, Scaling scaling, double times) {
  Horizon horizon;
  horizon.times = times;
  horizon.wanted = static_cast<std::int64_t>(std::llround(times * static_cast<double>(base.run.gpus)));
  horizon.not_as_asked = beyond_machine(base, horizon.wanted);
  if (horizon.not_as_asked.empty()) {
    if (auto run = run_at(base, scaling, horizon.wanted)) {
      horizon.run = std::move(*run);
    } else {
      horizon.not_as_asked = run.error().what;
    }
  }
  if (!horizon.run) horizon.run = nearest_run(base, scaling, horizon.wanted);
  if (horizon.run) horizon.grown = grown_phase(base, scaling, *horizon.run);
  horizon.breaks = breaks_of(base, scaling, horizon);
  return horizon;
}

}  // namespace stepcast::scale
