// Attention: plain (MHA, GQA) and latent (MLA), fused or as separate products.
#include <algorithm>

#include "model/network/transformer_builder.h"

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
  const int kept = dropped(name, probabilities, tags, "attention_dropout");
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

/// One key head serves as values, too. Outputs of a group of heads go through a low rank of its own.
int TransformerBuilder::compressed_attention(int x, int y, LayerKind /*kind*/) {
  const CompressedAttention& form = spec_->compressed;
  const Tags tags{"attn", "attn.qkv"};
  const int cq = norm("attn.norm.cq", latent_down("cq", x, lq_), tags);
  const int q = rope("Q", norm("attn.norm.Q", latent_up("Q", cq, lq_, {g_, r_, d_}), tags, 1, false));
  int k = rope("K", norm("attn.norm.K", latent_down("K", x, d_), tags));
  const int o = activation("O", {b_, s_, g_, r_, d_});
  int small = ra_ >= 0 ? compress("K", x, d_, picks_) : -1;
  const int chosen = picks_ ? index_compressed(x, cq) : -1;
  if (batch_.serves) {
    k = cached("K.cache", k);
    if (small >= 0) small = cached("K.small.cache", small, tc_, batch_.cache_bytes);
  }
  Operator& core = fused_core(own_core(), q, {k}, o);
  core.domain = Domain::window;
  core.reach = std::min(form.window, batch_.positions + batch_.cached);
  if (small >= 0) {
    Access access = whole(small);
    access.loops[1] = tc_;
    core.inputs.push_back(access);
    core.whole_loops.push_back(tc_);
    const std::int64_t all = net_.dims[tc_].extent;
    core.beside = {net_.dims[ra_].extent, picks_ ? std::min(form.top_k, all) : all};
  }
  if (chosen >= 0) {
    core.inputs.push_back(whole(chosen));
    core.whole_loops.push_back(net_.tensors[chosen].dims.back());
  }
  core.inputs.push_back(whole(weight("sinks", {g_, r_})));
  const int low = activation("O.low", {b_, s_, g_, or_});
  product("attn.out.down", {"attn", "attn.out"}, low, o, weight("WO.down", {g_, r_, d_, or_}));
  product("attn.out", {"attn", "attn.out"}, y, low, weight("WO", {g_, or_, h_}));
  return y;
}

/// Sums of `ra` neighbours, weighted by gates of their own and by where they stand; where they overlap, of twice as
/// many. Normed and turned, one for every `ra` positions.
int TransformerBuilder::compress(const std::string& name, int x, int width, bool overlaps) {
  const Tags tags{"attn", "attn.qkv"};
  const std::string made = name + ".small";
  const auto two = [&] {
    const std::string twice = net_.dims[width].name + "2";
    const int known = net_.find_dim(twice);
    return known >= 0 ? known : dim(twice.c_str(), 2 * net_.dims[width].extent);
  };
  const int wide = overlaps ? two() : width;
  const int sums = activation(made + ".sums", {b_, s_, wide}), gates = activation(made + ".gates", {b_, s_, wide});
  product("compress." + name, tags, sums, x, weight("Wcompress." + name, {h_, wide}), "compress");
  product("compress." + name + ".gate", tags, gates, x, weight("Wcompress.gate." + name, {h_, wide}), "compress");
  const int small = activation(made + ".raw", {b_, sc_, width});
  Operator& op = add("compress." + name + ".sum", tags, OperatorKind::opaque, "compress", small,
      {sums, gates, weight("compress.places." + name, {ra_, wide})}, "compress.sum");
  op.output.row_dim = 1;
  op.output.row_loops = {s_};
  op.whole_loops = {ra_, width};
  if (wide != width) op.whole_loops.push_back(wide);
  return rope(made, norm("attn.norm." + made, small, tags));
}

