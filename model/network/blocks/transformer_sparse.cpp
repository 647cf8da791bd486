// Attention over the keys that an indexer picks, and over compressed keys.
#include <algorithm>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {

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

/// Over the keys that `chosen` tells; -1: an earlier layer's choice.
void TransformerBuilder::read_chosen(Operator& core, int chosen) {
  core.domain = Domain::chosen;
  core.reach = spec_->sparse.top_k;
  if (batch_.serves) core.dense = spec_->dense_positions;
  if (chosen < 0) return;
  core.inputs.push_back(whole(chosen));
  core.whole_loops.push_back(ik_);
}

/// Engines keep the keys of an indexer in fp8 with a scale of four bytes for each 128 elements, whatever type the cache
/// has (vllm-project/vllm model_executor/models/deepseek_v2.py, Indexer, and models/deepseek_v4/attention.py: 128 + 4 =
/// 132 bytes; NVIDIA/TensorRT-LLM _torch/attention_backend/sparse/dsa.py has the same layout).
int TransformerBuilder::cached_index_key(int x, int positions) {
  constexpr double element_bytes = 1 + 4.0 / 128;
  return cached("index.K.cache", x, positions, element_bytes);
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

/// Of keys, one for every so many positions. Engines keep them beside the keys, of sequences of any length
/// (sgl-project/sglang b419a55, srt/layers/attention/minicpm/sparse_utils.py).
int TransformerBuilder::means_of(int k, const std::string& name, std::int64_t apart) {
  const auto rows = [&](std::int64_t positions) { return std::max<std::int64_t>(1, positions / apart); };
  const int known = net_.find_dim("s." + name),
            fewer = known >= 0 ? known : dim(("s." + name).c_str(), rows(batch_.positions));
  if (known < 0) dim(("t." + name).c_str(), rows(batch_.positions + batch_.cached), batch_.serves);
  const int y = tensor("K." + name, {b_, fewer, g_, d_}, batch_.activation_bytes, TensorRole::data);
  Operator& op = add("index." + name, {"attn", "attn.index"}, OperatorKind::opaque, "mean", y, {k}, "index." + name);
  op.output.row_dim = 1;
  op.output.row_loops = {s_};
  return batch_.serves ? cached("K." + name + ".cache", y, net_.find_dim("t." + name), batch_.cache_bytes) : y;
}

/// Queries score means of keys, the heads of a key-value head together, over a coarser row of means first; the best
/// blocks of each. Nothing goes back through what is picked.
int TransformerBuilder::index_means(int q, int k) {
  const Tags tags{"attn", "attn.index"};
  const auto scored = [&](const std::string& name, std::int64_t apart, int out, int kept) {
    const int means = means_of(k, name, apart), seen = net_.find_dim("t." + name);
    Operator& op = add("index.scores." + name, tags, OperatorKind::opaque, "index", out, {q}, "");
    Access access = whole(means);
    access.loops[1] = seen;
    op.inputs.push_back(access);
    op.whole_loops = {seen, d_, r_};
    if (kept >= 0) op.whole_loops.push_back(kept);
    if (batch_.serves) op.dense = spec_->dense_positions;
    op.domain = Domain::causal;
    op.query_loop = s_;
    op.key_loop = seen;
    return out;
  };
  const auto made = [&](const char* name, std::vector<int> dims) {
    return tensor(name, std::move(dims), 4, TensorRole::data);
  };
  constexpr std::int64_t coarser = 4;
  scored("coarse", coarser * spec_->sparse.pooled, made("index.sums", {b_, s_, g_}), -1);
  return scored("means", spec_->sparse.pooled, made("index.chosen", {b_, s_, g_, ik_}), ik_);
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
  if (batch_.serves) op.dense = spec_->dense_positions;
  op.domain = Domain::causal;
  op.query_loop = s_;
  op.key_loop = t_;
  return chosen;
}

}  // namespace stepcast
