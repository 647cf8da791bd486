#include "studies/records/recompute_policy.h"

#include <algorithm>
#include <iterator>

namespace stepcast::records {
namespace {

struct Policy {
  std::string_view name;
  std::string_view products;  ///< tags and names of those that run again, with the attention core among them
};

// MaxText's remat_policy (AI-Hypercomputer/maxtext, MaxText/layers/models.py) and Pax's CHECKPOINT_POLICY
// (google/praxis, praxis/gradient_checkpoint.py) name what is kept; the rest of a layer runs again as far as backward
// needs it, for jax.checkpoint drops dead code. A fused attention kernel is no dot: its output is kept by the name
// "context" alone.
constexpr Policy policies[] = {
    {"minimal", "attn.core"},
    {"minimal_flash", ""},
    {"minimal_with_context", ""},
    {"save_dot_only", "attn.core"},
    {"save_dot_with_no_batch_dims", "attn.core"},
    {"save_dot_except_mlpwi", "attn.core, mlp.gate, mlp.up"},
    {"save_dot_except_mlp", "attn.core, mlp"},
    {"save_dot_with_context_except_mlp", "mlp"},
    {"save_qkv_out_proj", "attn.core, mlp"},
    {"save_qkv_proj", "attn.core, attn.out, mlp"},
    {"save_out_proj", "attn.qkv, attn.core, mlp"},
};

// megatron/core/transformer/transformer_config.py, recompute_modules.
constexpr RecomputeModule recompute_modules[] = {
    {"core_attn", ""},
    {"layernorm", "norm"},
    {"mlp", "mlp"},
    {"moe", "router dispatch expert shared combine"},  // all of the layer, shared experts in it (moe_layer.py)
    {"moe_act", "expert.act"},
    {"shared_experts", "shared"},
    // the projections up from the latents and the rotation (multi_latent_attention.py, qkv_up_proj_and_rope_apply)
    {"mla_up_proj", "attn.up.Q attn.up.K attn.up.V attn.rope.Q attn.rope.kr"},
};

/// Has the network operators of that tag or name?
bool has_operators(const NetworkSpec& spec, std::string_view tag) {
  const bool latent = spec.latent.kv_rank > 0;
  if (tag == "mlp") return has_plain_mlp(spec);
  if (tag == "shared") return spec.experts.shared_ffn_hidden > 0;
  if (tag == "router" || tag == "dispatch" || tag == "combine" || tag.starts_with("expert"))
    return spec.experts.count > 0;
  if (tag == "attn.up.Q") return latent && spec.latent.q_rank > 0;
  return !tag.starts_with("attn.") || latent;
}

}  // namespace

const RecomputeModule* recompute_module(std::string_view word) {
  const auto row = std::ranges::find(recompute_modules, word, &RecomputeModule::word);
  return row == std::end(recompute_modules) ? nullptr : row;
}

std::vector<std::string> tags_of(const RecomputeModule& module, const NetworkSpec& spec) {
  std::vector<std::string> tags;
  for (std::string_view rest = module.tags; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (const std::string_view tag = rest.substr(0, end); has_operators(spec, tag)) tags.emplace_back(tag);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return tags;
}

std::optional<std::string> policy_statement(std::string_view policy, const NetworkSpec& spec) {
  const auto row = std::ranges::find(policies, policy, &Policy::name);
  if (row == std::end(policies)) return std::nullopt;
  std::string again = "recompute norm, residual, mlp.act";
  if (spec.positions == Positions::rope) again += ", attn.rope.Q, attn.rope.K";
  if (!row->products.empty()) again.append(", ").append(row->products);
  return again;
}

}  // namespace stepcast::records
