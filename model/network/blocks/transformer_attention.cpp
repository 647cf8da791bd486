// Attention: heads, cores fused or as separate products, plain attention (MHA, GQA).
#include <algorithm>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

/// From x's last dim to heads, for each of its rows.
int TransformerBuilder::projection(const std::string& letter, int x, std::vector<int> heads) {
  std::vector<int> out = net_.tensors[x].dims, weight_dims{out.back()};
  out.pop_back();
  weight_dims.insert(weight_dims.end(), heads.begin(), heads.end());
  out.insert(out.end(), heads.begin(), heads.end());
  const int y = activation(letter, out);
  product("attn.qkv." + letter, {"attn", "attn.qkv"}, y, x, weight("W" + letter, weight_dims), "attn.qkv");
  return y;
}

/// Of what attention gives: one for each element, or for each query head.
void TransformerBuilder::gates(int x) {
  if (!spec_->attention_gate) return;
  gate_ = projection("G", x, spec_->head_gate ? std::vector<int>{g_, r_} : std::vector<int>{g_, r_, dv_});
}

int TransformerBuilder::rope(const std::string& name, int x) {
  if (spec_->positions != Positions::rope) return x;
  const int y = activation(name + ".rotated", net_.tensors[x].dims);
  add("attn.rope." + name, {"attn", "attn.qkv"}, OperatorKind::opaque, "rope", y, {x}, "rope").whole_loops = {
      net_.tensors[x].dims.back()};
  return y;
}

/// Of every head, or of all heads together.
int TransformerBuilder::qk_norm(const std::string& name, int x) {
  if (!spec_->qk_norm) return x;
  constexpr std::size_t rows = 2;  // b and s
  const std::size_t width = net_.tensors[x].dims.size() - rows;
  const Norm plain = spec_->norm == Norm::layernorm ? Norm::layernorm_scale : spec_->norm;
  const Norm kind = spec_->qk_norm_rms ? Norm::rmsnorm : spec_->qk_norm_heads ? plain : spec_->norm;
  return norm("attn.norm." + name, x, {"attn", "attn.qkv"}, spec_->qk_norm_width ? width : 1, true, kind,
      spec_->qk_norm_heads ? width : 0);
}

TransformerBuilder::Core TransformerBuilder::own_core() const {
  return {"attn.core", t_, spec_->causal, distances_ >= 0};
}

/// K and V are stored over s and read over t.
Access TransformerBuilder::keys(int tensor, const Core& core) const {
  Access access = whole(tensor);
  access.loops[1] = core.t;
  return access;
}

Operator& TransformerBuilder::fused_core(const Core& core, int q, std::initializer_list<int> keys_and_values, int o) {
  Operator& op = add(core.prefix, {"attn", "attn.core"}, OperatorKind::attention, "", o, {q});
  for (int tensor : keys_and_values) op.inputs.push_back(keys(tensor, core));
  op.monoid = Monoid::softmax;
  for (const Access* access : {&op.inputs.front(), &op.output}) op.whole_loops.push_back(access->loops.back());
  for (const Access& access : op.inputs) op.whole_loops.push_back(access.loops.back());
  op.domain = core.causal ? Domain::causal : Domain::all;
  op.query_loop = s_;
  op.key_loop = core.t;
  if (core.by_distance) {
    op.inputs.push_back(whole(distances_));
    op.whole_loops.push_back(net_.tensors[distances_].dims.front());
  }
  return op;
}

void TransformerBuilder::windowed_core(Operator& core, bool windowed) {
  const bool images = whole_.images > 1;  // side by side, and none sees another
  if (!windowed && !images) return;
  const bool chunks = spec_->window.chunks || !windowed;
  core.domain = chunks && !spec_->causal ? Domain::tile
                : chunks                 ? Domain::chunk
                : spec_->causal          ? Domain::window
                                         : Domain::band;
  core.reach = windowed ? spec_->window.positions : whole_.sequence;
}

/// `sinks`: a weight of each head that takes part in the softmax; -1: none.
void TransformerBuilder::unfused_core(const Core& core, int q, int k, int v, int o, int sinks) {
  const Tags tags{"attn", "attn.core"};
  const std::string& name = core.prefix;
  int scores = activation("scores", {b_, g_, r_, s_, core.t});
  Operator& qk = add(name + ".scores", tags, OperatorKind::einsum, "", scores, {q});
  qk.inputs.push_back(keys(k, core));
  qk.monoid = Monoid::sum;
  if (core.by_distance) {
    const int biased = activation("scores.biased", net_.tensors[scores].dims);
    add(name + ".distance", tags, OperatorKind::opaque, "distance", biased, {scores, distances_}, "softmax")
        .whole_loops = {core.t, net_.tensors[distances_].dims.front()};
    scores = biased;
  }
  const int probabilities = activation("probabilities", net_.tensors[scores].dims);
  Operator& softmax = add(name + ".softmax", tags, OperatorKind::opaque, "softmax", probabilities, {scores}, "softmax");
  softmax.whole_loops = {core.t};
  if (sinks >= 0) softmax.inputs.push_back(whole(sinks));
  const int kept =
      spec_->no_attention_dropout ? probabilities : dropped(name, probabilities, tags, "attention_dropout");
  Operator& pv = add(name + ".context", tags, OperatorKind::einsum, "", o, {kept});
  pv.inputs.push_back(keys(v, core));
  pv.monoid = Monoid::sum;
}

