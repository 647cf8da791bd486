#include "studies/mixed/mixed_run.h"

#include <numeric>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/mixed/over_replicas.h"
#include "studies/mixed/over_stages.h"
#include "studies/run/balance.h"

namespace stepcast::mixed {
namespace {

/// Which axis the kinds cut: stages (true) or replicas.
Expected<bool> cut_by_stage(
    const std::vector<MachineShare>& shares, const Scenario& scenario, const std::string& where) {
  const Split& split = *scenario.split;
  const bool by_stage = split.pp > 1 && split.order.back() == MeshAxis::pp;
  if (!by_stage && split.order.back() != MeshAxis::dp && split.pp > 1)
    return fail(where, fmt::format("with --order {} neither stages nor replicas are outermost", to_text(split.order)),
        "--order tp-cp-dp-pp for stages on the kinds, tp-cp-pp-dp for replicas");
  if (!by_stage && split.chunks > 1)
    return fail("--chunks",
        "replicas that are dealt micro-batches by speed may get any number of them, and interleaved "
        "stages take multiples of the stages",
        "--chunks 1, or stages on the kinds: --order tp-cp-dp-pp");
  const std::int64_t part = by_stage ? scenario.plan.gpus / split.pp : scenario.plan.gpus / split.dp;
  const char* noun = by_stage ? "pipeline stage" : "replica";
  for (const MachineShare& share : shares)
    if (share.gpus % part != 0)
      return fail(where,
          fmt::format("a {} takes {} GPUs, and {} has {}: it would lie on two kinds of machines", noun, part,
              share.machine.row.id, share.gpus),
          by_stage ? "more stages (--pp), or replicas on the kinds: --order tp-cp-pp-dp"
                   : "smaller --tp, --cp or --pp");
  return by_stage;
}

/// Replicas have the same layers on the same stages, or gradients would not meet: weighed once, at the first kind's
/// rates, where somebody asked for it or they are not even; else even, as on one machine.
Expected<void> lay_replicas_alike(const Request& request, LaidKinds& laid) {
  FleetKinds& fleet = laid.fleet;
  const Scenario& first = fleet.first();
  if (!first.balance) return {};
  const bool weighed = request.says(FieldId::layout) || first.network.row.layers % first.split->pp != 0;
  LayerCounts layers;
  if (weighed) {
    TRY(layers, balanced_layers(first));
    laid.notes.push_back(
        fmt::format("layers are weighed at the rates of {} and lie alike on all kinds", first.machine.row.gpu.name));
  }
  for (KindScenario& kind : fleet.kinds)
    for (Scenario* scenario : {&kind.scenario, &kind.across}) {
      Split split = *scenario->split;
      split.layers = layers;
      drop_even_layers(split);
      lay_split(*scenario, std::move(split));
      scenario->balance = false;
    }
  return {};
}

}  // namespace

Expected<LaidKinds> lay_kinds(const MixedRequest& asked) {
  LaidKinds laid;
  FleetKinds& fleet = laid.fleet;
  TRY(fleet.kinds, kind_scenarios(asked));
  for (const MachineShare& share : asked.shares) fleet.block = std::gcd(fleet.block, share.gpus);
  TRY(fleet.by_stage, cut_by_stage(asked.shares, fleet.first(), asked.where));
  if (!fleet.by_stage) TRY(lay_replicas_alike(asked.request, laid));
  laid.between = "between the kinds the slower of their networks";
  if (asked.between) {
    const Seconds latency = asked.between->latency;
    laid.between = fmt::format("{} per GPU{} between the kinds, as said", format_rate(asked.between->rate),
        latency > Seconds() ? fmt::format(" and {} more latency", format_seconds(latency)) : "");
  }
  return laid;
}

Expected<MixedRun> forecast_kinds(const LaidKinds& laid, Seconds enough) {
  const FleetKinds& fleet = laid.fleet;
  MixedRun run;
  run.by_stage = fleet.by_stage;
  run.notes = laid.notes;
  run.between = laid.between;
  for (const KindScenario& kind : fleet.kinds) {
    run.kinds.emplace_back();
    run.kinds.back().share = kind.share;
    run.kinds.back().scenario = kind.scenario;
  }
  TRY(fleet.by_stage ? over_stages(fleet, fleet.first().balance, enough, run) : over_replicas(fleet, run));
  if (!run.given_up) run.add_utilisation();
  return run;
}

Expected<MixedRun> forecast_mixed(const MixedRequest& asked, Seconds enough) {
  TRY(const auto laid, lay_kinds(asked));
  return forecast_kinds(laid, enough);
}

}  // namespace stepcast::mixed
