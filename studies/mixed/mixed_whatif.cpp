#include "studies/mixed/mixed_whatif.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/mixed/report.h"
#include "studies/whatif/machine_levers.h"
#include "studies/whatif/plan_levers.h"
#include "studies/whatif/whatif.h"

namespace stepcast::mixed {
namespace {

/// The most bytes of any rank, of the memory that its kind has.
void set_peak_memory(const MixedRun& run, Outcome& outcome) {
  outcome.memory = Bytes(-1);
  const auto& peaks = run.prediction.step.memory.peaks;
  for (const MixedKind& kind : run.kinds) {
    const Bytes capacity = kind.scenario.machine.row.gpu.memory;
    const Bytes peak = kind.replica ? kind.replica->memory.peak
                                    : *std::max_element(peaks.begin() + kind.first_stage,
                                          peaks.begin() + kind.first_stage + kind.stages);
    if (peak > outcome.memory) outcome.memory = peak, outcome.capacity = capacity;
  }
}

/// "dgx-a100", or "dgx-a100 (2)" where several shares have that name.
std::string name_of(const FleetKinds& fleet, std::size_t kind) {
  const std::string& name = fleet.kinds[kind].share.name;
  std::size_t alike = 0, before = 0;
  for (std::size_t i = 0; i < fleet.kinds.size(); ++i) {
    if (fleet.kinds[i].share.name != name) continue;
    ++alike;
    before += i <= kind ? 1 : 0;
  }
  return alike == 1 ? name : fmt::format("{} ({})", name, before);
}

/// A request on the kinds, whose shares say the GPUs, and each of which has a profile of its own.
Request of_kinds(Request request) {
  request.unsay(FieldId::gpus);
  request.profile.reset();
  return request;
}

class KindLevers {
 public:
  KindLevers(const MixedRequest& asked, const LaidKinds& laid, Sensitivity& study)
      : asked_(asked), laid_(laid), study_(study) {
    asked_.request = of_kinds(pinned(asked.request, laid.fleet.first()));
  }

  Expected<void> all() {
    for (std::size_t kind = 0; kind < laid_.fleet.kinds.size(); ++kind)
      for (const MachineLever& lever : machine_levers(laid_.fleet.kinds[kind].scenario)) TRY(of_machine(kind, lever));
    if (asked_.between) of_line();
    for (std::size_t kind = 0; kind < asked_.shares.size(); ++kind) of_gpus(kind);
    of_plan();
    return {};
  }

 private:
  Expected<void> of_machine(std::size_t kind, const MachineLever& lever) {
    const Scenario& own = laid_.fleet.kinds[kind].scenario;
    const std::string name = name_of(laid_.fleet, kind);
    LeverEffect effect{
        lever.id + "@" + name, name + ": " + lever.name, lever.text(lever.amount(own)), true, lever.unit, {}, "", 0};
    for (const double factor : {1 / study_.factor, study_.factor}) {
      LaidKinds changed = laid_;
      KindScenario& here = changed.fleet.kinds[kind];
      lever.scale(here.scenario, factor);
      here.across = joined_by(here.scenario, asked_.between);
      TRY(const auto run, forecast_kinds(changed));
      const double amount = lever.amount(here.scenario);
      effect.variations.push_back({lever.text(amount), factor, amount, outcome_of(run)});
    }
    study_.add(std::move(effect));
    return {};
  }

  void of_line() {
    const double rate = asked_.between->rate.value();
    LeverEffect effect{
        "between", "rate between the kinds", format_rate(asked_.between->rate), true, "_bytes_per_s", {}, "", 0};
    for (const double factor : {1 / study_.factor, study_.factor}) {
      MixedRequest changed = asked_;
      changed.between->rate = BytesPerSecond(rate * factor);
      take(effect, {format_rate(changed.between->rate), factor, rate * factor, {}}, changed);
    }
    study_.add(std::move(effect));
  }

