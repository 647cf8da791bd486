// What accelerate 1.14 cannot be told of a plan, and what runs instead. Sources in src/accelerate: accelerator.py
// (no_sync, accumulate), utils/dataclasses.py (the plugins), commands/launch.py, utils/megatron_lm.py.
#include <fmt/format.h>

#include "studies/launch/emit/emit_accelerate.h"
#include "studies/launch/emit/emit_text.h"

namespace stepcast {
namespace {

bool runs_by(const EmitPlan& plan, AccelerateEngine engine) { return accelerate_engine(plan.split) == engine; }
bool by_megatron(const EmitPlan& plan) { return runs_by(plan, AccelerateEngine::megatron); }
bool by_fsdp(const EmitPlan& plan) { return runs_by(plan, AccelerateEngine::fsdp); }

std::string acc_nodes_gap(const EmitPlan& plan) {
  const std::int64_t gpus = plan.scenario->plan.gpus, per_node = gpus_per_node(plan), each = accelerate_gpus_each(plan);
  if (each == per_node) return {};
  return fmt::format("{} GPUs on nodes of {}, the last not full; it starts as many on each: {} on {} nodes", gpus,
      per_node, each, gpus / each);
}

std::string acc_precision_gap(const EmitPlan& plan) {
  const Precision precision = plan.scenario->plan.precision;
  if (precision == Precision::mxfp8 || precision == Precision::nvfp4)
    return fmt::format(
        "{} products; the file knows one recipe of 8 bits, and mixed_precision is bf16", to_text(precision));
  return precision == Precision::fp8 && by_megatron(plan)
             ? "fp8 products; accelerate hands Megatron-LM fp16 or bf16 only, and it trains in fp32"
             : "";
}

/// MegatronLMPlugin: the distributed optimizer or nothing.
std::string acc_homes_gap(const EmitPlan& plan) {
  if (!by_megatron(plan) || plan.split.zero < 2) return {};
  return fmt::format("zero {}; Megatron-LM through accelerate puts the optimizer in shards (zero 1)", plan.split.zero);
}

std::string acc_copies_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (split.replicas == 1) return {};
  if (by_fsdp(plan) && split.replicas == split.dp && split.tp * split.cp > 1)
    return fmt::format("{} copies with nothing in shards beside tp or cp; accelerate refuses them", split.replicas);
  if (by_fsdp(plan)) return {};
  return fmt::format(
      "{} copies of what is in shards; the file has them for FSDP alone, and shards lie over all data ranks",
      split.replicas);
}

std::string acc_gradients_gap(const EmitPlan& plan) {
  if (!by_fsdp(plan) || plan.split.micro_batches == 1) return {};
  return fmt::format("gradients kept in shards between the {} micro-batches of a step; accelerate keeps them whole and "
                     "reduces them after the "
                     "last, unless the program sets sync_each_batch",
      plan.split.micro_batches);
}

std::string acc_schedule_gap(const EmitPlan& plan) {
  if (plan.split.pp == 1 || (plan.split.schedule == "1f1b" && plan.split.chunks == 1)) return {};
  return fmt::format("the schedule {}; Megatron-LM runs 1f1b with one run of layers per stage, unless the program sets "
                     "num_layers_per_virtual_pipeline_stage",
      plan.split.schedule);
}

std::string acc_layers_gap(const EmitPlan& plan) {
  if (plan.split.layers.empty() || accelerate_last_layers(plan.split) > 0) return {};
  return "layers dealt out unevenly; the file can set the last stage apart and spreads the rest evenly";
}

std::string acc_context_gap(const EmitPlan& plan) {
  const Split& split = plan.split;
  if (split.cp == 1) return {};
  if (by_megatron(plan))
    return split.context == ContextKind::ring
               ? ""
               : fmt::format("cp {} by {}; Megatron-LM sends keys and values round", split.cp, to_text(split.context));
  return split.context == ContextKind::ulysses
             ? "a core split by heads (ulysses); the launcher takes sp_size with DeepSpeed from the program only"
             : "";
}

std::string acc_sequence_gap(const EmitPlan& plan) {
  if (!plan.split.sequence || by_megatron(plan)) return {};
  return "sequence parallelism beside tp; the plans of transformers keep the stream whole on every rank and all-reduce "
         "it";
}

std::string acc_vocabulary_gap(const EmitPlan& plan) {
  if (plan.split.tp == 1 || plan.split.vocabulary == by_megatron(plan)) return {};
  if (by_megatron(plan))
    return fmt::format("a whole embedding and LM head beside tp; Megatron-LM pads the vocabulary of {} and splits it",
        plan.scenario->network.row.vocab);
  return "a vocabulary split over tp; the plans of transformers keep the embedding whole on every rank";
}

std::string acc_gathers_gap(const EmitPlan& plan) {
  return plan.split.kept_gathers.empty() ? "" : "inputs kept gathered for backward; they are gathered again";
}

std::string acc_recompute_gap(const EmitPlan& plan) {
  const Recompute& recompute = plan.split.recompute;
  const bool none = recompute.kind == Recompute::Kind::none,
             whole = recompute.kind == Recompute::Kind::full && recompute.layers == 0;
  if (by_megatron(plan))
    return none ? "no recomputation; where nothing else is said accelerate hands Megatron-LM recompute_granularity "
                  "full, and every layer runs again"
                : "";
  if (none || (whole && by_fsdp(plan))) return {};
  if (by_fsdp(plan)) return fmt::format("{}; the file recomputes every layer or none", recompute_in_words(recompute));
  return fmt::format("{}; the program turns it on (gradient_checkpointing of the Trainer), for whole layers; without "
                     "it nothing is recomputed",
      recompute_in_words(recompute));
}

std::string acc_order_gap(const EmitPlan& plan) {
  return lies_as_usual(plan.split)
             ? ""
             : fmt::format("the mesh order {}; it lays ranks as {}", to_text(plan.split.order), to_text(usual_order));
}

/// FSDP and DDP always overlap. accelerate sets neither DeepSpeed's overlap_comm nor Megatron-LM's overlap flags, which
/// are off then.
std::string acc_overlap_gap(const EmitPlan& plan) {
  const Stack& stack = plan.scenario->stack.row;
  const bool beside = stack.gradient_reduces == Manners::overlapped && stack.weight_gathers == Manners::overlapped;
  const bool behind = stack.gradient_reduces == Manners::blocking && stack.weight_gathers == Manners::blocking;
  if (by_megatron(plan) || runs_by(plan, AccelerateEngine::deepspeed))
    return behind ? ""
                  : fmt::format("gradients reduced beside backward; accelerate sets no overlap for {}, which reduces "
                                "them behind it",
                        by_megatron(plan) ? "Megatron-LM" : "DeepSpeed");
  return beside
             ? ""
             : "gradients and weights that move behind compute; FSDP and DistributedDataParallel move them beside it";
}

/// Switches that no setting says are the stack's habit.
std::string acc_tensor_overlap_gap(const EmitPlan& plan) {
  const Stack* habit = habit_of(plan);
  if (habit == nullptr || habit->activation_moves == plan.scenario->stack.row.activation_moves) return {};
  const bool beside = plan.scenario->stack.row.activation_moves == Manners::overlapped;
  return beside ? "moves of activations beside compute; products wait for them"
                : "moves of activations that products wait for; the file has no switch for them";
}

}  // namespace

std::vector<std::string> unsaid_accelerate(const EmitPlan& plan) {
  std::vector<std::string> unsaid = beside_unsaid(plan, "accelerate");
  add_gaps(unsaid, plan,
      {acc_nodes_gap, acc_precision_gap, acc_homes_gap, acc_copies_gap, acc_gradients_gap, acc_schedule_gap,
          acc_layers_gap, acc_context_gap, acc_sequence_gap, acc_vocabulary_gap, acc_gathers_gap, acc_recompute_gap,
          acc_order_gap, acc_overlap_gap, acc_tensor_overlap_gap, boundary_gap});
  return unsaid;
}

}  // namespace stepcast
