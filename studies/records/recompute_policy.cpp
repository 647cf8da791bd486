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

}  // namespace

std::optional<std::string> policy_statement(std::string_view policy, const NetworkSpec& spec) {
  const auto row = std::ranges::find(policies, policy, &Policy::name);
  if (row == std::end(policies)) return std::nullopt;
  std::string again = "recompute norm, residual, mlp.act";
  if (spec.positions == Positions::rope) again += ", attn.rope.Q, attn.rope.K";
  if (!row->products.empty()) again.append(", ").append(row->products);
  return again;
}

}  // namespace stepcast::records