/// The best `top_k` compressed keys of each query, by heads of the indexer's own.
int TransformerBuilder::index_compressed(int x, int cq) {
  const Tags tags{"attn", "attn.index"};
  const int q = activation("index.Q", {b_, s_, ih_, id_}), w = activation("index.W", {b_, s_, ih_});
  product("index.q", tags, q, cq, weight("Windex.Q", {lq_, ih_, id_}));
  product("index.w", tags, w, x, weight("Windex.W", {h_, ih_}), "index.in");
  int seen = compress("index.K", x, id_, true);
  if (batch_.serves) seen = cached_index_key(seen, tc_);
  const std::int64_t most = std::min(spec_->compressed.top_k, net_.dims[tc_].extent);
  const std::string name = "ik" + net_.dims[tc_].name.substr(1);  // a shape's own: "ik.picked"
  const int known = net_.find_dim(name), picked = known >= 0 ? known : dim(name.c_str(), most);
  const int chosen = statistic("index.chosen", {b_, s_, picked});
  Operator& op = add("index.scores", tags, OperatorKind::opaque, "index", chosen, {rope("index.Q", q)}, "");
  Access access = whole(seen);
  access.loops[1] = tc_;
  op.inputs.push_back(access);
  op.inputs.push_back(whole(w));
  op.whole_loops = {tc_, ih_, id_, picked};
  op.domain = Domain::causal;
  op.query_loop = s_;
  op.key_loop = tc_;
  return chosen;
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
  if (batch_.serves) {
    const bool one = v == k;
    k = cached("K.cache", k);
    v = one ? k : cached("V.cache", v);
  }
  lent_[shape_] = {k, v};
  return plain_core(x, q, k, v, windowed);
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
  return plain_core(x, q, k, v, windowed);
}

/// Of one's own keys and values, or of those that a layer before lends.
int TransformerBuilder::plain_core(int x, int q, int k, int v, bool windowed) {
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  // Picked keys and images side by side have kernels of their own.
  if (form_ == AttentionForm::unfused && spec_->sparse.top_k == 0 && whole_.images <= 1 && !batch_.serves) {
    unfused_core(own_core(), q, k, v, o, spec_->attention_sinks ? weight("sinks", {g_, r_}) : -1);
    return o;
  }
  const int chosen = spec_->sparse.top_k > 0 ? index_blocks(x) : -1;
  Operator& core = fused_core(own_core(), q, {k, v}, o);
  windowed_core(core, windowed);
  if (chosen >= 0) read_chosen(core, chosen);
  if (spec_->attention_sinks) core.inputs.push_back(whole(weight("sinks", {g_, r_})));
  return o;
}

/// Over the keys that `chosen` tells; -1: an earlier layer's choice.
void TransformerBuilder::read_chosen(Operator& core, int chosen) {
  core.domain = Domain::chosen;
  core.reach = spec_->sparse.top_k;
  if (chosen < 0) return;
  core.inputs.push_back(whole(chosen));
  core.whole_loops.push_back(ik_);
}

int TransformerBuilder::latent_down(const char* name, int x, int rank) {
  const int y = activation(name, {b_, s_, rank});
  product(std::string("attn.down.") + name, {"attn", "attn.qkv"}, y, x,
      weight(std::string("Wdown.") + name, {h_, rank}), "attn.down");
  return y;
}

int TransformerBuilder::latent_up(const char* name, int latent, int rank, std::vector<int> heads) {
  std::vector<int> dims{b_, net_.tensors[latent].dims[1]}, weights{rank};
  dims.insert(dims.end(), heads.begin(), heads.end());
  weights.insert(weights.end(), heads.begin(), heads.end());
  const int y = activation(name, dims);
  product(std::string("attn.up.") + name, {"attn", "attn.qkv"}, y, latent, weight(std::string("Wup.") + name, weights),
      rank == lk_ || std::string_view(name) != "Q" ? "attn.up" : "");
  return y;
}

