// What accelerate 1.14 cannot be told of a plan, and what runs instead. Sources in src/accelerate: accelerator.py
// (no_sync, accumulate), utils/dataclasses.py (the plugins), commands/launch.py, utils/megatron_lm.py.
#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/emit/emit_accelerate.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/refused_plans.h"
#include "studies/launch/facts/text_if.h"

namespace stepcast::launch {
std::vector<std::string> unsaid_accelerate(const EmitPlan& plan) {
  const Split& split = plan.split;
  const Stack& stack = plan.scenario->stack.row;
  const Precision precision = plan.scenario->plan.precision;
  const AccelerateEngine engine = accelerate_engine(split);
  const bool megatron = engine == AccelerateEngine::megatron, fsdp = engine == AccelerateEngine::fsdp;
  // accelerate sets neither DeepSpeed's overlap_comm nor Megatron-LM's overlap flags, which are off then; FSDP and DDP
  // always overlap.
  const bool quiet = megatron || engine == AccelerateEngine::deepspeed;
  const bool beside = stack.gradient_reduces == Manners::overlapped && stack.weight_gathers == Manners::overlapped;
  const bool behind = stack.gradient_reduces == Manners::blocking && stack.weight_gathers == Manners::blocking;
  const bool refused_copies = fsdp && split.replicas == split.dp && split.tp * split.cp > 1;
  const Recompute& recompute = split.recompute;
  const bool kept = recompute.kind == Recompute::Kind::none,
             whole = recompute.kind == Recompute::Kind::full && recompute.layers == 0;
  const bool other_vocabulary = split.tp > 1 && split.vocabulary != megatron;
  // Switches that no setting says are the stack's habit.
  const Stack* habit = habit_of(plan);
  const bool other_moves = habit != nullptr && habit->activation_moves != stack.activation_moves;
  const bool moves_beside = stack.activation_moves == Manners::overlapped;
  const std::string_view engines = megatron                               ? "megatron-core"
                                   : stack.id == "deepspeed-transformers" ? std::string_view(stack.id)
                                                                          : "deepspeed-zero";
  const auto engine_row = std::ranges::find(built_in().stacks, engines, &Stack::id);
  const bool other_software = quiet && engine_row != built_in().stacks.end() && engine_row->source != stack.source;
  std::vector<std::string> unsaid = beside_unsaid(plan, "accelerate");
  add_refusals(unsaid, "accelerate", plan);
  add_gaps(unsaid,
      {node_gap(plan, "it"),
          text_if(precision == Precision::mxfp8 || precision == Precision::nvfp4,
              "{} products; the file knows one recipe of 8 bits, and mixed_precision is bf16", to_text(precision)),
          text_if(precision == Precision::fp8 && megatron,
              "fp8 products; accelerate hands Megatron-LM fp16 or bf16 only, and it trains in fp32"),
          // MegatronLMPlugin: the distributed optimizer or nothing.
          text_if(megatron && split.zero >= 2,
              "zero {}; Megatron-LM through accelerate puts the optimizer in shards (zero 1)", split.zero),
          text_if(split.replicas > 1 && refused_copies,
              "{} copies with nothing in shards beside tp or cp; accelerate refuses them", split.replicas),
          text_if(split.replicas > 1 && !fsdp,
              "{} copies of what is in shards; the file has them for FSDP alone, and shards lie over all data ranks",
              split.replicas),
          text_if(fsdp && split.micro_batches > 1,
              "gradients kept in shards between the {} micro-batches of a step; accelerate keeps them whole and "
              "reduces them after the last, unless the program sets sync_each_batch",
              split.micro_batches),
          text_if(needs_schedule(split),
              "the schedule {}; Megatron-LM runs 1f1b with one run of layers per stage, unless the program sets "
              "num_layers_per_virtual_pipeline_stage",
              split.schedule),
          text_if(!split.layers.empty() && accelerate_last_layers(split) == 0,
              "layers dealt out unevenly; the file can set the last stage apart and spreads the rest evenly"),
          text_if(split.cp > 1 && megatron && split.context != ContextKind::ring,
              "cp {} by {}; Megatron-LM sends keys and values round", split.cp, to_text(split.context)),
          text_if(split.cp > 1 && !megatron && split.context == ContextKind::ulysses,
              "a core split by heads (ulysses); the launcher takes sp_size with DeepSpeed from the program only"),
          text_if(split.sequence && !megatron,
              "sequence parallelism beside tp; the plans of transformers keep the stream whole on every rank and "
              "all-reduce it"),
          text_if(other_vocabulary && megatron,
              "a whole embedding and LM head beside tp; Megatron-LM pads the vocabulary of {} and splits it",
              plan.scenario->network.row.vocab),
          text_if(other_vocabulary && !megatron,
              "a vocabulary split over tp; the plans of transformers keep the embedding whole on every rank"),
          text_if(!split.kept_gathers.empty(), "inputs kept gathered for backward; they are gathered again"),
          text_if(megatron && kept,
              "no recomputation; where nothing else is said accelerate hands Megatron-LM recompute_granularity full, "
              "and every layer runs again"),
          text_if(
              fsdp && !kept && !whole, "{}; the file recomputes every layer or none", recompute_in_words(recompute)),
          text_if(!megatron && !fsdp && !kept,
              "{}; the program turns it on (gradient_checkpointing of the Trainer), for whole layers; without it "
              "nothing is recomputed",
              recompute_in_words(recompute)),
          order_gap(split),
          text_if(quiet && !behind,
              "gradients reduced beside backward; accelerate sets no overlap for {}, which reduces them behind it",
              megatron ? "Megatron-LM" : "DeepSpeed"),
          text_if(!quiet && !beside,
              "gradients and weights that move behind compute; FSDP and DistributedDataParallel move them beside it"),
          text_if(other_moves && moves_beside, "moves of activations beside compute; products wait for them"),
          text_if(other_moves && !moves_beside,
              "moves of activations that products wait for; the file has no switch for them"),
          text_if(other_software, "the kernels of {}; for such a plan accelerate runs {}", stack.name,
              megatron ? "Megatron-LM" : "DeepSpeed"),
          boundary_gap(plan)});
  return unsaid;
}

}  // namespace stepcast::launch
