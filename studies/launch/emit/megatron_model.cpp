// Network and experts in Megatron's arguments.
#include <algorithm>

#include <fmt/format.h>

#include "model/network/network.h"
#include "studies/launch/emit/megatron_arguments.h"
#include "studies/launch/emit/refused_plans.h"
#include "studies/run/split/split.h"

namespace stepcast::launch {
namespace {

constexpr double usual_dropout = 0.1;  // Megatron-LM's default of both

void write_sizes(const NetworkSpec& network, EmittedGroup& group) {
  group.add("num-layers", network.layers);
  group.add("hidden-size", network.hidden);
  group.add("ffn-hidden-size", network.ffn_hidden);
  group.add("num-attention-heads", network.heads);
  if (network.kv_heads != network.heads && network.latent.kv_rank == 0) {
    group.add_flag("group-query-attention");
    group.add("num-query-groups", network.kv_heads,
        "key and value heads; without the flag above Megatron-LM takes as many as heads");
  }
  if (network.head_dim * network.heads != network.hidden && network.latent.kv_rank == 0)
    group.add("kv-channels", network.head_dim, "size of a head, which is not hidden size / heads");
}

/// The norms of the compressed queries, keys and values come with --qk-layernorm (multi_latent_attention.py of
/// core_v0.19.0).
void write_latent(const NetworkSpec& network, EmittedGroup& group) {
  const LatentAttention& latent = network.latent;
  if (latent.kv_rank == 0) return;
  group.add_flag("multi-latent-attention");
  if (latent.q_rank > 0) group.add("q-lora-rank", latent.q_rank);
  group.add("kv-lora-rank", latent.kv_rank);
  group.add("qk-head-dim", latent.nope_dim);
  group.add("qk-pos-emb-head-dim", latent.rope_dim);
  group.add("v-head-dim", latent.value_dim);
  group.add("kv-channels", network.head_dim);
  group.add_flag("qk-layernorm", "norms of the compressed queries, keys and values");
}

void write_activation(const NetworkSpec& network, EmittedGroup& group, Unsaid& unsaid) {
  switch (network.activation) {
    case Activation::swiglu: return group.add_flag("swiglu");
    case Activation::geglu:
      unsaid.emplace_back("GeGLU; Megatron-LM has the gate with a quicker GELU (--quick-geglu), of the same sizes");
      return group.add_flag("quick-geglu");
    case Activation::squared_relu: return group.add_flag("squared-relu");
    case Activation::relu: unsaid.emplace_back("ReLU; Megatron-LM runs GELU, of the same sizes"); return;
    case Activation::xielu:  // named among the gaps
    case Activation::gelu: return;
  }
}

void write_positions(const NetworkSpec& network, std::int64_t sequence, EmittedGroup& group, Unsaid& unsaid) {
  constexpr const char* words[] = {"rope", "learned_absolute", "none", "none", "none"};
  group.add("position-embedding-type", words[static_cast<std::size_t>(network.positions)]);
  const bool learned = network.positions == Positions::learned;
  group.add(
      "max-position-embeddings", std::max(network.max_positions, sequence), learned ? "rows of the learned table" : "");
  if (network.positions == Positions::alibi) unsaid.emplace_back("ALiBi; Megatron-LM runs without positions");
}

void write_window(const NetworkSpec& network, std::int64_t sequence, EmittedGroup& group, Unsaid& unsaid) {
  const AttentionWindow& window = network.window;
  if (!has_windows(network, sequence)) return;
  if (window.chunks)
    return void(unsaid.push_back(
        fmt::format("attention in chunks of {} positions; Megatron-LM sees all of them", window.positions)));
  group.add("window-size", fmt::format("{},0", window.positions - 1), "keys before a query and behind it");
  if (const std::string layers = window_layer_pattern(network); !layers.empty())
    group.add("window-attn-skip-freq", layers, "which layers have the window");
}

/// Biases everywhere, on queries, keys and values, or nowhere. Beside experts everywhere means attention, experts and
/// router (moe/router.py of core_v0.19.0 adds one number per expert), which our networks say one by one.
void write_biases(const NetworkSpec& network, EmittedGroup& group, Unsaid& unsaid) {
  const Experts& experts = network.experts;
  const bool all_parts = network.qkv_bias && network.out_bias && experts.expert_bias && !has_plain_mlp(network);
  if (all_parts && !experts.router_bias)
    unsaid.emplace_back("a router without a bias beside experts with them; Megatron-LM gives it one");
  if (network.linear_bias || all_parts) return;
  group.add_flag("disable-bias-linear");
  if (network.qkv_bias) group.add_flag("add-qkv-bias");
  if (network.out_bias) unsaid.emplace_back("a bias on the attention's output alone; Megatron-LM runs without it");
  if (experts.expert_bias) unsaid.emplace_back("biases on the experts alone; Megatron-LM runs without them");
}

/// A letter per layer where each is one sublayer, "" where some layer is more; the modules' layers behind a /.
std::string hybrid_pattern(const NetworkSpec& network) {
  std::string letters;
  const auto add = [&](const LayerKind& kind) {
    const bool alone = kind.sublayers() == 1 && !(kind.mixer && kind.attention) && !kind.windowed;
    return alone && !(letters += layer_word(kind)).empty();
  };
  for (std::int64_t layer = 0; layer < network.layers; ++layer)
    if (!add(layer_kind(network, layer, 0))) return "";
  for (std::int64_t module = 0; module < network.mtp_layers; ++module) {
    letters += '/';
    for (const LayerKind& kind : prediction_layers(network))
      if (!add(kind)) return "";
  }
  return letters;
}

void write_pattern(const NetworkSpec& network, EmittedGroup& group, Unsaid& unsaid) {
  if (network.pattern.empty()) return;
  const std::string letters = hybrid_pattern(network);
  const bool known = !network.mixer || (network.mixer.form->id == "mamba2" && !network.mixer.own);
  if (letters.empty() || !known)
    return void(unsaid.emplace_back("the pattern of its layers; the script trains attention in every layer, for only "
                                    "Mamba-2, attention, MLP and experts as layers of their own are written here"));
  group.add("hybrid-layer-pattern", letters, "M Mamba, * attention, - MLP, E experts");
  if (!network.mixer) return;
  group.add("mamba-num-heads", network.mixer.size("heads"));
  group.add("mamba-head-dim", network.mixer.size("head_dim"));
  group.add("mamba-num-groups", network.mixer.size("groups"));
  group.add("mamba-state-dim", network.mixer.size("state"));
  // defaults of megatron/core/ssm/mamba_mixer.py, which no argument sets
  constexpr std::int64_t own_taps = 4, own_chunk = 128;
  if (network.mixer.size("taps") != own_taps || network.mixer.size("chunk") != own_chunk)
    unsaid.push_back(fmt::format("Mamba layers of {} taps in chunks of {} positions; Megatron-LM has {} and {}",
        network.mixer.size("taps"), network.mixer.size("chunk"), own_taps, own_chunk));
}

void write_block_form(const NetworkSpec& network, Unsaid& unsaid) {
  if (network.parallel_block)
    unsaid.emplace_back(
        "attention and MLP side by side (parallel block); Megatron-LM runs one after the other, with two norms");
  if (network.embedding_norm) unsaid.emplace_back("a norm behind the embedding; Megatron-LM runs without it");
}

std::string pattern_run(int value, std::int64_t times) { return fmt::format("[{}]*{}", value, times); }

std::int64_t count_expert_layers(const NetworkSpec& network) {
  std::int64_t count = 0;
  for (std::int64_t layer = 0; layer < network.layers; ++layer) count += is_expert_layer(network, layer) ? 1 : 0;
  return count;
}

}  // namespace

std::string expert_layer_pattern(const NetworkSpec& network) {
  const Experts& experts = network.experts;
  if (count_expert_layers(network) == network.layers) return "1";
  std::string pattern;
  const auto add = [&](const std::string& part) { pattern += (pattern.empty() ? "" : "+") + part; };
  if (experts.dense_layers > 0) add(pattern_run(0, experts.dense_layers));
  const std::int64_t rest = network.layers - experts.dense_layers, turns = rest / experts.every,
                     left = rest % experts.every;
  if (experts.every == 1) add(pattern_run(1, rest));
  else if (turns > 0) add(fmt::format("({}+[1])*{}", pattern_run(0, experts.every - 1), turns));
  if (left > 0) add(pattern_run(0, left));
  return "(" + pattern + ")";
}

std::string window_layer_pattern(const NetworkSpec& network) {
  std::string pattern = network.window.pattern;
  const std::size_t full = pattern.find('f');
  if (full == pattern.npos) return "";
  if (full + 1 == pattern.size()) return std::to_string(pattern.size());
  const auto length = static_cast<std::int64_t>(pattern.size());
  if (network.layers % length != 0) {  // no whole number of turns: all layers, one by one
    const std::string once = pattern;
    while (static_cast<std::int64_t>(pattern.size()) < network.layers) pattern += once;
    pattern.resize(static_cast<std::size_t>(network.layers));
  }
  std::string runs;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = std::min(pattern.find_first_not_of(pattern[at], at), pattern.size());
    runs += (runs.empty() ? "" : "+") + pattern_run(pattern[at] == 'w' ? 1 : 0, static_cast<std::int64_t>(end - at));
    at = end;
  }
  const std::int64_t turns = network.layers / static_cast<std::int64_t>(pattern.size());
  return turns > 1 ? fmt::format("({})*{}", runs, turns) : fmt::format("({})", runs);
}