  /// Half of them, twice as many, none; the batch stays.
  void of_gpus(std::size_t kind) {
    const MachineShare& share = asked_.shares[kind];
    const std::string name = name_of(laid_.fleet, kind);
    LeverEffect effect{"gpus@" + name, "GPUs of " + name, fmt::format("{}", share.gpus), false, "", {}, "", 0};
    for (const std::int64_t gpus : std::set{std::int64_t{0}, share.gpus / 2, share.gpus * 2}) {
      MixedRequest changed = asked_;
      changed.shares[kind].gpus = gpus;
      const auto holds = check_share_of_machine(changed.shares[kind], asked_.where);
      if (gpus == 0) changed.shares.erase(changed.shares.begin() + static_cast<std::ptrdiff_t>(kind));
      if (const std::string to = std::to_string(gpus); holds) take(effect, {to, 0, 0, {}}, changed);
      else study_.refused.push_back({effect.id, to, holds.error().what});
    }
    study_.add(std::move(effect));
  }

  void of_plan() {
    const Scenario& first = laid_.fleet.first();
    for (const PlanLever& lever : plan_levers(pinned(asked_.request, first), first)) {
      if (lever.id == "gpus" || lever.id == "nodes") continue;  // of each kind, above
      LeverEffect effect{lever.id, lever.name, lever.from, false, "", {}, lever.idle, 0};
      for (const PlanStep& step : lever.steps) {
        MixedRequest changed = asked_;
        changed.request = of_kinds(step.request);
        take(effect, {step.to, 0, 0, {}}, changed);
      }
      study_.add(std::move(effect));
    }
  }

  /// The variation with what comes after it, or why there is none.
  void take(LeverEffect& effect, Variation variation, const MixedRequest& changed) {
    const auto outcome = outcome_at(changed);
    if (!outcome) {
      study_.refused.push_back({effect.id, variation.to, outcome.error().what});
      return;
    }
    variation.after = *outcome;
    effect.variations.push_back(std::move(variation));
  }

  /// Of what is left of the kinds: it may be one.
  static Expected<Outcome> outcome_at(const MixedRequest& asked) {
    if (asked.shares.size() > 1) {
      TRY(const auto run, forecast_mixed(asked));
      return outcome_of(run);
    }
    Request request = asked.request;
    request.machine = asked.shares.front().machine;
    TRY(request.say("gpus", std::to_string(asked.gpus()), asked.where));
    return outcome_of_request(request);
  }

  MixedRequest asked_;  ///< with batch and number type said as the run has them
  const LaidKinds& laid_;
  Sensitivity& study_;
};

}  // namespace

Outcome outcome_of(const MixedRun& run) {
  Outcome outcome = whatif::outcome_of(run.kinds.front().scenario, run.prediction);
  outcome.step_time = run.step_time, outcome.p10 = run.p10, outcome.p90 = run.p90;
  outcome.tokens_per_s_per_gpu = run.tokens() / run.step_time.value() / static_cast<double>(run.gpus());
  outcome.fits = run.fits();
  set_peak_memory(run, outcome);
  return outcome;
}

Expected<Sensitivity> sensitivity_of_kinds(const MixedRequest& asked, double factor, const Console& console) {
  Sensitivity study;
  study.factor = factor;
  TRY(const auto laid, lay_kinds(asked));
  TRY(const auto run, forecast_kinds(laid));
  study.scenario = laid.fleet.first();
  study.before = outcome_of(run);
  study.title = mixed_title(run, console);
  study.scenario.machine.row.id = ids_of(asked.shares);
  TRY(KindLevers(asked, laid, study).all());
  study.sort();
  return study;
}

Expected<void> whatif_command(const Arguments& arguments, Console& console) {
  TRY(const bool several, asks_for_kinds(arguments));
  if (!several) return whatif::whatif_command(arguments, console);
  constexpr std::string_view own[] = {"--factor", "--top", "--json", "--csv"};
  TRY(const auto asked, read_mixed(arguments, own));
  TRY(const auto factor, whatif::asked_factor(arguments));
  TRY(const auto study, sensitivity_of_kinds(asked, factor, console));
  whatif::print_levers(study, arguments, console);
  return {};
}

}  // namespace stepcast::mixed