/// DeepSeek-V2 (arXiv 2405.04434) section 2.1: queries, keys and values through low-rank latents; one rotated key for
/// all heads. The core is always fused: its query and value sizes differ.
int TransformerBuilder::latent_attention(int x, LayerKind kind) {
  const Tags tags{"attn", "attn.qkv"};
  gates(x);
  int cq = lq_ >= 0 ? latent_down("cq", x, lq_) : -1;
  const int ckv = latent_down("ckv", x, lk_), kr_raw = latent_down("kr", x, dr_);
  if (cq >= 0) cq = norm("attn.norm.cq", cq, tags);
  if (spec_->sparse.top_k > 0)
    return sparse_core(x, cq, norm("attn.norm.ckv", ckv, tags), rope("kr", kr_raw), kind.picked);
  const bool absorbs = batch_.serves && batch_.positions <= absorbed_positions(*spec_);
  const int q = absorbs ? -1 : cq >= 0 ? latent_up("Q", cq, lq_, {g_, r_, d_}) : projection("Q", x, {g_, r_, d_});
  int latent = norm("attn.norm.ckv", ckv, tags), turned = -1;
  if (batch_.serves) {
    latent = cached("ckv.cache", latent), turned = cached("kr.cache", rope("kr", kr_raw));
    if (absorbs) return absorbed_attention(cq, x, latent, turned);
  }
  const int k = latent_up("K", latent, lk_, {g_, dn_}), v = latent_up("V", latent, lk_, {g_, dv_});
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  const int rotated = rope("Q", q);
  if (turned < 0) turned = rope("kr", kr_raw);
  windowed_core(fused_core(own_core(), rotated, {k, v, turned}, o), kind.windowed);
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

/// Engines keep the keys of an indexer in fp8 with a scale of four bytes for each 128 elements, whatever type the cache
/// has (vllm-project/vllm model_executor/models/deepseek_v2.py, Indexer, and models/deepseek_v4/attention.py: 128 + 4 =
/// 132 bytes; NVIDIA/TensorRT-LLM _torch/attention_backend/sparse/dsa.py has the same layout).
int TransformerBuilder::cached_index_key(int x, int positions) {
  constexpr double element_bytes = 1 + 4.0 / 128;
  return cached("index.K.cache", x, positions, element_bytes);
}

/// A few queries against many keys read the latent cache itself, as one key of all heads (DeepSeek-V2 section 2.1.2).
int TransformerBuilder::absorbed_attention(int cq, int x, int latent, int turned) {
  const Tags tags{"attn", "attn.qkv"};
  const int first = cq >= 0 ? cq : x, rank = cq >= 0 ? lq_ : h_;
  const int nope = latent_up("Q.nope", first, rank, {g_, r_, dn_}),
            rotated = rope("Q.rope", latent_up("Q.rope", first, rank, {g_, r_, dr_}));
  const int absorbed = activation("Q.latent", {b_, s_, g_, r_, lk_});
  product("attn.absorb.K", tags, absorbed, nope, weight("Wup.K", {lk_, g_, dn_}));
  const int q = activation("Q", {b_, s_, g_, r_, dq_}), low = activation("O.latent", {b_, s_, g_, r_, lk_});
  add("attn.join.Q", tags, OperatorKind::opaque, "join", q, {absorbed, rotated}, "attn.join").whole_loops = {
      dq_, lk_, dr_};
  Operator& core = fused_core(own_core(), q, {latent, turned}, low);
  core.whole_loops.push_back(dq_);
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  product("attn.absorb.V", tags, o, low, weight("Wup.V", {lk_, g_, dv_}));
  return o;
}

/// Over chosen keys every head reads the latent itself: its up-projections move to the queries and to the results
/// (DeepSeek-V2 section 2.1.2; Megatron-LM d98e8a6 megatron/core/transformer/experimental_attention_variant/dsa.py).
int TransformerBuilder::sparse_core(int x, int cq, int latent, int kr, bool picked) {
  const Tags tags{"attn", "attn.qkv"};
  const int nope = latent_up("Q.nope", cq, lq_, {g_, r_, dn_}),
            turned = rope("Q.rope", latent_up("Q.rope", cq, lq_, {g_, r_, dr_}));
  const int absorbed = activation("Q.latent", {b_, s_, g_, r_, lk_});
  product("attn.absorb.K", tags, absorbed, nope, weight("Wup.K", {lk_, g_, dn_}));
  const auto joined = [&](const char* name, std::vector<int> dims, int a, int b) {
    const int y = activation(name, std::move(dims));
    Operator& op = add(std::string("attn.join.") + name, tags, OperatorKind::opaque, "join", y, {a, b}, "attn.join");
    op.whole_loops = {dq_, net_.tensors[a].dims.back(), net_.tensors[b].dims.back()};
    return y;
  };
  const int q = joined("Q", {b_, s_, g_, r_, dq_}, absorbed, turned);
  // What stands in a cache is read in two pieces, as the latent and the rotated key.
  const int first = batch_.serves ? cached("ckv.cache", latent) : joined("K", {b_, s_, dq_}, latent, kr),
            second = batch_.serves ? cached("kr.cache", kr) : latent;
  const int chosen = picked ? -1 : index(x, cq);
  const int low = activation("O.latent", {b_, s_, g_, r_, lk_});
  Operator& core = fused_core(own_core(), q, {first, second}, low);
  if (batch_.serves) core.whole_loops.push_back(dq_);
  read_chosen(core, chosen);
  const int o = activation("O", {b_, s_, g_, r_, dv_});
  product("attn.absorb.V", tags, o, low, weight("Wup.V", {lk_, g_, dv_}));
  return o;
}

/// Scores of all earlier positions by heads of their own, and the best `top_k` of each row.
int TransformerBuilder::index(int x, int cq) {
  const Tags tags{"attn", "attn.index"};
  const int q = activation("index.Q", {b_, s_, ih_, id_}), k = activation("index.K.raw", {b_, s_, id_}),
            w = activation("index.W", {b_, s_, ih_});
  product("index.q", tags, q, cq, weight("Windex.Q", {lq_, ih_, id_}));
  product("index.k", tags, k, x, weight("Windex.K", {h_, id_}), "index.in");
  product("index.w", tags, w, x, weight("Windex.W", {h_, ih_}), "index.in");
  const int moments = statistic("index.norm.q", {b_, s_}, 8), normed = activation("index.K", {b_, s_, id_});
  add("index.norm.q", tags, OperatorKind::nonlinear, "square", moments, {k}, "norm").monoid = Monoid::sum;
  add("index.norm.y", tags, OperatorKind::nonlinear, "layernorm", normed,
      {k, moments, weight("index.norm.gamma", {id_}), weight("index.norm.beta", {id_})}, "norm");
  const int turned = rope("index.Q", q), seen = rope("index.K", normed);
  return index_scores(turned, batch_.serves ? cached_index_key(seen, t_) : seen, w);
}

/// A head for each key-value head, keys for all of them, both normed; the scores of a block are those of its best key.
int TransformerBuilder::index_blocks(int x) {
  const Tags tags{"attn", "attn.index"};
  const int q = activation("index.Q.raw", {b_, s_, ih_, id_}), k = activation("index.K.raw", {b_, s_, id_});
  product("index.q", tags, q, x, weight("Windex.Q", {h_, ih_, id_}), "index.in");
  product("index.k", tags, k, x, weight("Windex.K", {h_, id_}), "index.in");
  const int asked = rope("index.Q", norm("index.norm.Q", q, tags)),
            seen = rope("index.K", norm("index.norm.K", k, tags));
  return index_scores(asked, batch_.serves ? cached("index.K.cache", seen) : seen, -1);
}

/// The best `ik` of each row, of all heads together where `w` weighs them, else of each head.
int TransformerBuilder::index_scores(int asked, int seen, int w) {
  const int chosen =
      statistic("index.chosen", w >= 0 ? std::vector<int>{b_, s_, ik_} : std::vector<int>{b_, s_, ih_, ik_});
  Operator& op = add("index.scores", {"attn", "attn.index"}, OperatorKind::opaque, "index", chosen, {asked}, "");
  op.inputs.push_back(keys(seen, own_core()));
  op.whole_loops = {t_, id_, ik_};
  if (w >= 0) {
    op.inputs.push_back(whole(w));
    op.whole_loops.push_back(ih_);
  }
  op.domain = Domain::causal;
  op.query_loop = s_;
  op.key_loop = t_;
  return chosen;
}

}  // namespace stepcast
