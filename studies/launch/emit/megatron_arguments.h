// A plan in the arguments of Megatron-Core 0.19 (NVIDIA/Megatron-LM core_v0.19.0, megatron/training/arguments.py and
// megatron/core/transformer/transformer_config.py), group by group. What it cannot be told goes to `unsaid`.
#pragma once

#include <string>
#include <vector>

#include "studies/launch/emit/emit_text.h"

namespace stepcast::launch {

using Unsaid = std::vector<std::string>;

EmittedGroup megatron_network(const EmitPlan& plan, Unsaid& unsaid);
/// Vocabulary apart: beside another launch's tokenizer it is said in full.
EmittedGroup megatron_vocabulary(const EmitPlan& plan, bool own_tokenizer, Unsaid& unsaid);
/// Empty for dense networks.
EmittedGroup megatron_experts(const EmitPlan& plan, Unsaid& unsaid);
/// Axes, their order, stages and what they hold.
EmittedGroup megatron_split(const EmitPlan& plan, Unsaid& unsaid);
/// Shards, overlap, buckets of gradients.
EmittedGroup megatron_homes(const EmitPlan& plan, Unsaid& unsaid);
/// Less the statements that the next function says.
EmitPlan without_megatron_modules(EmitPlan plan);
EmittedGroup megatron_recompute(const EmitPlan& plan, Unsaid& unsaid);
EmittedGroup megatron_batch(const EmitPlan& plan, Unsaid& unsaid);
EmittedGroup megatron_precision(const EmitPlan& plan, Unsaid& unsaid);

/// Weights or gradients in shards: by Megatron-FSDP.
bool uses_megatron_fsdp(const Split& split);
/// "([0]*3+[1]*58)": which layers have experts, as --moe-layer-freq takes it; "1" for all of them.
std::string expert_layer_pattern(const NetworkSpec& network);
/// The value of --window-attn-skip-freq: "6" for full attention in every sixth layer, "([0]*24+[1]*8)" with a 1 for
/// each layer with the window; "" where all layers have it.
std::string window_layer_pattern(const NetworkSpec& network);

}  // namespace stepcast::launch
