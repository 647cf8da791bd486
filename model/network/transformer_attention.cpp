// Attention: plain (MHA, GQA) and latent (MLA), fused or as separate products.
#include "model/network/transformer_builder.h"

namespace stepcast {

int TransformerBuilder::projection(const char* letter, int x, std::vector<int> heads) {
  const std::string name = std::string("attn.qkv.") + letter;
  std::vector<int> weight_dims{h_}, out{b_, s_};
  weight_dims.insert(weight_dims.end(), heads.begin(), heads.end());
  out.insert(out.end(), heads.begin(), heads.end());
  const int y = activation(letter, out);
  product(name, {"attn", "attn.qkv"}, y, x, weight(std::string("W") + letter, weight_dims), "attn.qkv");
  return y;
}

int TransformerBuilder::rope(const std::string& name, int x) {
  if (spec_.positions != Positions::rope) return x;
  const int y = activation(name + ".rotated", net_.tensors[x].dims);
  add("attn.rope." + name, {"attn", "attn.qkv"}, OperatorKind::opaque, "rope", y, {x}, "rope").whole_loops = {
      net_.tensors[x].dims.back()};
  return y;
}

/// RMS norm of every head (Qwen3).
int TransformerBuilder::head_norm(const std::string& name, int x) {
  if (!spec_.qk_norm) return x;
  return norm("attn.norm." + name, x, {"attn", "attn.qkv"});
}

/// K and V are stored over s and read over t.
Access TransformerBuilder::keys(int tensor) const {
  Access access = whole(tensor);
  access.loops[1] = t_;
  return access;
}

void TransformerBuilder::fused_core(int q, std::initializer_list<int> keys_and_values, int o, bool windowed) {
  Operator& op = add("attn.core", {"attn", "attn.core"}, OperatorKind::attention, "", o, {q});
  for (int tensor : keys_and_values) op.inputs.push_back(keys(tensor));
  op.monoid = Monoid::softmax;
  for (const Access* access : {&op.inputs.front(), &op.output}) op.whole_loops.push_back(access->loops.back());
  for (const Access& access : op.inputs) op.whole_loops.push_back(access.loops.back());
  op.domain = !windowed ? Domain::causal : spec_.window.chunks ? Domain::chunk : Domain::window;
  op.reach = windowed ? spec_.window.positions : 0;
  op.query_loop = s_;
  op.key_loop = t_;
}

void TransformerBuilder::unfused_core(int q, int k, int v, int o) {
  const Tags tags{"attn", "attn.core"};
  const int scores = activation("scores", {b_, g_, r_, s_, t_});
  Operator& qk = add("attn.core.scores", tags, OperatorKind::einsum, "", scores, {q});
  qk.inputs.push_back(keys(k));
  qk.monoid = Monoid::sum;
  const int probabilities = activation("probabilities", net_.tensors[scores].dims);
  add("attn.core.softmax", tags, OperatorKind::opaque, "softmax", probabilities, {scores}, "softmax").whole_loops = {
      t_};
  const int kept = dropped("attn.core", probabilities, tags, "attention_dropout");
  Operator& pv = add("attn.core.context", tags, OperatorKind::einsum, "", o, {kept});
  pv.inputs.push_back(keys(v));
  pv.monoid = Monoid::sum;
}

int TransformerBuilder::attention(int x, int y, bool windowed) {
  const int o = spec_.latent.kv_rank > 0 ? latent_attention(x, windowed) : plain_attention(x, windowed);
  const int inner = net_.tensors[o].dims.back();
  product("attn.out", {"attn", "attn.out"}, y, o, weight("WO", {g_, r_, inner, h_}));
  return y;
}

int TransformerBuilder::plain_attention(int x, bool windowed) {
  int q = projection("Q", x, {g_, r_, d_}), k = projection("K", x, {g_, d_}), v = projection("V", x, {g_, d_});
  const int projected[] = {q, k, v};
  if (spec_.linear_bias || spec_.qkv_bias) {
    const Tags tags{"attn", "attn.qkv"};
    q = biased("Q", q, {g_, r_, d_}, tags, "attn.qkv");
    k = biased("K", k, {g_, d_}, tags, "attn.qkv");
    v = biased("V", v, {g_, d_}, tags, "attn.qkv");
  }
  // What the core reads is called Q, K and V, so that `move K, V` means it; what was before it, Q.projected.
  const auto named = [&](const char* letter, int first, int read) {
    if (read != first) net_.tensors[first].name = std::string(letter) + ".projected";
    net_.tensors[read].name = letter;
    return read;
  };
  q = named("Q", projected[0], rope("Q", head_norm("Q", q)));
  k = named("K", projected[1], rope("K", head_norm("K", k)));
  v = named("V", projected[2], v);
  const int o = activation("O", {b_, s_, g_, r_, d_});
  form_ == AttentionForm::fused ? fused_core(q, {k, v}, o, windowed) : unfused_core(q, k, v, o);
  return o;
}

/// DeepSeek-V2 (arXiv 2405.04434) section 2.1: queries, keys and values through low-rank latents; one rotated key for
/// all heads. The core is always fused: its query and value sizes differ.
int TransformerBuilder::latent_attention(int x, bool windowed) {
  const Tags tags{"attn", "attn.qkv"};
  const auto down = [&](const char* name, int rank) {
    const int y = activation(name, {b_, s_, rank});
    product(
        std::string("attn.down.") + name, tags, y, x, weight(std::string("Wdown.") + name, {h_, rank}), "attn.down");
    return y;
  };
  const auto up = [&](const char* name, int latent, int rank, std::vector<int> heads) {
    std::vector<int> dims{b_, s_}, weights{rank};
    dims.insert(dims.end(), heads.begin(), heads.end());
    weights.insert(weights.end(), heads.begin(), heads.end());
    const int y = activation(name, dims);
    product(std::string("attn.up.") + name, tags, y, latent, weight(std::string("Wup.") + name, weights),
        rank == lk_ ? "attn.up" : "");
    return y;
  };
  const int cq = lq_ >= 0 ? down("cq", lq_) : -1;
  const int ckv = down("ckv", lk_), kr_raw = down("kr", dr_);
  int q = -1;
  if (cq >= 0) q = up("Q", norm("attn.norm.cq", cq, tags), lq_, {g_, r_, d_});
  else q = projection("Q", x, {g_, r_, d_});
  const int latent = norm("attn.norm.ckv", ckv, tags);
  const int k = up("K", latent, lk_, {g_, dn_}), v = up("V", latent, lk_, {g_, dv_});
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  fused_core(rope("Q", q), {k, v, rope("kr", kr_raw)}, o, windowed);
  return o;
}

}  // namespace stepcast