int TransformerBuilder::attention(int x, int y, LayerKind kind) {
  if (spec_->compressed.q_rank > 0) return compressed_attention(x, y, kind);
  const int o = spec_->latent.kv_rank > 0 ? latent_attention(x, kind) : plain_attention(x, kind.windowed);
  const int inner = net_.tensors[o].dims.back();
  int read = o;
  if (spec_->attention_gate) {
    const Tags tags{"attn", "attn.gate"};
    read = activation("O.gated", net_.tensors[o].dims);
    add("attn.gate", tags, OperatorKind::nonlinear, "sigmoid_gate", read, {gate_, o}, "attn.gate");
  }
  product("attn.out", {"attn", "attn.out"}, y, read, weight("WO", {g_, r_, inner, h_}));
  return y;
}

/// Of all heads, straight from x or through a rank that they share.
int TransformerBuilder::queries(int x) {
  if (spec_->query_rank == 0) return projection("Q", x, {g_, r_, d_});
  return latent_up("Q", norm("attn.norm.cq", latent_down("cq", x, lq_), {"attn", "attn.qkv"}), lq_, {g_, r_, d_});
}

int TransformerBuilder::plain_attention(int x, bool windowed) {
  gates(x);
  if (spec_->borrowed_keys) return borrowing_attention(x, windowed);
  int q = queries(x), k = projection("K", x, {g_, d_}), v = spec_->key_is_value ? k : projection("V", x, {g_, dv_});
  const int projected[] = {q, k, v};
  if (spec_->linear_bias || spec_->qkv_bias) {
    const Tags tags{"attn", "attn.qkv"};
    q = biased("Q", q, {g_, r_, d_}, tags, "attn.qkv");
    if (!spec_->no_key_bias) k = biased("K", k, {g_, d_}, tags, "attn.qkv");
    v = spec_->key_is_value ? k : biased("V", v, {g_, dv_}, tags, "attn.qkv");
  }
  // What the core reads is called Q, K and V, so that `move K, V` means it; what was before it, Q.projected.
  const auto named = [&](const char* letter, int first, int read) {
    if (read != first) net_.tensors[first].name = std::string(letter) + ".projected";
    net_.tensors[read].name = letter;
    return read;
  };
  q = named("Q", projected[0], rope("Q", qk_norm("Q", q)));
  k = named("K", projected[1], rope("K", qk_norm("K", k)));
  if (spec_->value_norm) v = norm("attn.norm.V", v, {"attn", "attn.qkv"}, 1, false);
  if (v != k) v = named("V", projected[2], v);
  const int made = k;
  if (batch_.serves) {
    const bool one = v == k;
    k = cached("K.cache", k);
    v = one ? k : cached("V.cache", v);
  }
  lent_[shape_] = {k, v};
  return plain_core(x, q, k, v, windowed, made);
}

/// Over the keys and values of the layer that lends them.
int TransformerBuilder::borrowing_attention(int x, bool windowed) {
  const int projected = queries(x), q = rope("Q", qk_norm("Q", projected));
  if (q != projected) net_.tensors[projected].name = "Q.projected";
  net_.tensors[q].name = "Q";
  const auto lender = std::ranges::find(whole_.shapes, spec_->shapes[shape_ - 1].keys_of, &LayerShape::name);
  const auto [k, v] = lent_[static_cast<std::size_t>(lender - whole_.shapes.begin()) + 1];
  for (const int tensor : {k, v})
    if (tensor == k || v != k) net_.blocks.back().reads.push_back(tensor);
  return plain_core(x, q, k, v, windowed, k);
}

/// Of one's own keys and values, or of those that a layer before lends.
int TransformerBuilder::plain_core(int x, int q, int k, int v, bool windowed, int made) {
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  // Picked keys and images side by side have kernels of their own.
  const bool picks = picks_keys(*spec_, batch_.positions + batch_.cached);
  if (form_ == AttentionForm::unfused && !picks && whole_.images <= 1 && !batch_.serves) {
    unfused_core(own_core(), q, k, v, o, spec_->attention_sinks ? weight("sinks", {g_, r_}) : -1);
    return o;
  }
  const int chosen = !picks ? -1 : spec_->sparse.pooled > 0 ? index_means(q, made) : index_blocks(x);
  Operator& core = fused_core(own_core(), q, {k, v}, o);
  windowed_core(core, windowed);
  if (chosen >= 0) read_chosen(core, chosen);
  if (spec_->attention_sinks) core.inputs.push_back(whole(weight("sinks", {g_, r_})));
  return o;
}

/// What later iterations read: rows behind those that stand there.
int TransformerBuilder::cached(const std::string& name, int x, int positions, double element_bytes) {
  std::vector<int> dims = net_.tensors[x].dims;
  dims[1] = positions;
  const int y = tensor(name, dims, element_bytes, TensorRole::cache);
  add("cache." + name, {"attn", "attn.cache"}, OperatorKind::opaque, "append", y, {x}, "attn.cache");
  return y;
}

}  // namespace stepcast
