// stepcast whatif: what moves a step, and by how much.
#include "studies/whatif/whatif.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "studies/commands.h"
#include "studies/launch/read/asked_run.h"
#include "studies/run/forecast.h"
#include "studies/whatif/machine_levers.h"
#include "studies/whatif/plan_levers.h"
#include "studies/run/phases.h"
#include "studies/whatif/whatif_report.h"
#include "studies/launch/run_flags.h"
#include "studies/whatif/whatif_change.h"

namespace stepcast {
namespace {

constexpr double least_factor = 1, most_factor = 1000;
constexpr double least_effect = 1e-4;

bool same_outcome(const Outcome& a, const Outcome& b) {
  return a.step_time == b.step_time && a.memory == b.memory && a.fits == b.fits;
}

/// The lever at one factor, all else as it is.
Expected<Variation> vary_machine(const MachineLever& lever, Scenario scenario, double factor) {
  lever.scale(scenario, factor);
  const auto prediction = predict(scenario);
  if (!prediction) return tl::unexpected(prediction.error());
  const double amount = lever.amount(scenario);
  return Variation{lever.text(amount), factor, amount, outcome_of(scenario, *prediction)};
}

/// Too small to be seen in a report is as good as nothing, unless it decides what fits.
void note_largest(LeverEffect& effect, const Outcome& before) {
  bool fit_stays = true;
  for (const Variation& variation : effect.variations) {
    effect.largest = std::max(effect.largest, std::abs(std::log1p(time_change(before, variation.after))));
    fit_stays &= variation.after.fits == before.fits;
  }
  if (effect.idle.empty() && fit_stays && effect.largest < least_effect) effect.idle = "the step changes by less than 0.01 %";
}

Expected<LeverEffect> machine_effect(const MachineLever& lever, const Sensitivity& study, const Prediction& base) {
  LeverEffect effect{lever.id, lever.name, lever.text(lever.amount(study.scenario)), true, lever.unit, {}, "", 0};
  for (const double factor : {1 / study.factor, study.factor}) {
    auto variation = vary_machine(lever, study.scenario, factor);
    if (!variation) return tl::unexpected(variation.error());
    effect.variations.push_back(std::move(*variation));
  }
  const auto unmoved = [&](const Variation& v) { return same_outcome(v.after, study.before); };
  if (std::all_of(effect.variations.begin(), effect.variations.end(), unmoved)) effect.idle = lever.idle(study.scenario, base);
  note_largest(effect, study.before);
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
  if (effect.variations.empty() && effect.idle.empty()) effect.idle = "no neighbour of it is legal";
  note_largest(effect, study.before);
  return effect;
}

Expected<double> factor_of(const Arguments& arguments) {
  if (!arguments.has("--factor")) return 2;
  const auto factor = parse_factor(arguments.value("--factor"), "--factor", least_factor, most_factor);
  if (factor && *factor == 1) return fail("--factor", "1 changes nothing", "2, 1.5 or 10");
  return factor;
}

Expected<void> answer_changes(const Request& request, const Arguments& arguments, Console& console) {
  for (const char* other : {"--factor", "--top"})
    if (arguments.has(other)) return fail(other, "does not go with --change", "leave one of them out");
  const auto changes = parse_changes(arguments.value("--change"), "--change");
  if (!changes) return tl::unexpected(changes.error());
  const auto effect = change_effect(request, *changes);
  if (!effect) return tl::unexpected(effect.error());
  console.out << (arguments.has("--json") ? change_json(*effect) : change_text(*effect, console));
  return {};
}

}  // namespace

Outcome outcome_of(const Scenario& scenario, const Prediction& prediction) {
  const StepReport& step = prediction.step;
  const double tokens = static_cast<double>(scenario.plan.global_batch) * static_cast<double>(scenario.plan.sequence);
  return {step.step_time,    step.p10,           step.p90,           tokens,          step.tokens_per_s_per_gpu, scenario.plan.gpus,
          step.memory.peak, step.memory.capacity, step.memory.fits, step.bubble_fraction, step.phases};
}

double time_change(const Outcome& before, const Outcome& after) { return after.time_per_token() / before.time_per_token() - 1; }

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
  auto scenario = complete(asked);
  if (!scenario) return tl::unexpected(scenario.error());
  study.scenario = std::move(*scenario);
  const auto base = predict(study.scenario);
  if (!base) return tl::unexpected(base.error());
  study.before = outcome_of(study.scenario, *base);
  for (const MachineLever& lever : machine_levers(study.scenario)) {
    auto effect = machine_effect(lever, study, *base);
    if (!effect) return tl::unexpected(effect.error());
    study.levers.push_back(std::move(*effect));
  }
  const Request request = pinned(asked, study.scenario);
  for (const PlanLever& lever : plan_levers(request, study.scenario)) study.levers.push_back(plan_effect(lever, study));
  std::stable_sort(study.levers.begin(), study.levers.end(), [](const LeverEffect& a, const LeverEffect& b) {
    return a.idle.empty() != b.idle.empty() ? a.idle.empty() : a.largest > b.largest;
  });
  return study;
}

std::span<const Flag> whatif_flags() {
  static const std::vector<Flag> flags = study_flags(
      {{.name = "--change", .key = "", .value = "WHAT=VALUE", .group = "What if",
        .doc = "only this, in place of all levers: nic=2x, hbm=0.5x, tp=4, micro-batch=2x, machine=dgx-b200; several: jointly",
        .kind = FlagKind::text, .repeats = true},
       {.name = "--factor", .key = "", .value = "F", .group = "What if",
        .doc = "the machine's levers are tried at 1/F and F (default 2)", .kind = FlagKind::text},
       {.name = "--top", .key = "", .value = "N", .group = "What if",
        .doc = "levers shown, largest effect first (default: all that act)", .kind = FlagKind::count, .least = 1, .most = 1000},
       {.name = "--json", .key = "", .value = "", .group = "Output", .doc = "one JSON document in base units",
        .kind = FlagKind::toggle}});
  return flags;
}

Expected<void> whatif_command(const Arguments& arguments, Console& console) {
  const auto request = read_request(arguments);
  if (!request) return tl::unexpected(request.error());
  if (arguments.has("--change")) return answer_changes(*request, arguments, console);
  const auto factor = factor_of(arguments);
  if (!factor) return tl::unexpected(factor.error());
  const auto study = sensitivity(*request, *factor);
  if (!study) return tl::unexpected(study.error());
  constexpr std::size_t all = 1000;
  const std::size_t top = arguments.has("--top") ? std::stoul(arguments.value("--top")) : all;
  console.out << (arguments.has("--json") ? whatif_json(*study, top) : whatif_text(*study, top, console));
  return {};
}

}  // namespace stepcast
