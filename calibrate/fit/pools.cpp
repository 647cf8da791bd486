#include "calibrate/fit/pools.h"

#include <variant>

#include "model/catalog.h"
#include "model/profile/profile_names.h"

namespace stepcast::calibrate {
namespace {

/// Hosts of a log are no catalogue machine; their tables speak for any machine that the profile is used with.
NetworkKey network_of(const MeasurementContext& context, const CollectiveQuery& query) {
  NetworkKey network{query.nodes > 1 ? FabricKind::infiniband : FabricKind::nvswitch, {}};
  if (query.nodes > 1)
    for (const Machine& machine : built_in().machines)
      if (machine.id == context.machine) network = {machine.levels.back().fabric, machine.id};
  for (const Choice<FabricKind>& row : fabric_names)
    if (context.fabric == row.name) network.fabric = row.value;
  return network;
}

void sort_in(Pools& pools, const Measurement& row, const MeasurementContext& context) {
  const bool sustained = context.regime == "sustained";
  if (const auto* gemm = std::get_if<GemmQuery>(&row.what)) {
    auto& into = sustained ? pools.sustained : pools.gemm;
    into[{gemm->precision, gemm->block_scaled}].add(*gemm, row, context);
  } else if (sustained) {
    ++pools.sustained_others;
  } else if (const auto* attention = std::get_if<AttentionQuery>(&row.what)) {
    const AttentionKey key{attention->pass == AttentionPass::decode, is_latent(*attention), context.software};
    pools.attention[key].add(*attention, row, context);
  } else if (const auto* moe = std::get_if<MoeQuery>(&row.what)) {
    pools.moe[moe->precision].add(*moe, row, context);
  } else if (const auto* memory = std::get_if<MemoryQuery>(&row.what)) {
    pools.memory[std::string(memory->op->id)].add(*memory, row, context);
  } else if (const auto* collective = std::get_if<CollectiveQuery>(&row.what)) {
    pools.collectives[network_of(context, *collective)].push_back({*collective, row.time});
  }
}

}  // namespace

Pools pools_of(const Measurements& measurements, const Gpu& gpu) {
  Pools pools;
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& context = measurements.context_of(row);
    if (context.gpu != gpu.id) {
      ++pools.of_others;
      pools.other_gpus.insert(context.gpu.empty() ? "no GPU named" : context.gpu);
    } else if (row.throttled && context.regime != "sustained") {
      ++pools.throttled;
    } else if (!context.beside.empty()) {
      ++pools.beside;
    } else if (!context.cache.empty()) {
      ++pools.warm;
    } else {
      sort_in(pools, row, context);
    }
  }
  pools.pairs = pairs_of(measurements, gpu);
  return pools;
}

}  // namespace stepcast::calibrate
