#include "studies/launch/emit/refused_plans.h"

#include <algorithm>
#include <iterator>

#include "studies/launch/emit/emit_accelerate.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/facts/torchtitan_models.h"

namespace stepcast::launch {
namespace {

const NetworkSpec& network_of(const EmitPlan& plan) { return plan.scenario->network.row; }

/// A model that torchtitan does not ship is somebody's own, of which nothing is known.
TorchtitanModel shipped_model(const EmitPlan& plan) {
  const TorchtitanModel* model = torchtitan_model(network_of(plan).id);
  return model == nullptr ? TorchtitanModel{} : *model;
}

bool experts_want_sequence(const EmitPlan& plan) {
  return network_of(plan).experts.count > 0 && plan.split.tp > 1 && !plan.split.sequence;
}

bool biases_are_split(const EmitPlan& plan) {
  return network_of(plan).experts.expert_bias && plan.split.experts && plan.split.etp > 1;
}

bool has_stages_inside(const Split& split) { return !lies_as(split, usual_order) && lies_as(split, stages_inside); }

struct RefusalRow {
  std::string_view target;
  bool (*holds)(const EmitPlan& plan);
  RefusedPlan plan;
};

constexpr RefusedPlan without_sequence{"experts beside tp without sequence parallelism", "--sp on"},
    split_biases{"biases on experts that are split over ranks (etp)", "--etp 1"};

// clang-format off
constexpr RefusalRow refusal_rows[] = {
    // NVIDIA/Megatron-LM@core_v0.19.0: megatron/core/transformer/moe/moe_layer.py and transformer_config.py
    {"megatron", experts_want_sequence, without_sequence}, {"nemo", experts_want_sequence, without_sequence},
    {"megatron", biases_are_split, split_biases}, {"nemo", biases_are_split, split_biases},
    // NVIDIA-NeMo/Megatron-Bridge@067f987df0: src/megatron/bridge/training/config.py
    {"nemo", [](const EmitPlan& plan) { return plan.split.zero >= 2 && has_stages_inside(plan.split); },
     {"ZeRO 2 or 3 with stages nearer than data ranks", "--zero 1"}},
    // pytorch/torchtitan@v0.2.2: torchtitan/models/*/infra/parallelize.py, torchtitan/distributed/dual_pipe_v.py
    {"torchtitan", [](const EmitPlan& plan) { return plan.split.pp > 1 && !shipped_model(plan).stages; },
     {"stages of this network", "--pp 1"}},
    {"torchtitan", [](const EmitPlan& plan) { return plan.split.cp > 1 && !shipped_model(plan).context; },
     {"context parallelism of this network, which runs flex attention", "--cp 1"}},
    {"torchtitan", [](const EmitPlan& plan) {
       return plan.split.schedule == "dualpipev" && plan.split.pp > 1 && plan.split.ep > 1 &&
              plan.split.recompute.kind != Recompute::Kind::none;
     }, {"recomputation beside dualpipev and ep", "--recompute none"}},
    // deepspeedai/DeepSpeed@v0.18.2: deepspeed/runtime/pipe/engine.py
    {"deepspeed", [](const EmitPlan& plan) { return plan.split.pp > 1 && plan.split.zero >= 2; },
     {"ZeRO 2 or 3 beside stages", "--zero 1"}},
    // huggingface/accelerate@v1.13.0: src/accelerate/parallelism_config.py
    {"accelerate", [](const EmitPlan& plan) {
       return accelerate_engine(plan.split) == AccelerateEngine::fsdp && plan.split.replicas > 1 &&
              plan.split.replicas == plan.split.dp && plan.split.tp * plan.split.cp > 1;
     }, {"copies with nothing in shards beside tp or cp", "--dp-replicate 1"}},
};
// clang-format on

}  // namespace

std::vector<RefusedPlan> refused_plans(const EmitTarget& target, const EmitPlan& plan) {
  std::vector<RefusedPlan> refused;
  for (const RefusalRow& row : refusal_rows)
    if (row.target == target.id && row.holds(plan)) refused.push_back(row.plan);
  return refused;
}

}  // namespace stepcast::launch
