#include "studies/launch/emit/refused_plans.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

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
  return (network_of(plan).experts.count > 0 || plan.split.ep > 1) && plan.split.tp > 1 && !plan.split.sequence;
}

/// Where the file switches biases on: on all projections, or on all of networks of experts.
bool biases_are_split(const EmitPlan& plan) {
  const NetworkSpec& n = network_of(plan);
  const bool all = n.linear_bias || (n.qkv_bias && n.out_bias && n.experts.expert_bias);
  return all && n.experts.expert_bias && plan.split.experts && plan.split.etp > 1;
}

/// Megatron-LM's writer leaves them out where dense layers without biases stand beside experts.
bool alike_biases_are_split(const EmitPlan& plan) {
  return biases_are_split(plan) && (network_of(plan).linear_bias || !has_plain_mlp(network_of(plan)));
}

bool has_stages_inside(const Split& split) { return !lies_as(split, usual_order) && lies_as(split, stages_inside); }

struct RefusalRow {
  std::string_view target;
  bool (*holds)(const EmitPlan& plan);
  RefusedPlan plan;
};

constexpr std::string_view megatron = "Megatron Core refuses to train so";
constexpr RefusedPlan without_sequence{"experts beside tp without sequence parallelism", "--sp on", megatron},
    sequence_of_nemo{"experts beside tensor parallelism without sequence parallelism", "--sp on", megatron},
    split_biases{"biases on experts that are split over ranks (etp)", "--etp 1", megatron};

// clang-format off
constexpr RefusalRow refusal_rows[] = {
    // NVIDIA/Megatron-LM@core_v0.19.0: megatron/core/transformer/moe/moe_layer.py and transformer_config.py
    {"megatron", experts_want_sequence, without_sequence}, {"nemo", experts_want_sequence, sequence_of_nemo},
    {"megatron", alike_biases_are_split, split_biases}, {"nemo", biases_are_split, split_biases},
    // NVIDIA-NeMo/Megatron-Bridge@067f987df0: src/megatron/bridge/training/config.py
    {"nemo", [](const EmitPlan& plan) { return plan.split.zero >= 2 && has_stages_inside(plan.split); },
     {"ZeRO 2 or 3 with stages nearer than data ranks", "--zero 1",
      "Megatron-FSDP refuses that order"}},
    // pytorch/torchtitan@v0.2.2: torchtitan/models/*/infra/parallelize.py, torchtitan/distributed/dual_pipe_v.py
    {"torchtitan", [](const EmitPlan& plan) { return plan.split.pp > 1 && !shipped_model(plan).stages; },
     {"stages of this network", "--pp 1", "torchtitan refuses them"}},
    {"torchtitan", [](const EmitPlan& plan) { return plan.split.cp > 1 && !shipped_model(plan).context; },
     {"context parallelism of this network, which runs flex attention", "--cp 1",
      "torchtitan refuses it"}},
    {"torchtitan", [](const EmitPlan& plan) {
       return plan.split.schedule == "dualpipev" && plan.split.pp > 1 && plan.split.ep > 1 &&
              plan.split.recompute.kind != Recompute::Kind::none;
     }, {"recomputation beside dualpipev and ep", "--recompute none", "torchtitan refuses the three together"}},
    // deepspeedai/DeepSpeed@v0.18.2: deepspeed/runtime/pipe/engine.py
    {"deepspeed", [](const EmitPlan& plan) { return plan.split.pp > 1 && plan.split.zero >= 2; },
     {"ZeRO 2 or 3 beside stages", "--zero 1",
      "its pipeline engine refuses stages 2 and 3 of ZeRO"}},
    // huggingface/accelerate@v1.13.0: src/accelerate/parallelism_config.py
    {"accelerate", [](const EmitPlan& plan) {
       return accelerate_engine(plan.split) == AccelerateEngine::fsdp && plan.split.replicas > 1 &&
              plan.split.replicas == plan.split.dp && plan.split.tp * plan.split.cp > 1;
     }, {"copies with nothing in shards beside tp or cp", "--dp-replicate 1", "accelerate refuses them"}},
};
// clang-format on

}  // namespace

std::vector<RefusedPlan> refused_plans(std::string_view target, const EmitPlan& plan) {
  std::vector<RefusedPlan> refused;
  for (const RefusalRow& row : refusal_rows)
    if (row.target == target && row.holds(plan)) refused.push_back(row.plan);
  return refused;
}

void add_refusals(std::vector<std::string>& unsaid, std::string_view target, const EmitPlan& plan) {
  for (const RefusedPlan& row : refused_plans(target, plan)) unsaid.push_back(fmt::format("{}; {}", row.what, row.why));
}

}  // namespace stepcast::launch
