// Facts of Megatron-Bridge 0.6.0 with Megatron Core 0.19: models/gpt_provider.py, training/config.py,
// training/comm_overlap.py, core/transformer/transformer_config.py.
#include "studies/launch/emit/emit_nemo_settings.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/comma_list.h"
#include "model/base/contains.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/megatron_arguments.h"
#include "studies/launch/emit/refused_plans.h"
#include "studies/launch/facts/text_if.h"
#include "studies/run/split/layers.h"
#include "studies/run/split/split_plan.h"

namespace stepcast::launch {
namespace {

std::string nemo_number(std::int64_t number) { return std::to_string(number); }
/// 0: none.
std::string nemo_or_null(std::int64_t number) { return number > 0 ? std::to_string(number) : "null"; }
std::string nemo_if(bool there, std::string value) { return there ? std::move(value) : std::string(); }

/// One switch puts biases on every projection: attention's two, the MLP's, the experts'.
bool nemo_all_biases(const NetworkSpec& n) {
  return n.linear_bias || (n.experts.count > 0 && n.qkv_bias && n.out_bias && n.experts.expert_bias);
}

struct NemoActivation {
  Activation activation;
  bool gated;
  const char* function;
};
constexpr NemoActivation nemo_activations[] = {{Activation::swiglu, true, "silu"}, {Activation::geglu, true, "gelu"},
    {Activation::gelu, false, "gelu"}, {Activation::relu, false, "relu"},
    {Activation::squared_relu, false, "squared_relu"}};

/// Without a word of its own it is named among the gaps.
NemoActivation nemo_activation(const NetworkSpec& n) {
  const auto* row = std::ranges::find(nemo_activations, n.activation, &NemoActivation::activation);
  return row == std::end(nemo_activations) ? NemoActivation{n.activation, false, "gelu"} : *row;
}

/// Alibi has no word: see nemo_unsaid.
std::string nemo_positions(const NetworkSpec& n) {
  constexpr const char* words[] = {"rope", "learned_absolute", "none", "none", "none"};
  return words[static_cast<std::size_t>(n.positions)];
}

/// A number n would begin with an expert layer (layer i has experts where n divides i); lists say any pattern.
std::string nemo_expert_layers(const NetworkSpec& n) {
  std::vector<int> pattern;
  for (std::int64_t layer = 0; layer < n.layers; ++layer) pattern.push_back(is_expert_layer(n, layer) ? 1 : 0);
  const bool all = std::find(pattern.begin(), pattern.end(), 0) == pattern.end();
  return all ? "1" : fmt::format("[{}]", fmt::join(pattern, ", "));
}

std::string nemo_context(const Split& split) {
  constexpr const char* words[] = {"p2p", "all_gather", "a2a"};
  return words[static_cast<std::size_t>(split.context)];
}

std::string nemo_layout(const EmitPlan& plan) {
  if (plan.split.layers.empty()) return "null";
  return fmt::format("\"{}\"", write_layer_layout(layout_of(plan.split.layers, plan.scenario->network.row.mtp_layers)));
}

/// `block` counts layers from the start of each chunk, a split over all chunks of a stage.
std::int64_t nemo_recompute_layers(const Split& split) {
  return std::max<std::int64_t>(1, split.recompute.layers / split.chunks);
}

bool nemo_maps_inside(const Split& split) { return !lies_as(split, usual_order) && lies_as(split, stages_inside); }

/// "": all layers have the window; else a number n for full attention in every n-th, or a list.
std::string nemo_window_layers(const NetworkSpec& n, std::int64_t positions) {
  const std::string pattern = window_layer_pattern(n);
  if (pattern.find_first_not_of("0123456789") == std::string::npos) return pattern;
  std::vector<int> layers;
  for (std::int64_t layer = 0; layer < n.layers; ++layer)
    layers.push_back(is_windowed_layer(n, layer, positions) ? 1 : 0);
  return fmt::format("[{}]", fmt::join(layers, ", "));
}

NemoSettings network_settings(const EmitPlan& plan) {
  const NetworkSpec& n = plan.scenario->network.row;
  const bool windowed = has_windows(n, sequence_of(plan)) && !n.window.chunks;
  const NemoActivation activation = nemo_activation(n);
  const bool latent = n.latent.kv_rank > 0;
  const auto dropout = [&](bool spared) { return n.dropout && !spared ? "0.1" : "0.0"; };
  return {"model", "the network",
      {{"seq_length", nemo_number(sequence_of(plan))}, {"num_layers", nemo_number(n.layers)},
          {"hidden_size", nemo_number(n.hidden)}, {"ffn_hidden_size", nemo_number(n.ffn_hidden)},
          {"num_attention_heads", nemo_number(n.heads)}, {"num_query_groups", nemo_number(n.kv_heads)},
          {"kv_channels", nemo_if(!latent, nemo_number(n.head_dim)), "size of a head"},
          {"vocab_size", nemo_number(n.vocab), "rows of the embedding"}, {"should_pad_vocab", "false"},
          {"make_vocab_size_divisible_by", "1"}, {"share_embeddings_and_output_weights", true_false(n.tied_embeddings)},
          {"normalization", n.norm == Norm::rmsnorm ? "RMSNorm" : "LayerNorm"},
          {"gated_linear_unit", true_false(activation.gated)}, {"activation_func", activation.function},
          {"position_embedding_type", nemo_positions(n)}, {"add_bias_linear", true_false(nemo_all_biases(n))},
          {"add_qkv_bias", true_false(n.qkv_bias)}, {"qk_layernorm", true_false(n.qk_norm)},
          {"softmax_type", nemo_if(n.attention_sinks, "learnable")},
          {"window_size", nemo_if(windowed, fmt::format("[{}, 0]", n.window.positions - 1)),
              "keys before a query and behind it"},
          {"window_attn_skip_freq", nemo_if(windowed, nemo_window_layers(n, sequence_of(plan)))},
          {"attention_dropout", dropout(n.no_attention_dropout)}, {"hidden_dropout", dropout(n.no_hidden_dropout)},
          {"mtp_num_layers", nemo_or_null(n.mtp_layers)}, {"multi_latent_attention", true_false(latent)},
          {"q_lora_rank", nemo_if(latent, nemo_or_null(n.latent.q_rank))},
          {"kv_lora_rank", nemo_if(latent, nemo_number(n.latent.kv_rank))},
          {"qk_head_dim", nemo_if(latent, nemo_number(n.latent.nope_dim))},
          {"qk_pos_emb_head_dim", nemo_if(latent, nemo_number(n.latent.rope_dim))},
          {"v_head_dim", nemo_if(latent, nemo_number(n.latent.value_dim))}}};
}

NemoSettings expert_settings(const EmitPlan& plan) {
  const NetworkSpec& n = plan.scenario->network.row;
  const Stack& stack = plan.scenario->stack.row;
  const Experts& x = n.experts;
  if (x.count == 0) return {"model", "experts", {{"num_moe_experts", "null"}}};
  return {"model", "experts",
      {{"num_moe_experts", nemo_number(x.count)}, {"moe_router_topk", nemo_number(x.top_k)},
          {"moe_ffn_hidden_size", nemo_number(x.ffn_hidden)},
          {"moe_shared_expert_intermediate_size", nemo_or_null(x.shared_ffn_hidden), "all shared experts together"},
          {"moe_shared_expert_gate", true_false(x.shared_gate)},
          {"moe_router_enable_expert_bias", true_false(x.router_bias && !nemo_all_biases(n)),
              "beside add_bias_linear the router has one anyway"},
          {"moe_router_num_groups", nemo_or_null(x.groups)},
          {"moe_router_group_topk", nemo_or_null(x.top_groups), "a token's experts lie in so many groups"},
          {"moe_layer_freq", nemo_expert_layers(n), "1: a layer of experts"},
          {"moe_expert_capacity_factor", x.capacity_factor > 0 ? number_text(x.capacity_factor) : "null"},
          {"moe_pad_expert_input_to_capacity", true_false(x.capacity_factor > 0)},
          {"moe_token_dispatcher_type", stack.expert_dispatch == Dispatch::tokens ? "flex" : "alltoall"},
          {"moe_grouped_gemm", true_false(stack.calls_per_expert == 0)}}};
}

NemoSettings split_settings(const EmitPlan& plan) {
  const Split& s = plan.split;
  return {"model", "the split",
      {{"tensor_model_parallel_size", nemo_number(s.tp)}, {"sequence_parallel", true_false(s.sequence)},
          {"context_parallel_size", nemo_number(s.cp)}, {"cp_comm_type", nemo_context(s), "p2p: ring; a2a: by heads"},
          {"pipeline_model_parallel_size", nemo_number(s.pp)},
          {"virtual_pipeline_model_parallel_size", nemo_or_null(s.chunks > 1 ? s.chunks : 0), "chunks of a stage"},
          {"pipeline_model_parallel_layout", nemo_layout(plan)}, {"expert_model_parallel_size", nemo_number(s.ep)},
          {"expert_tensor_parallel_size", nemo_number(s.etp)}}};
}

NemoSettings recompute_settings(const Split& s) {
  using Kind = Recompute::Kind;
  const bool full = s.recompute.kind == Kind::full, some = s.recompute.layers > 0;
  constexpr const char* words[] = {"null", "selective", "full"};
  return {"model", "recomputation",
      {{"recompute_granularity", words[static_cast<std::size_t>(s.recompute.kind)]},
          {"recompute_modules", nemo_if(s.recompute.kind == Kind::selective, "[core_attn]")},
          {"recompute_method", !full  ? "null"
                               : some ? "block"
                                      : "uniform"},
          {"recompute_num_layers",
              !full  ? "null"
              : some ? nemo_number(nemo_recompute_layers(s))
                     : "1",
              "block: of each chunk; uniform: kept at once"}}};
}

/// Stage 1 is the distributed optimizer, 2 and 3 are Megatron-FSDP's, which takes checkpoints of its own form only.
std::vector<NemoSettings> home_settings(const Split& s) {
  const std::string sharded = true_false(s.zero > 0), fully = true_false(s.zero >= 2);
  return {{"ddp", "",
              {{"use_distributed_optimizer", sharded, "true: ZeRO stage 1"},
                  {"num_distributed_optimizer_instances", nemo_if(s.replicas > 1, nemo_number(s.replicas)),
                      "copies of what is in shards"},
                  {"use_megatron_fsdp", fully},
                  {"data_parallel_sharding_strategy",
                      nemo_if(s.zero >= 2, s.zero == 3 ? "optim_grads_params" : "optim_grads"), "ZeRO stage 3 or 2"}}},
      {"optimizer", "", {{"use_distributed_optimizer", sharded}}},
      {"dist", "",
          {{"use_megatron_fsdp", fully},
              {"use_tp_pp_dp_mapping", true_false(nemo_maps_inside(s)), "true: stages nearer than data ranks"}}},
      {"checkpoint", "", {{"ckpt_format", nemo_if(s.zero >= 2, "fsdp_dtensor"), "the only one for Megatron-FSDP"}}}};
}

/// Asked for; without chunks they do anyway, whatever the stack's row says of others.
bool stages_wait(const EmitPlan& plan) { return plan.split.pp > 1 && !plan.scenario->ways.pp_overlap.value_or(true); }

/// Whole objects, so that it does not matter whether the recipe has one: they override ddp and model.
NemoSettings overlap_settings(const EmitPlan& plan) {
  const Stack& stack = plan.scenario->stack.row;
  const auto beside = [](Manners manners) { return true_false(manners == Manners::overlapped); };
  return {"comm_overlap", "",
      {{"_target_", "megatron.bridge.training.comm_overlap.CommOverlapConfig"},
          {"data_parallel_size", nemo_number(plan.split.dp), "set again from the number of GPUs on starting"},
          {"tp_comm_overlap", beside(stack.activation_moves)}, {"overlap_grad_reduce", beside(stack.gradient_reduces)},
          {"overlap_param_gather", nemo_if(plan.split.zero > 0, beside(stack.weight_gathers))},
          {"overlap_p2p_comm", nemo_if(plan.split.chunks > 1 || stages_wait(plan), beside(stack.boundary_sends)),
              "heard with chunks only"}}};
}

/// LoRA adapts fused modules; where only some of their projections have adapters, CanonicalLoRA has a name for each
/// (NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/peft/canonical_lora.py).
NemoSettings adapter_settings(const Plan& run) {
  if (run.lora_rank == 0) return {"peft", "", {}};
  const std::vector<std::string> words = split_at_commas(run.adapted.text());
  const auto has = [&](const char* word) { return run.adapted.all() || contains(words, word); };
  const bool fused = has("q") == has("k") && has("k") == has("v") && has("gate") == has("up");
  using Module = std::pair<const char*, bool>;
  const Module fused_modules[] = {
      {"linear_qkv", has("q")}, {"linear_proj", has("out")}, {"linear_fc1", has("up")}, {"linear_fc2", has("down")}};
  const Module single_modules[] = {{"linear_q", has("q")}, {"linear_k", has("k")}, {"linear_v", has("v")},
      {"linear_proj", has("out")}, {"linear_fc1_gate", has("gate")}, {"linear_fc1_up", has("up")},
      {"linear_fc2", has("down")}};
  std::vector<const char*> modules;
  for (const auto& [name, adapted] : fused ? std::span<const Module>(fused_modules) : single_modules)
    if (adapted) modules.push_back(name);
  return {"peft", "",
      {{"_target_", fused ? "megatron.bridge.peft.lora.LoRA" : "megatron.bridge.peft.canonical_lora.CanonicalLoRA"},
          {"target_modules", fmt::format("[{}]", fmt::join(modules, ", "))},
          {"dim", nemo_number(run.lora_rank), "rank of the adapters"}}};
}

void add_nemo_split_gaps(std::vector<std::string>& unsaid, const EmitPlan& plan) {
  const Split& s = plan.split;
  const Scenario& scenario = *plan.scenario;
  const char* own = s.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  const bool tp_overlap = scenario.stack.row.activation_moves == Manners::overlapped;
  const bool waits = (s.zero >= 2 && scenario.stack.row.gradient_reduces != Manners::overlapped) ||
                     (s.zero == 3 && scenario.stack.row.weight_gathers != Manners::overlapped);
  add_gaps(unsaid,
      {text_if(waits, "data collectives that compute waits for; Megatron-FSDP runs them beside it"),
          text_if(s.schedule != own, "the schedule {}; Megatron-Bridge runs {}", s.schedule, own),
          text_if(s.chunks > 1 && s.pp == 1,
              "chunks of a single stage; Megatron-Bridge takes them with two stages or more"),
          text_if(!lies_as(s, usual_order) && !lies_as(s, stages_inside),
              "the order {}; Megatron-Bridge lays ranks out as {} or {}", to_text(s.order), to_text(usual_order),
              to_text(stages_inside)),
          text_if(!s.kept_gathers.empty(), "inputs kept gathered for backward; Megatron Core gathers them again"),
          text_if(s.scatter == Scatter::stated,
              "a stream sent between stages in pieces; without sequence_parallel Megatron Core sends it whole"),
          text_if(!scenario.ways.scatter_boundary.value_or(true),
              "a stream sent whole between stages where the stack cuts it; no setting says either"),
          text_if(s.recompute.layers > 0 && s.recompute.layers % s.chunks != 0,
              "recomputation of {} layers over {} chunks; Megatron Core takes the same number, here {}, of each",
              s.recompute.layers, s.chunks, nemo_recompute_layers(s)),
          text_if(tp_overlap && s.tp > 1 && !s.sequence,
              "tensor-parallel moves beside compute without sequence_parallel; Megatron-Bridge switches "
              "tp_comm_overlap off"),
          text_if(s.tp > 1 && !s.vocabulary,
              "a vocabulary of {} that {} tensor-parallel ranks hold whole; Megatron Core splits it, and wants a "
              "multiple",
              scenario.network.row.vocab, s.tp),
          text_if(s.pp > 1 && s.chunks == 1 && scenario.ways.pp_overlap.value_or(false),
              "sends between stages beside compute without chunks; Megatron Core waits for them in plain 1F1B"),
          text_if(scenario.network.row.experts.count > 0 && scenario.network.row.experts.imbalance != 1,
              "a fullest rank with {} times the mean of rows; what the router does is no setting",
              scenario.network.row.experts.imbalance),
          text_if(scenario.plan.precision == Precision::tf32,
              "tf32; matrix products follow torch's own switch, and fp32 is written")});
}

}  // namespace

std::vector<std::string> nemo_network_gaps(const EmitPlan& plan) {
  const NetworkSpec& n = plan.scenario->network.row;
  const Experts& x = n.experts;
  std::vector<std::string> unsaid;
  add_network_gaps(unsaid, n);
  add_gaps(unsaid,
      {text_if(n.positions == Positions::alibi, "alibi positions; none are written"),
          text_if(n.positions == Positions::learned && n.max_positions != sequence_of(plan),
              "a table of {} positions; Megatron-Bridge makes it as long as the sequence, {}", n.max_positions,
              sequence_of(plan)),
          text_if(n.window.chunks && has_windows(n, sequence_of(plan)),
              "attention in chunks of {} positions; Megatron Core sees all of them", n.window.positions),
          text_if(!n.pattern.empty(), "the pattern of its layers"), text_if(x.latent > 0, "experts of a latent width"),
          text_if(n.embedding_norm, "a norm behind the embedding; Megatron Core has none"),
          text_if(n.parallel_block, "attention and MLP side by side; Megatron Core runs one behind the other"),
          text_if((n.out_bias || x.expert_bias) && !nemo_all_biases(n),
              "biases on some projections only; Megatron Core has them on q, k and v or on all"),
          text_if(x.count > 0 && nemo_all_biases(n) && has_plain_mlp(n),
              "biases on experts beside dense layers without; Megatron Core gives them to both"),
          text_if(x.count > 0 && nemo_all_biases(n) && !x.router_bias,
              "a router without a bias beside experts with them; Megatron Core gives it one")});
  return unsaid;
}

std::string nemo_precision(const EmitPlan& plan) {
  constexpr const char* names[] = {"", "", "fp16_mixed", "bf16_mixed", "bf16_with_fp8_current_scaling_mixed",
      "bf16_with_mxfp8_mixed", "bf16_with_nvfp4_mixed"};
  return names[static_cast<std::size_t>(plan.scenario->plan.precision)];
}

std::vector<NemoSettings> nemo_settings(const EmitPlan& plan) {
  const Plan& run = plan.scenario->plan;
  std::vector<NemoSettings> file = {
      {"dataset", "", {{"seq_length", nemo_number(sequence_of(plan)), "the same as model.seq_length"}}},
      network_settings(plan), expert_settings(plan), split_settings(plan), recompute_settings(plan.split),
      {"train", "",
          {{"micro_batch_size", nemo_number(run.micro_batch)}, {"global_batch_size", nemo_number(run.global_batch)}}}};
  if (nemo_precision(plan).empty())
    file.push_back({"mixed_precision", "",
        {{"_target_", "megatron.bridge.training.mixed_precision.MixedPrecisionConfig"}, {"fp32", "true"}}});
  for (NemoSettings& homes : home_settings(plan.split)) file.push_back(std::move(homes));
  file.push_back(overlap_settings(plan));
  file.push_back(adapter_settings(run));
  return file;
}

std::vector<std::string> nemo_unsaid(const EmitPlan& plan) {
  std::vector<std::string> unsaid = unsaid_by_all(plan, "Megatron-Bridge");
  add_refusals(unsaid, "nemo", plan);
  add_nemo_split_gaps(unsaid, plan);
  return unsaid;
}

}  // namespace stepcast::launch