EmittedGroup megatron_network(const EmitPlan& plan, Unsaid& unsaid) {
  const NetworkSpec& network = plan.scenario->network.row;
  EmittedGroup group{fmt::format("Network: {}", network.name), {}};
  write_sizes(network, group);
  write_latent(network, group);
  group.add("normalization", network.norm == Norm::rmsnorm ? "RMSNorm" : "LayerNorm");
  write_activation(network, group, unsaid);
  write_positions(network, plan.scenario->plan.sequence, group, unsaid);
  write_window(network, plan.scenario->plan.sequence, group, unsaid);
  write_biases(network, group, unsaid);
  if (network.qk_norm && network.latent.kv_rank == 0) group.add_flag("qk-layernorm");
  if (network.attention_sinks) group.add("softmax-type", "learnable", "a sink in the softmax of each head");
  write_block_form(network, unsaid);
  write_pattern(network, group, unsaid);
  add_network_gaps(unsaid, network);
  const auto dropout = [&](bool spared) { return number_text(network.dropout && !spared ? usual_dropout : 0); };
  group.add("attention-dropout", dropout(network.no_attention_dropout));
  group.add("hidden-dropout", dropout(network.no_hidden_dropout));
  if (!network.tied_embeddings) group.add_flag("untie-embeddings-and-output-weights");
  if (network.mtp_layers > 0 && network.pattern.empty())
    group.add("mtp-num-layers", network.mtp_layers, "prediction modules behind the last layer");
  if (network.mtp_layers > 0 && network.positions != Positions::rope && network.positions != Positions::none)
    unsaid.emplace_back("prediction modules beside learned positions; Megatron-LM refuses them");
  return group;
}

