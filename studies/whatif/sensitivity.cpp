#include "studies/whatif/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "studies/run/figures/phases.h"
#include "studies/whatif/machine_levers.h"
#include "studies/whatif/plan_levers.h"

namespace stepcast::whatif {
namespace {

constexpr double least_effect = 1e-4;

bool same_outcome(const Outcome& a, const Outcome& b) {
  return a.step_time == b.step_time && a.memory == b.memory && a.fits == b.fits;
}

/// The lever at one factor, all else as it is.
Expected<Variation> vary_machine(const MachineLever& lever, Scenario scenario, double factor) {
  lever.scale(scenario, factor);
  TRY(const auto prediction, run::predict(scenario));
  const double amount = lever.amount(scenario);
  return Variation{lever.text(amount), factor, amount, outcome_of(scenario, prediction)};
}

/// Too small to be seen in a report is as good as nothing, unless it decides what fits.
void note_largest(LeverEffect& effect, const Outcome& before) {
  bool fit_stays = true;
  for (const Variation& variation : effect.variations) {
    effect.largest = std::max(effect.largest, std::abs(std::log1p(time_change(before, variation.after))));
    fit_stays &= variation.after.fits == before.fits;
  }
  if (effect.idle.empty() && fit_stays && effect.largest < least_effect)
    effect.idle = "the step changes by less than 0.01 %";
}

Expected<LeverEffect> machine_effect(const MachineLever& lever, const Sensitivity& study, const Prediction& base) {
  LeverEffect effect{lever.id, lever.name, lever.text(lever.amount(study.scenario)), true, lever.unit, {}, "", 0};
  for (const double factor : {1 / study.factor, study.factor}) {
    TRY(auto variation, vary_machine(lever, study.scenario, factor));
    effect.variations.push_back(std::move(variation));
  }
  const auto unmoved = [&](const Variation& v) { return same_outcome(v.after, study.before); };
  if (std::all_of(effect.variations.begin(), effect.variations.end(), unmoved))
    effect.idle = lever.idle(study.scenario, base);
  return effect;
}

/// What resolve or predict says against a neighbour goes into `refused`.
LeverEffect plan_effect(const PlanLever& lever, Sensitivity& study) {
  LeverEffect effect{lever.id, lever.name, lever.from, false, "", {}, lever.idle, 0};
  for (const PlanStep& step : lever.steps) {
    const auto outcome = outcome_of_request(step.request);
    if (outcome) {
      effect.variations.push_back({step.to, 0, 0, *outcome});
    } else {
      study.refused.push_back({lever.id, step.to, outcome.error().what});
    }
  }
  return effect;
}

}  // namespace

void Sensitivity::add(LeverEffect effect) {
  if (effect.variations.empty() && effect.idle.empty()) effect.idle = "no neighbour of it is legal";
  note_largest(effect, before);
  levers.push_back(std::move(effect));
}

void Sensitivity::sort() {
  std::ranges::stable_sort(levers, [](const LeverEffect& a, const LeverEffect& b) {
    return a.idle.empty() != b.idle.empty() ? a.idle.empty() : a.largest > b.largest;
  });
}

Outcome outcome_of(const Scenario& scenario, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  const double tokens = static_cast<double>(scenario.plan.global_batch) * static_cast<double>(scenario.plan.sequence);
  return {step.step_time, step.p10, step.p90, tokens, step.tokens_per_s_per_gpu, scenario.plan.gpus, step.memory.peak,
      step.memory.capacity, step.memory.fits, step.bubble_fraction, step.phases};
}

Expected<Outcome> outcome_of_scenario(const Scenario& scenario) {
  TRY(const auto prediction, run::predict(scenario));
  return outcome_of(scenario, prediction);
}

Expected<Outcome> outcome_of_request(const Request& request) {
  TRY(const auto scenario, complete(request));
  return outcome_of_scenario(scenario);
}

double time_change(const Outcome& before, const Outcome& after) {
  return after.gpu_time_per_token() / before.gpu_time_per_token() - 1;
}

PhaseMove moved_most(const Outcome& before, const Outcome& after) {
  PhaseMove most{"", "", Seconds(0)};
  const auto then = phase_rows(before.phases), now = phase_rows(after.phases);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Seconds change = now[i].time - then[i].time;
    if (std::abs(change.value()) > std::abs(most.change.value())) most = {now[i].name, now[i].key, change};
  }
  return most;
}

Expected<Sensitivity> sensitivity(const Request& asked, double factor) {
  Sensitivity study;
  study.factor = factor;
  TRY(study.scenario, complete(asked));
  TRY(const auto base, run::predict(study.scenario));
  study.before = outcome_of(study.scenario, base);
  for (const MachineLever& lever : machine_levers(study.scenario)) {
    TRY(auto effect, machine_effect(lever, study, base));
    study.add(std::move(effect));
  }
  const Request request = pinned(asked, study.scenario);
  for (const PlanLever& lever : plan_levers(request, study.scenario)) study.add(plan_effect(lever, study));
  study.sort();
  return study;
}

}  // namespace stepcast::whatif