EmittedGroup megatron_vocabulary(const EmitPlan& plan, bool own_tokenizer, Unsaid& unsaid) {
  const std::int64_t vocabulary = plan.scenario->network.row.vocab, tp = plan.split.tp;
  const std::int64_t padded = (vocabulary + tp - 1) / tp * tp;
  EmittedGroup group{"Vocabulary", {}};
  if (own_tokenizer) {
    group.add("padded-vocab-size", padded, "whatever the tokenizer has");
  } else {
    group.add("tokenizer-type", "NullTokenizer", "synthetic tokens; a real tokenizer goes here");
    group.add("vocab-size", vocabulary);
    group.add("make-vocab-size-divisible-by", 1, "padded to a multiple of tp and no further");
  }
  if (padded != vocabulary)
    unsaid.push_back(fmt::format(
        "embedding and LM head whole on every rank, as vocabulary {} does not divide by tp {}; Megatron-LM pads "
        "it to {} and splits it",
        vocabulary, tp, padded));
  return group;
}

namespace {

void write_dispatch(const Stack& stack, EmittedGroup& group) {
  const bool tokens = stack.expert_dispatch == Dispatch::tokens;
  group.add("moe-token-dispatcher-type", tokens ? "flex" : "alltoall");
  if (tokens) {
    group.add("moe-flex-dispatcher-backend", "deepep", "each token once per destination");
    group.add("moe-router-dtype", "fp32", "the backend takes no other");
  }
  group.add_flag("moe-grouped-gemm", "one call for all experts of a rank");
  if (stack.expert_moves == Manners::overlapped)
    group.add_flag("overlap-moe-expert-parallel-comm", "exchanges of one micro-batch beside another's compute");
}

void write_router(const Experts& experts, EmittedGroup& group) {
  group.add("moe-router-topk", experts.top_k, "experts of a token");
  if (experts.groups > 0) {
    group.add("moe-router-num-groups", experts.groups);
    group.add("moe-router-group-topk", experts.top_groups, "a token's experts lie in so many groups");
  }
  if (!experts.router_bias || experts.expert_bias) return;
  group.add_flag("moe-router-enable-expert-bias");
  group.add("moe-router-score-function", "sigmoid", "the bias needs it");
}

void say_expert_limits(const EmitPlan& plan, Unsaid& unsaid) {
  const Experts& experts = plan.scenario->network.row.experts;
  add_refusals(unsaid, "megatron", plan);
  if (experts.imbalance != 1)
    unsaid.push_back(
        fmt::format("{} times the mean rows on the fullest rank; in Megatron-LM they fall as the router has learned",
            number_text(experts.imbalance)));
}

}  // namespace

EmittedGroup megatron_experts(const EmitPlan& plan, Unsaid& unsaid) {
  const NetworkSpec& network = plan.scenario->network.row;
  const Experts& experts = network.experts;
  EmittedGroup group{"Experts", {}};
  if (experts.count == 0) return group;
  group.add("num-experts", experts.count);
  write_router(experts, group);
  group.add("moe-ffn-hidden-size", experts.ffn_hidden, "width of one expert");
  if (experts.shared_ffn_hidden > 0)
    group.add("moe-shared-expert-intermediate-size", experts.shared_ffn_hidden, "of all shared experts together");
  if (experts.shared_gate) group.add_flag("moe-shared-expert-gate");
  if (experts.latent > 0) group.add("moe-latent-size", experts.latent, "rows are narrowed before they travel");
  if (const std::string pattern = expert_layer_pattern(network); pattern != "1" && network.pattern.empty())
    group.add("moe-layer-freq", pattern, "1: a layer with experts, 0: one with the plain MLP");
  if (experts.capacity_factor > 0) {
    group.add("moe-expert-capacity-factor", number_text(experts.capacity_factor));
    group.add_flag(
        "moe-pad-expert-input-to-capacity", "rows per expert are cut or padded to the factor times their mean");
  }
  write_dispatch(plan.scenario->stack.row, group);
  say_expert_limits(plan, unsaid);
  return group;
}

}  // namespace stepcast::launch
